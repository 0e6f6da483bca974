"""Tokens that work once, and others that are remembered for a time."""

from collections.abc import Sequence

from sqlalchemy import func, select
from sqlalchemy.dialects import postgresql, sqlite

from app.accounts import credentials
from app.accounts.models import UsedToken
from app.database.session import is_postgresql, session


def use_once(token: str, expires_at: int) -> bool:
    """Use a token up; False if it already was."""
    statement = _insert(token, expires_at).on_conflict_do_nothing(index_elements=["token_hash"])
    return session.scalar(statement.returning(UsedToken.token_hash)) is not None


def remember(token: str, expires_at: int) -> None:
    """Keep a token until this time, or until the later one that is stored."""
    statement = _insert(token, expires_at)
    later = statement.excluded.expires_at
    session.execute(
        statement.on_conflict_do_update(
            index_elements=["token_hash"],
            set_={"expires_at": later},
            where=later > UsedToken.expires_at,
        )
    )


def remembered_until(tokens: Sequence[str]) -> int:
    """The last time until which any of these is kept, in milliseconds; 0 if none is."""
    hashes = [credentials.hashed(token) for token in tokens]
    last = select(func.max(UsedToken.expires_at)).where(UsedToken.token_hash.in_(hashes))
    return session.scalar(last) or 0


def _insert(token: str, expires_at: int) -> postgresql.Insert | sqlite.Insert:
    insert = postgresql.insert(UsedToken) if is_postgresql() else sqlite.insert(UsedToken)
    return insert.values(token_hash=credentials.hashed(token), expires_at=expires_at)
