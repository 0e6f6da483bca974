"""The format's fixed points: which tables go where, and how a row is a line of JSON."""

import base64
import hashlib
import hmac
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
from sqlalchemy import BigInteger, Column, LargeBinary, Table

from app.accounts.models import FailureWindow, LoginBucket, UserSession
from app.core.clock import iso
from app.database.idempotency import IdempotencyRecord
from app.exporting.copying import tables
from app.jobs.models import SweeperLease

FORMAT = "docket-export"
FORMAT_VERSION = 1
MANIFEST = "manifest.json"
DATA = "data"

# What ends by itself within days and belongs to one running installation.
PASSING = frozenset(
    model.__tablename__
    for model in (UserSession, LoginBucket, FailureWindow, IdempotencyRecord, SweeperLease)
)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


def exported() -> list[Table]:
    """The tables that are exported, parents before children."""
    return [table for table in tables() if table.name not in PASSING]


def data_name(table: Table) -> str:
    """The file of a table's rows, below the export's folder."""
    return f"{DATA}/{table.name}.jsonl"


def key_mark(secret_key: str) -> str:
    """By what an export knows the SECRET_KEY that webhook secrets are sealed under."""
    made = hmac.new(secret_key.encode(), FORMAT.encode(), hashlib.sha256)
    return made.hexdigest()[:16]


def line_of(table: Table, row: Mapping[str, Any]) -> bytes:
    """A row as one line: columns in their order, times as ISO 8601, bytes as base64."""
    shown = {str(column.name): _shown(column, row[column.name]) for column in table.columns}
    return orjson.dumps(shown, option=orjson.OPT_APPEND_NEWLINE)


def _shown(column: Column[Any], value: Any) -> Any:
    if value is None:
        return None
    if isinstance(column.type, BigInteger):
        return iso(value)
    if isinstance(column.type, LargeBinary):
        return base64.b64encode(value).decode()
    return value


def row_of(table: Table, line: bytes) -> dict[str, Any]:
    """The row that ``line_of`` wrote; a column made since the export has its default.

    Raises ValueError where the line is none of this table.
    """
    found = orjson.loads(line)
    if not isinstance(found, dict):
        raise ValueError("it is no JSON object")  # noqa: TRY004 - one kind of refusal for all
    unknown = found.keys() - {column.name for column in table.columns}
    if unknown:
        raise ValueError(f"it has an unknown field, {min(unknown)}")
    return {column.name: _read(column, found) for column in table.columns}


def _read(column: Column[Any], found: dict[str, Any]) -> Any:
    if column.name not in found:
        if column.nullable:
            return None
        if column.default is not None and column.default.is_scalar:
            return column.default.arg  # type: ignore[attr-defined]  # as is_scalar says
        raise ValueError(f"it has no {column.name}")
    value = found[column.name]
    if value is None:
        return None
    if isinstance(column.type, BigInteger):
        return (datetime.fromisoformat(value) - _EPOCH) // _MILLISECOND
    if isinstance(column.type, LargeBinary):
        return base64.b64decode(value, validate=True)
    return value
