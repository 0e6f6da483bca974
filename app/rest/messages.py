"""Messages for requests that do not have the form of an operation."""

# Bodies and parameters
NOT_AN_OBJECT = "The body must be a JSON object."
LIMIT_OUT_OF_RANGE = "limit must be 1 to 200."
NOT_VALID = "The request is not valid."

# Fields
REQUIRED = "This field is required."
NULL = "This field must not be null."
NOT_A_UUID = "This must be a UUID."


def too_many(limit: int) -> str:
    return f"This must have at most {limit} items."


NOT_KNOWN = "This field is not known."


def immutable(field: str) -> str:
    return f"{field} cannot be changed."
