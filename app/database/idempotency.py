"""Idempotent creates: one stored response per (actor, key), in the transaction of the change.

The record is inserted before the work, so a concurrent request with the same key waits and then
replays. A refused request rolls its record back. A response can contain a secret, so the table has
only a hash of the key, and the response is sealed under the Idempotency-Key and SECRET_KEY.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import orjson
from cryptography.exceptions import InvalidTag
from sqlalchemy import Index, LargeBinary, UniqueConstraint, delete, func, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Mapped, mapped_column

from app.core import ids
from app.core.clock import HOUR_MS, now_ms
from app.core.errors import Conflict, DomainError, Forbidden, InvalidField, NotFound
from app.database import encryption, messages
from app.database.columns import Id, Moment, id_key, short_text
from app.database.session import Base, is_postgresql, savepoint, session

KEY_LENGTH = 128


class IdempotencyRecord(Base):
    """The stored response to one create with a key, until it expires."""

    __tablename__ = "idempotency_records"
    __table_args__ = (
        UniqueConstraint("actor_user_id", "key_hash"),
        Index(None, "expires_at"),
    )

    id: Mapped[str] = id_key()
    actor_user_id: Mapped[str] = mapped_column(Id)
    key_hash: Mapped[str] = mapped_column(short_text(64))
    fingerprint: Mapped[str] = mapped_column(short_text(64))
    status: Mapped[int | None]
    sealed: Mapped[bytes | None] = mapped_column(LargeBinary)
    created_at: Mapped[int] = mapped_column(Moment)
    expires_at: Mapped[int] = mapped_column(Moment)


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """The response to a create with a key; ``headers`` are those to replay."""

    status: int
    body: bytes
    headers: dict[str, str]


@dataclass(frozen=True, slots=True)
class Claim:
    """A key claimed in the current transaction; ``keep`` stores the response."""

    record_id: str
    key: str


def check_key(key: str, field: str) -> str:
    """Return the key; raises InvalidField ``field`` if it is blank or over 128 characters."""
    if not key.strip():
        raise InvalidField(field, "blank")
    if len(key) > KEY_LENGTH:
        raise InvalidField(field, "too_long")
    return key


def fingerprint(method: str, path: str, body: Any) -> str:
    """sha256 over method, path and the canonical JSON body; headers excluded."""
    canonical = orjson.dumps(body, option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(f"{method} {path}\n".encode() + canonical).hexdigest()


def claim(
    actor_user_id: str, key: str, request_fingerprint: str, ttl_hours: int
) -> Claim | StoredAnswer:
    """Claim the key for this transaction, or return the stored response to replay.

    Raises Conflict ``idempotency_mismatch`` if the key was used for another request.
    """
    key_hash = hashlib.sha256(key.encode()).hexdigest()
    now = now_ms()
    _delete_expired(actor_user_id, key_hash, now)
    record_id = ids.new_id()
    values = {
        "id": record_id,
        "actor_user_id": actor_user_id,
        "key_hash": key_hash,
        "fingerprint": request_fingerprint,
        "created_at": now,
        "expires_at": now + ttl_hours * HOUR_MS,
    }
    dialect = postgresql if is_postgresql() else sqlite
    inserted_id = session.execute(
        dialect.insert(IdempotencyRecord)
        .values(values)
        .on_conflict_do_nothing(index_elements=["actor_user_id", "key_hash"])
        .returning(IdempotencyRecord.id)
    ).scalar()
    if inserted_id is not None:
        return Claim(record_id, key)
    return _stored(actor_user_id, key_hash, key, request_fingerprint)


def _delete_expired(actor_user_id: str, key_hash: str, now: int) -> None:
    session.execute(
        delete(IdempotencyRecord).where(
            IdempotencyRecord.actor_user_id == actor_user_id,
            IdempotencyRecord.key_hash == key_hash,
            IdempotencyRecord.expires_at <= now,
        )
    )


def _stored(actor_user_id: str, key_hash: str, key: str, request_fingerprint: str) -> StoredAnswer:
    row = session.execute(
        select(
            IdempotencyRecord.fingerprint, IdempotencyRecord.status, IdempotencyRecord.sealed
        ).where(
            IdempotencyRecord.actor_user_id == actor_user_id,
            IdempotencyRecord.key_hash == key_hash,
        )
    ).one()
    if row.fingerprint != request_fingerprint or row.status is None or row.sealed is None:
        raise Conflict("idempotency_mismatch", messages.KEY_OF_ANOTHER_REQUEST)
    try:
        content = orjson.loads(encryption.decrypt(row.sealed, f"idempotency:{key}"))
    except InvalidTag:
        raise Conflict(
            "idempotency_mismatch",
            messages.KEY_OF_ANOTHER_SECRET,
        ) from None
    return StoredAnswer(row.status, content["body"].encode(), content["headers"])


class _Undone(Exception):
    """Rolls a savepoint back."""


def judge_replay(work: Callable[[], object]) -> None:
    """Refuse to replay the response to a request that its actor may no longer make.

    Runs the work again and rolls it back. Raises its Forbidden and NotFound. Other errors are
    consequences of the first run.
    """
    try:
        with savepoint():
            work()
            raise _Undone
    except (Forbidden, NotFound):
        raise
    except (_Undone, DomainError, IntegrityError):
        pass


def last_expiry_under_other_keys() -> int | None:
    """When the last response that the current SECRET_KEY does not decrypt expires, or None.

    Such responses cannot be sealed again, as the Idempotency-Keys are not stored.
    """
    expiry: int | None = session.scalar(
        select(func.max(IdempotencyRecord.expires_at)).where(
            func.substr(IdempotencyRecord.sealed, 1, encryption.HEADER_BYTES)
            != encryption.header(),
            IdempotencyRecord.expires_at > now_ms(),
        )
    )
    return expiry


def keep(claimed: Claim, answer: StoredAnswer) -> None:
    """Store the response under a claimed key, in the transaction of the change."""
    content = orjson.dumps({"body": answer.body.decode(), "headers": answer.headers})
    session.execute(
        update(IdempotencyRecord)
        .where(IdempotencyRecord.id == claimed.record_id)
        .values(
            status=answer.status, sealed=encryption.encrypt(content, f"idempotency:{claimed.key}")
        )
    )
