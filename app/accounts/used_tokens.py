"""Tokens that work once."""

from sqlalchemy.dialects import postgresql, sqlite

from app.accounts import credentials
from app.accounts.models import UsedToken
from app.database.session import is_postgresql, session


def use_once(token: str, expires_at: int) -> bool:
    """Use a token up; False if it already was."""
    dialect = postgresql if is_postgresql() else sqlite
    statement = (
        dialect.insert(UsedToken)
        .values(token_hash=credentials.hashed(token), expires_at=expires_at)
        .on_conflict_do_nothing(index_elements=["token_hash"])
        .returning(UsedToken.token_hash)
    )
    return session.scalar(statement) is not None
