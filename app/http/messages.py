"""Messages about request bodies that are not valid forms."""

NOT_A_FORM = "The body is not a valid multipart form."
ONE_FILE_AT_A_TIME = "Send one file at a time."
