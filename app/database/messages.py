"""Messages about idempotency keys, cursors and databases."""

KEY_OF_ANOTHER_REQUEST = "This Idempotency-Key was used for a different request."
KEY_OF_ANOTHER_SECRET = "The response stored for this Idempotency-Key needs a different SECRET_KEY."
CURSOR_OF_ANOTHER_LIST = "The cursor is from another list."


def cannot_be_reached(problem: str) -> str:
    return f"The database cannot be reached: {problem}"
