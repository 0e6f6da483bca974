"""Messages of the file store to people and to API clients."""

EMPTY = "The file is empty."


def type_not_allowed(kind: str) -> str:
    return f"Files of the type {kind} are not allowed here."


NO_ROOM = "There is no space left for files."
STORE_DOES_NOT_ANSWER = "The file storage does not respond."
