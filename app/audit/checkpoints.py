"""Checkpoints of the audit log, which later prove what an event was when they were made.

A checkpoint is the root of a Merkle tree over events, chained to the previous one and signed. It
lists each event, as ids do not grow in the order in which transactions commit.
``jobs/checkpointing.py`` makes checkpoints, so that requests do not have to.
"""

import base64
import hashlib
import hmac
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from sqlalchemy import LargeBinary, Row, Text, select
from sqlalchemy.orm import Mapped, mapped_column, undefer

from app.audit import merkle
from app.audit.models import AuditEvent
from app.core.clock import iso
from app.database.columns import Id, Moment, short_text
from app.database.session import AnySelect, Base, session

MAX_EVENTS = 1_000
# The ``previous`` of the first checkpoint.
NOTHING_BEFORE = "0" * 64
# The bytes kept of an id and of its leaf's hash; the hash only shows which event changed.
_ID, _MARK = 16, 8
_ENTRY = _ID + _MARK
_KEY_PURPOSE = b"docket audit checkpoints 1"


class AuditCheckpoint(Base):
    """The events of one checkpoint, the root of their tree, and the previous checkpoint."""

    __tablename__ = "audit_checkpoints"

    sequence: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    made_at: Mapped[int] = mapped_column(Moment)
    event_count: Mapped[int]
    first_event_id: Mapped[str] = mapped_column(Id)
    last_event_id: Mapped[str] = mapped_column(Id, index=True)
    root: Mapped[str] = mapped_column(short_text(64))
    previous: Mapped[str] = mapped_column(short_text(64))
    hash: Mapped[str] = mapped_column(short_text(64))
    signature: Mapped[str] = mapped_column(Text)
    public_key: Mapped[str] = mapped_column(Text)
    # For each event, in the order of the tree, its id and the start of its leaf's hash.
    entries: Mapped[bytes] = mapped_column(LargeBinary, deferred=True)

    @property
    def body(self) -> bytes:
        """The bytes that are hashed and signed."""
        return merkle.canonical(body_json(self))


# The columns of a leaf; the reference to the tool log may be cleared later (0003_audit_log.py).
_TABLE = AuditEvent.__table__
LEAVES: AnySelect = select(*(one for one in _TABLE.c if one.name != "tool_invocation_log_id"))


def body_json(checkpoint: AuditCheckpoint) -> dict[str, Any]:
    return {
        "sequence": checkpoint.sequence,
        "made_at": iso(checkpoint.made_at),
        "event_count": checkpoint.event_count,
        "first_event_id": checkpoint.first_event_id,
        "last_event_id": checkpoint.last_event_id,
        "root": checkpoint.root,
        "previous": checkpoint.previous,
    }


def leaf_content(row: Row[Any]) -> bytes:
    """The bytes of a row of ``LEAVES`` whose hash is its leaf."""
    values = dict(row._mapping)
    values["created_at"] = iso(values["created_at"])
    if values["receipt"] is None:
        # Only changes by bots have a receipt.
        del values["receipt"]
    return merkle.canonical(values)


@dataclass(frozen=True, slots=True)
class CoveredEvent:
    event_id: str
    mark: bytes


def packed(leaves: Iterable[tuple[str, bytes]]) -> bytes:
    """The packed entries of events, given their ids and the hashes of their leaves."""
    return b"".join(bytes.fromhex(one.replace("-", "")) + leaf[:_MARK] for one, leaf in leaves)


def entries_of(packed_entries: bytes) -> list[CoveredEvent]:
    """The unpacked entries; raises ValueError for bytes that are not entries."""
    if len(packed_entries) % _ENTRY:
        raise ValueError("not entries")
    found = []
    for start in range(0, len(packed_entries), _ENTRY):
        digits = packed_entries[start : start + _ID].hex()
        event_id = f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
        found.append(CoveredEvent(event_id, packed_entries[start + _ID : start + _ENTRY]))
    return found


def is_mark_of(mark: bytes, leaf: bytes) -> bool:
    return leaf[:_MARK] == mark


def rows_of(event_ids: Sequence[str]) -> dict[str, Row[Any]]:
    """The rows of ``LEAVES`` with these ids."""
    rows = session.execute(LEAVES.where(_TABLE.c.id.in_(event_ids)))
    return {row.id: row for row in rows}


@lru_cache
def private_key(secret_key: str) -> Ed25519PrivateKey:
    """The key of an installation, derived from its SECRET_KEY."""
    seed = hmac.new(secret_key.encode(), _KEY_PURPOSE, hashlib.sha256).digest()
    return Ed25519PrivateKey.from_private_bytes(seed)


def public_key(secret_key: str) -> str:
    raw = private_key(secret_key).public_key().public_bytes_raw()
    return base64.b64encode(raw).decode()


def sign(checkpoint: AuditCheckpoint, secret_key: str) -> None:
    """Set the hash, the signature and the public key that verifies it."""
    body = checkpoint.body
    checkpoint.hash = merkle.digest(body)
    checkpoint.signature = base64.b64encode(private_key(secret_key).sign(body)).decode()
    checkpoint.public_key = public_key(secret_key)


def is_signed(checkpoint: AuditCheckpoint) -> bool:
    """Whether the signature is valid for the public key that the checkpoint names."""
    try:
        key = Ed25519PublicKey.from_public_bytes(base64.b64decode(checkpoint.public_key))
        key.verify(base64.b64decode(checkpoint.signature), checkpoint.body)
    except (ValueError, InvalidSignature):
        return False
    return True


def newest() -> AuditCheckpoint | None:
    statement = select(AuditCheckpoint).order_by(AuditCheckpoint.sequence.desc()).limit(1)
    return session.scalars(statement).first()


def published(checkpoint: AuditCheckpoint) -> dict[str, Any]:
    """The public form of a checkpoint, in its event, the file and proofs."""
    return {
        **body_json(checkpoint),
        "hash": checkpoint.hash,
        "signature": checkpoint.signature,
        "public_key": checkpoint.public_key,
    }


def proof_of(event_id: str) -> dict[str, Any] | None:
    """The proof that a checkpoint contains an event unchanged; None before it has a checkpoint."""
    found = _with_event(event_id)
    if found is None:
        return None
    checkpoint, listed = found
    rows = rows_of(listed)
    contents = [leaf_content(rows[one]) if one in rows else b"" for one in listed]
    index = listed.index(event_id)
    siblings = merkle.path([merkle.leaf(content) for content in contents], index)
    return {
        "event": contents[index].decode(),
        "index": index,
        "path": [{"side": side, "hash": sibling.hex()} for side, sibling in siblings],
        "checkpoint": published(checkpoint),
    }


def _with_event(event_id: str) -> tuple[AuditCheckpoint, list[str]] | None:
    """The checkpoint that contains an event, and the ids of all its events."""
    sequences = session.scalars(
        select(AuditCheckpoint.sequence)
        .where(
            AuditCheckpoint.first_event_id <= event_id, AuditCheckpoint.last_event_id >= event_id
        )
        .order_by(AuditCheckpoint.last_event_id)
    )
    for sequence in sequences.all():
        options = [undefer(AuditCheckpoint.entries)]
        checkpoint = session.get_one(AuditCheckpoint, sequence, options=options)
        listed = [entry.event_id for entry in entries_of(checkpoint.entries)]
        if event_id in listed:
            return checkpoint, listed
    return None
