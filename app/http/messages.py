"""What is said of bodies that are not as they must be."""


def send_content_type(content_type: str) -> str:
    return f"Send Content-Type: {content_type}."


FILE_NOT_STORED = "The file cannot be stored. The disk may be full."
NOT_A_FORM = "The body is not a valid multipart form."
ONE_FILE_AT_A_TIME = "Send one file at a time."
