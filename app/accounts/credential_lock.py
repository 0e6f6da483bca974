"""Locks that keep a credential unchanged until the write it allowed has committed.

A write takes its user's lock shared; a change of that user's credentials takes it exclusively.
So nothing commits under a credential after the response that ended it. Row locks would let a busy
bot starve the change; advisory locks queue in order. SQLite has one writer and needs none.
"""

from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, Select, Text, cast, func, literal, select

from app.database.locks import Lock
from app.database.session import Prepared, is_postgresql, is_writing, session


def lock_shared(owners: Select[Any], **values: Any) -> None:
    """Keep the credentials of these users from changing until the current write commits.

    ``owners`` selects user ids and takes ``values`` as its parameters; it is a constant, as its
    prepared form is cached. Check the credential after this call, not before.
    """
    if is_writing() and is_postgresql():
        _shared(owners).all(**values)


@cache
def _shared(owners: Select[Any]) -> Prepared:
    (owner,) = owners.subquery().c
    key = _key(cast(owner, Text))
    shared = func.pg_advisory_xact_lock_shared(int(Lock.CREDENTIALS), key)
    return Prepared(select(shared.label("held")))


def lock_exclusive(user_id: str) -> None:
    """Wait for the writes under a user's credentials, before these are changed."""
    if is_postgresql():
        key = _key(literal(user_id, Text))
        session.execute(select(func.pg_advisory_xact_lock(int(Lock.CREDENTIALS), key)))


def _key(user_id: ColumnElement[str]) -> ColumnElement[int]:
    return func.hashtext(user_id)
