"""Texts of search for people and API clients."""

QUERY_BLANK = "q must not be blank."
CURSOR_INVALID = "The cursor is invalid."
CURSOR_OF_OTHER_FILTERS = "The cursor is from a search with different filters."

# Commands
INDEXING = "Indexing"


def indexed(documents: str) -> str:
    return f"{documents} indexed."
