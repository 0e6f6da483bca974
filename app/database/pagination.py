"""Keyset pagination: opaque cursors over (sort value, id), never an offset.

A cursor holds its kind (one per list) and the id and sort value of the last row. Cursors are
checked but not signed: they only become bound values, and visibility applies to every page.
"""

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import orjson
from sqlalchemy import BigInteger, ColumnElement, Integer, and_, bindparam, literal_column, or_
from sqlalchemy.orm import InstrumentedAttribute

from app.core.errors import InvalidField
from app.core.ids import UUID_PATTERN
from app.database import messages
from app.database.session import AnyRow, AnySelect, Prepared, session

DEFAULT_LIMIT = 50
CURSOR_LENGTH = 512
_SORT_VALUE_LIMIT = 1 << 53
_MAX_INT32 = (1 << 31) - 1


@dataclass(frozen=True, slots=True)
class Cursor:
    """The last row of a page: its id and sort value."""

    kind: str
    id: str
    at: int


@dataclass(frozen=True, slots=True)
class Page:
    """The items of one page, and the cursor of the next."""

    data: list[Any]
    next_cursor: str | None

    @property
    def collection(self) -> dict[str, Any]:
        """The page as JSON in the form of REST."""
        return {
            "data": self.data,
            "page": {"next_cursor": self.next_cursor, "has_more": self.next_cursor is not None},
        }


def opaque(content: Any) -> str:
    """The text of a cursor with this content: unpadded base64url of compact JSON."""
    return base64.urlsafe_b64encode(orjson.dumps(content)).rstrip(b"=").decode()


def content_of(text: str, max_length: int = CURSOR_LENGTH) -> Any:
    """The content of a text made by ``opaque``; raises ValueError for other or longer texts."""
    if len(text) > max_length:
        raise ValueError("too long")
    raw = text.encode("ascii")
    padded = raw + b"=" * (-len(raw) % 4)
    return orjson.loads(base64.b64decode(padded, altchars=b"-_", validate=True))


def encode(cursor: Cursor) -> str:
    return opaque({"kind": cursor.kind, "id": cursor.id, "created_at": cursor.at})


def decode(text: str, kind: str) -> Cursor:
    """Read a cursor; raises InvalidField (400) unless ``encode`` made it for this kind."""
    try:
        cursor = _verified(content_of(text), kind)
        if encode(cursor) != text:
            raise ValueError("not the canonical form")
    except (ValueError, KeyError, TypeError) as error:
        raise _malformed() from error
    return cursor


def _malformed() -> InvalidField:
    return InvalidField("cursor", "malformed", messages.CURSOR_OF_ANOTHER_LIST, status=400)


def _verified(content: Any, kind: str) -> Cursor:
    identifier, sort_value = content["id"], content["created_at"]
    if content["kind"] != kind:
        raise ValueError("a cursor of another list")
    if not isinstance(identifier, str) or not UUID_PATTERN.fullmatch(identifier):
        raise ValueError("not an id")
    if type(sort_value) is not int or not 0 <= sort_value < _SORT_VALUE_LIMIT:
        raise ValueError("not a sort value")
    return Cursor(kind=kind, id=identifier, at=sort_value)


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

    ``sort`` is an integer column (a time or a position) that the statement selects under the
    column's name; it selects the id as ``id_key``. A statement with ``values`` for its parameters
    must be a module constant and is compiled once. Raises InvalidField for a bad cursor.
    """
    after = decode(cursor, kind) if cursor is not None else None
    if after is not None and not isinstance(sort.type, BigInteger) and after.at > _MAX_INT32:
        raise _malformed()
    position = {"after_at": after.at, "after_id": after.id} if after else {}
    parts = (sort, id_column, ascending, after is not None, limit + 1)
    rows: Sequence[AnyRow]
    if values is None:
        rows = session.execute(_ordered(statement, *parts), position).all()
    else:
        rows = _prepared(statement, *parts).all(**values, **position)
    page_rows = rows[:limit]
    next_cursor = None
    if len(rows) > limit:
        last = page_rows[-1]
        next_cursor = encode(
            Cursor(kind=kind, id=getattr(last, id_key), at=getattr(last, sort.key))
        )
    return Page(build(page_rows), next_cursor)


@lru_cache(maxsize=512)
def _prepared(statement: AnySelect, *parts: Any) -> Prepared:
    return Prepared(_ordered(statement, *parts))


def _ordered(
    statement: AnySelect,
    sort: InstrumentedAttribute[int],
    id_column: InstrumentedAttribute[str],
    ascending: bool,
    is_continued: bool,
    limit: int,
) -> AnySelect:
    if is_continued:
        statement = statement.where(_after(sort, id_column, ascending))
    order = (sort, id_column) if ascending else (sort.desc(), id_column.desc())
    # A literal, because PostgreSQL plans for a small page only if it knows the limit.
    return statement.order_by(*order).limit(literal_column(str(limit), Integer))


def _after(
    sort: InstrumentedAttribute[int], id_column: InstrumentedAttribute[str], ascending: bool
) -> ColumnElement[bool]:
    """Rows after the cursor; the first condition on its own lets an index seek."""
    at: ColumnElement[int] = bindparam("after_at", type_=sort.type)
    last: ColumnElement[str] = bindparam("after_id", type_=id_column.type)
    if ascending:
        return and_(sort >= at, or_(sort > at, id_column > last))
    return and_(sort <= at, or_(sort < at, id_column < last))
