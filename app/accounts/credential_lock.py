"""Keeping a credential as it was judged until the write it allowed has committed.

Every write holds its user's credentials together with the others of that user; whoever revokes,
rotates, deactivates or narrows them waits for those writes and keeps new ones waiting meanwhile. So
nothing commits under a credential after the answer that ended it.

Row locks would not do on PostgreSQL: readers of a row that come one after another never let a
waiting writer through, so a busy bot could not be stopped. Advisory locks queue in order. SQLite
has one writer at a time and needs none of this.
"""

from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, Select, Text, cast, func, literal, select

from app.database.locks import Lock
from app.database.session import Prepared, is_postgresql, is_writing, session


def lock_shared(owners: Select[Any], **values: Any) -> None:
    """In a write, keep the credentials of these users from changing until it commits.

    ``owners`` selects user ids, with these values for its parameters; it is made once and passed
    again and again. Judge the credential after this, not before.
    """
    if is_writing() and is_postgresql():
        _sharing(owners).all(**values)


@cache
def _sharing(owners: Select[Any]) -> Prepared:
    (owner,) = owners.subquery().c
    key = _key(cast(owner, Text))
    shared = func.pg_advisory_xact_lock_shared(int(Lock.CREDENTIALS), key)
    return Prepared(select(shared.label("held")))


def lock_exclusive(user_id: str) -> None:
    """Before a user's credentials change: wait for the writes that go by them."""
    if is_postgresql():
        key = _key(literal(user_id, Text))
        session.execute(select(func.pg_advisory_xact_lock(int(Lock.CREDENTIALS), key)))


def _key(user_id: ColumnElement[str]) -> ColumnElement[int]:
    return func.hashtext(user_id)
