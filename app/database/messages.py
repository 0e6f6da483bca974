"""Messages about idempotency keys, cursors and databases."""

KEY_OF_ANOTHER_REQUEST = "This Idempotency-Key was used for a different request."
KEY_OF_ANOTHER_SECRET = "The response stored for this Idempotency-Key needs a different SECRET_KEY."
USE_UTF8 = (
    "Use one with UTF8: createdb --owner=docket --template=template0 --encoding=UTF8 "
    "--locale=C.UTF-8 docket"
)
POOL_SESSIONS = (
    "The pooler in front of PostgreSQL mixes up the statements of its clients. "
    "Set it to session pooling, such as pool_mode = session of pgbouncer."
)
READ_ONLY = (
    "The database is read-only: it is a standby, or default_transaction_read_only is on. "
    "Set DATABASE_URL to the primary, or turn that off."
)
MADE_BY_A_NEWER_RELEASE = (
    "A newer release made this database. Start that release, or restore the backup made before it."
)
WRITES_TOO_LONG = "another write to the SQLite file takes too long"
CURSOR_OF_ANOTHER_LIST = "The cursor is from another list."


def cannot_be_reached(problem: str) -> str:
    return f"The database cannot be reached: {problem}"


def narrow_encoding(encoding: str) -> str:
    return f"The encoding of the database is {encoding}. {USE_UTF8}"


def lacks_right(problem: str) -> str:
    return (
        f"The role in DATABASE_URL lacks a right: {problem}. Make it the owner of the database "
        "and its tables."
    )
