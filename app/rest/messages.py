"""What the API says of requests that do not have the form of an operation."""

# Bodies and parameters
SEND_JSON = "Send Content-Type: application/json."
NOT_AN_OBJECT = "The body must be a JSON object."
LIMIT_OUT_OF_RANGE = "limit must be 1 to 200."
NOT_VALID = "The request is not valid."
WENT_WRONG = "Something went wrong on our side."

# Fields
REQUIRED = "This field is required."
NULL = "This field must not be null."
NOT_A_STRING = "This must be a string."
NOT_AN_INTEGER = "This must be an integer."
NOT_A_BOOLEAN = "This must be true or false."
NOT_A_UUID = "This must be a UUID."


def not_one_of(words: str) -> str:
    return f"This must be one of: {words}."


NOT_A_DATE = "This must be a date such as 2026-11-20."
NOT_AN_ARRAY = "This must be an array."


def too_many(most: int) -> str:
    return f"This must have at most {most} items."


NOT_A_TIME = "This must be a time such as 2026-11-20T19:23:58Z."
NOT_KNOWN = "This field is not known."
NOT_AN_OBJECT_FIELD = "This must be an object."


def immutable(field: str) -> str:
    return f"{field} cannot be changed."
