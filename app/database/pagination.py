"""Keyset pagination: opaque cursors over (sort value, id), never an offset.

A cursor holds the last row's id and created_at, its kind (one per resource) and, in lists that
sort by something else, that value. Cursors are verified, not signed: they only ever become bound
values, and visibility is applied anew.
"""

import base64
import binascii
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import orjson
from sqlalchemy import BigInteger, ColumnElement, Integer, and_, bindparam, literal_column, or_
from sqlalchemy.orm import InstrumentedAttribute

from app.core.errors import InvalidField
from app.core.ids import UUID_PATTERN
from app.database.session import AnyRow, AnySelect, Prepared, session

DEFAULT_LIMIT = 50
CURSOR_LENGTH = 512
_LARGEST = 1 << 53
# Of what a smaller column than that of a moment can hold.
_LARGEST_POSITION = (1 << 31) - 1


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where a page ended."""

    kind: str
    id: str
    at: int


@dataclass(frozen=True, slots=True)
class Page:
    """One page of what was built of rows, for REST its JSON, and where it ended."""

    data: list[Any]
    next_cursor: str | None

    @property
    def envelope(self) -> dict[str, Any]:
        """The collection as REST shows it."""
        return {
            "data": self.data,
            "page": {"next_cursor": self.next_cursor, "has_more": self.next_cursor is not None},
        }


def encode(cursor: Cursor) -> str:
    """The opaque form of a cursor: base64url of compact JSON, unpadded."""
    text = orjson.dumps({"kind": cursor.kind, "id": cursor.id, "created_at": cursor.at})
    return base64.urlsafe_b64encode(text).rstrip(b"=").decode()


def decode(text: str, kind: str) -> Cursor:
    """Read a cursor back; raises InvalidField (400) unless it is exactly one of ours."""
    try:
        if len(text) > CURSOR_LENGTH:
            raise ValueError("too long")
        raw = text.encode("ascii")
        padded = raw + b"=" * (-len(raw) % 4)
        found = orjson.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
        cursor = _verified(found, kind)
        if encode(cursor) != text:
            raise ValueError("not the canonical form")
    except (ValueError, UnicodeError, binascii.Error, KeyError, TypeError) as error:
        raise _malformed() from error
    return cursor


def _malformed() -> InvalidField:
    return InvalidField("cursor", "malformed", "The cursor is not one of this list.", status=400)


def _verified(found: Any, kind: str) -> Cursor:
    if not isinstance(found, dict) or set(found) != {"kind", "id", "created_at"}:
        raise ValueError("not a cursor")
    identifier, moment = found["id"], found["created_at"]
    if found["kind"] != kind:
        raise ValueError("a cursor of another list")
    if not isinstance(identifier, str) or not UUID_PATTERN.fullmatch(identifier):
        raise ValueError("not an id")
    if type(moment) is not int or not 0 <= moment < _LARGEST:
        raise ValueError("not a time, nor a position")
    return Cursor(kind=kind, id=identifier, at=moment)


def page(
    statement: AnySelect,
    *,
    kind: str,
    sort: InstrumentedAttribute[int],
    id_column: InstrumentedAttribute[str],
    limit: int,
    cursor: str | None,
    build: Callable[[Sequence[AnyRow]], list[Any]],
    ascending: bool = False,
    id_key: str = "id",
    values: dict[str, Any] | None = None,
) -> Page:
    """One page of ``statement`` in the order (sort, id), newest first unless ``ascending``.

    ``sort`` is an integer column (``created_at`` in milliseconds, or a position) that the statement
    selects under its own name; the row's id is selected as ``id_key``. A statement of plain
    columns that was made once comes with the ``values`` of its parameters, and what is made of it
    here is kept as well. Raises InvalidField for a bad cursor.
    """
    after = decode(cursor, kind) if cursor is not None else None
    if after is not None and not isinstance(sort.type, BigInteger) and after.at > _LARGEST_POSITION:
        raise _malformed()
    place = {"after_at": after.at, "after_id": after.id} if after else {}
    parts = (sort, id_column, ascending, after is not None, limit + 1)
    rows: Sequence[AnyRow]
    if values is None:
        rows = session.execute(_ordered(statement, *parts), place).all()
    else:
        rows = _prepared(statement, *parts).all(**values, **place)
    shown = rows[:limit]
    next_cursor = None
    if len(rows) > limit:
        last = shown[-1]
        next_cursor = encode(
            Cursor(kind=kind, id=getattr(last, id_key), at=getattr(last, sort.key))
        )
    return Page(build(shown), next_cursor)


@lru_cache(maxsize=512)
def _prepared(statement: AnySelect, *parts: Any) -> Prepared:
    return Prepared(_ordered(statement, *parts))


def _ordered(
    statement: AnySelect,
    sort: InstrumentedAttribute[int],
    id_column: InstrumentedAttribute[str],
    ascending: bool,
    continued: bool,
    rows: int,
) -> AnySelect:
    """The statement for so many rows in order, those after a cursor if it goes on."""
    if continued:
        statement = statement.where(_beyond(sort, id_column, ascending))
    order = (sort, id_column) if ascending else (sort.desc(), id_column.desc())
    # As a constant: PostgreSQL plans for a page only if it sees how small it is.
    return statement.order_by(*order).limit(literal_column(str(rows), Integer))


def _beyond(
    sort: InstrumentedAttribute[int], id_column: InstrumentedAttribute[str], ascending: bool
) -> ColumnElement[bool]:
    """Rows after the cursor. The first condition alone lets an index seek to the place."""
    at: ColumnElement[int] = bindparam("after_at", type_=sort.type)
    last: ColumnElement[str] = bindparam("after_id", type_=id_column.type)
    if ascending:
        return and_(sort >= at, or_(sort > at, id_column > last))
    return and_(sort <= at, or_(sort < at, id_column < last))
