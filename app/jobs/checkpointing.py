"""Making checkpoints of the audit log, one process at a time and outside of requests.

Ids do not grow in the order in which transactions commit, and clocks step. So each run looks back
over the last minutes, and once an hour over the last day, for events without a checkpoint.
"""

import fcntl
import logging
import os
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import orjson
from sqlalchemy import select

from app.audit import checkpoints, merkle
from app.audit.checkpoints import AuditCheckpoint
from app.audit.models import AuditEvent
from app.audit.service import Target, record
from app.config import Settings
from app.core import ids
from app.core.actor import SYSTEM
from app.core.clock import DAY_MS, HOUR_MS, MINUTE_MS
from app.core.ids import id_at
from app.database.locks import database_ms
from app.database.session import reading, run_write, session
from app.jobs.sweeping import SweeperLease, take_lease

log = logging.getLogger(__name__)

LEASE = "audit-checkpoints"
EVENT = "system.audit_checkpoint"
# The interval of checks, and the longest wait of an event, plus up to one interval.
CHECK_SECONDS = 15
WAIT_MS = MINUTE_MS
# Newer events wait, as older transactions may still be running.
COMMIT_WAIT_MS = 10_000
LOOK_BACK_MS = 2 * MINUTE_MS
# Events that are this much older than the newest checkpointed id get no checkpoint.
LATE_MS = DAY_MS
BATCH = 10_000
PAUSE_SECONDS = 0.02
FILE = "audit_checkpoints.jsonl"
# Checkpoints that are copied at once, and the end of the file that has the last one.
COPIES = 1_000
TAIL_BYTES = 8_192


class Checkpointer:
    """The state of a process between checks: when it last looked back over a day."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._looked_back_at = 0
        # The newest checkpoint when the file was last completed.
        self._copied = 0

    def check(self, may_go_on: Callable[[], bool] = lambda: True) -> int:
        """Make the due checkpoints and return their number; opens its own units of work.

        First completes the file of this server, as any server makes checkpoints.
        """
        with reading():
            moment, last = database_ms(), checkpoints.newest()
            is_deep = not 0 <= moment - self._looked_back_at < HOUR_MS
            is_due = self._is_due(last, moment, is_deep=is_deep)
        if last is not None and last.sequence != self._copied:
            _complete(self._settings.instance_dir / FILE)
            self._copied = last.sequence
        if not is_due:
            return 0
        made = make(self._settings, is_deep=is_deep, may_go_on=may_go_on)
        self._looked_back_at = moment if is_deep and made is not None else self._looked_back_at
        return made or 0

    def _is_due(self, last: AuditCheckpoint | None, moment: int, *, is_deep: bool) -> bool:
        waiting = _uncovered(_start(is_deep=is_deep), moment - COMMIT_WAIT_MS)
        if len(waiting) >= checkpoints.MAX_EVENTS:
            return True
        has_waited = last is None or not 0 <= moment - last.made_at < WAIT_MS
        return has_waited and _has_more_than_checkpoints(waiting)


def _has_more_than_checkpoints(event_ids: list[str]) -> bool:
    """Whether any event is not about a checkpoint: otherwise checkpoints would never end.

    A webhook for all events adds at least one delivery event per checkpoint.
    """
    delivered = AuditEvent.payload["event_type"].as_string()
    statement = select(AuditEvent.id).where(
        AuditEvent.id.in_(event_ids),
        AuditEvent.event_type != EVENT,
        delivered.is_distinct_from(EVENT),
    )
    return session.scalars(statement.limit(1)).first() is not None


def make(
    settings: Settings,
    *,
    is_deep: bool = True,
    commit_wait_ms: int = COMMIT_WAIT_MS,
    may_go_on: Callable[[], bool] = lambda: True,
) -> int | None:
    """Make checkpoints of all events so far; returns how many, or None if another process does.

    Events recorded meanwhile wait for the next run, as each checkpoint is itself an event, and so
    is its delivery to a webhook. Opens its own units of work.
    """
    owner = f"{os.getpid()}-{secrets.token_hex(8)}"
    if not run_write(lambda: take_lease(LEASE, owner, now=True)):
        return None
    try:
        with reading():
            after, until = _start(is_deep=is_deep), database_ms() - commit_wait_ms
        made = 0
        while may_go_on():
            with reading():
                waiting = _uncovered(after, until)
                if not _has_more_than_checkpoints(waiting):
                    break
                draft = _draft(waiting)
                after = waiting[-1]
            written = run_write(lambda: _write(draft, owner, settings))  # noqa: B023 - runs at once
            if written is None:
                break
            made += 1
            _complete(settings.instance_dir / FILE, made=written.sequence)
            # Let other writers go first.
            time.sleep(PAUSE_SECONDS)
    finally:
        run_write(lambda: _release(owner))
    return made


def _start(*, is_deep: bool) -> str:
    """The id after which events may lack a checkpoint."""
    statement = select(AuditCheckpoint.last_event_id)
    last_id = session.scalars(
        statement.order_by(AuditCheckpoint.last_event_id.desc()).limit(1)
    ).first()
    if last_id is None:
        return ids.NIL_ID
    return id_at(ids.created_ms(last_id) - (LATE_MS if is_deep else LOOK_BACK_MS))


def _uncovered(after: str, until: int) -> list[str]:
    """The next ids of events before ``until`` (ms) without a checkpoint, at most enough for one."""
    end, found = id_at(until), list[str]()
    while len(found) < checkpoints.MAX_EVENTS:
        batch = session.scalars(
            select(AuditEvent.id)
            .where(AuditEvent.id > after, AuditEvent.id < end)
            .order_by(AuditEvent.id)
            .limit(BATCH)
        ).all()
        if not batch:
            break
        covered = _covered(batch[0], batch[-1])
        found += [event_id for event_id in batch if event_id not in covered]
        after = batch[-1]
    return found[: checkpoints.MAX_EVENTS]


def _covered(first_id: str, last_id: str) -> set[str]:
    """The ids of all events in checkpoints that overlap this range."""
    packed = session.scalars(
        select(AuditCheckpoint.entries).where(
            AuditCheckpoint.last_event_id >= first_id, AuditCheckpoint.first_event_id <= last_id
        )
    )
    return {entry.event_id for one in packed for entry in checkpoints.entries_of(one)}


def _draft(event_ids: list[str]) -> AuditCheckpoint:
    """A checkpoint of these events, not yet chained, signed or stored."""
    rows = checkpoints.rows_of(event_ids)
    leaves = [merkle.leaf(checkpoints.leaf_content(rows[event_id])) for event_id in event_ids]
    last = checkpoints.newest()
    return AuditCheckpoint(
        sequence=last.sequence + 1 if last else 1,
        previous=last.hash if last else checkpoints.NOTHING_BEFORE,
        made_at=database_ms(),
        event_count=len(event_ids),
        first_event_id=event_ids[0],
        last_event_id=event_ids[-1],
        root=merkle.root(leaves).hex(),
        entries=checkpoints.packed(zip(event_ids, leaves, strict=True)),
    )


def _write(draft: AuditCheckpoint, owner: str, settings: Settings) -> AuditCheckpoint | None:
    """Store the checkpoint and record it; None if another process took over."""
    lease = session.get(SweeperLease, LEASE, with_for_update=True)
    last = checkpoints.newest()
    previous = last.hash if last else checkpoints.NOTHING_BEFORE
    if lease is None or lease.owner != owner or previous != draft.previous:
        return None
    # Copy the draft: a unit of work that runs again must not add the same object twice.
    values = {column.name: getattr(draft, column.name) for column in draft.__table__.columns}
    checkpoint = AuditCheckpoint(**values)
    checkpoints.sign(checkpoint, settings.secret_key)
    session.add(checkpoint)
    session.flush()
    record(SYSTEM, EVENT, Target("audit_checkpoint"), **checkpoints.published(checkpoint))
    return checkpoint


def _release(owner: str) -> None:
    lease = session.get(SweeperLease, LEASE, with_for_update=True)
    if lease is not None and lease.owner == owner:
        lease.owner, lease.lease_until, lease.last_run_at = None, 0, database_ms()
        session.flush()


def _complete(file: Path, *, made: int | None = None) -> None:
    """Append the checkpoints after the last one in the file, and in any case the one just made.

    Only logs a failure of the file, as the webhook event remains. Opens its own units of work.
    """
    try:
        with file.open("ab+") as stream:
            # Processes of one server share the file.
            fcntl.flock(stream, fcntl.LOCK_EX)
            after = _last_in(stream)
            if made is not None:
                # The file of a database that was set back has later ones.
                after = min(after, made - 1)
            while lines := _published_after(after):
                stream.writelines(orjson.dumps(line) + b"\n" for line in lines)
                after = lines[-1]["sequence"]
            stream.flush()
            os.fsync(stream.fileno())
    except OSError:
        log.exception("a checkpoint was not written to its file")


def _last_in(stream: BinaryIO) -> int:
    """The number of the last checkpoint in the file, 0 without any; ends a torn line."""
    stream.seek(max(0, stream.seek(0, os.SEEK_END) - TAIL_BYTES))
    tail = stream.read()
    if tail and not tail.endswith(b"\n"):
        stream.write(b"\n")
    for line in reversed(tail.splitlines()):
        with suppress(ValueError, TypeError, KeyError):
            return int(orjson.loads(line)["sequence"])
    return 0


def _published_after(sequence: int) -> list[dict[str, Any]]:
    statement = select(AuditCheckpoint).where(AuditCheckpoint.sequence > sequence)
    with reading():
        rows = session.scalars(statement.order_by(AuditCheckpoint.sequence).limit(COPIES))
        return [checkpoints.published(row) for row in rows]
