"""Messages to those who add and download files."""

CONTENT_IS_MISSING = "The content of this file is missing. An administrator can restore it."
REQUIRED = "This field is required."
NOT_A_FILE = "This must be a file."


# Pages
def too_large(megabytes: int) -> str:
    return f"The file is too large. Files have at most {megabytes} MB."


SELECT_A_FILE = "Select a file."
