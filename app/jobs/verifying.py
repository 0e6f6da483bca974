"""Comparing the audit log with its checkpoints, and these with each other and their file."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
from sqlalchemy import func, select
from sqlalchemy.orm import undefer

from app.audit import checkpoints, merkle
from app.audit.checkpoints import AuditCheckpoint, CoveredEvent
from app.audit.models import AuditEvent
from app.core import ids
from app.database.session import reading, session
from app.jobs import messages
from app.jobs.checkpointing import LATE_MS

# Checkpoints per query.
BATCH = 20
IDS_READ = 10_000
MAX_FINDINGS = 50


@dataclass(slots=True)
class LogVerdict:
    """The result of a verification, with up to ``MAX_FINDINGS`` problems in order."""

    checkpoints: int = 0
    events: int = 0
    # Events that are too new for a checkpoint.
    uncovered: int = 0
    wrong: list[str] = field(default_factory=list)
    more: int = 0

    @property
    def is_good(self) -> bool:
        return not self.wrong

    def add(self, what: str) -> None:
        if len(self.wrong) < MAX_FINDINGS:
            self.wrong.append(what)
        else:
            self.more += 1


class _Coverage:
    """Compares the ids in the log, in order, with the ids that checkpoints name.

    Keeps only ids that the other side has not reached. Reports and drops events that are too old
    for any later checkpoint.
    """

    def __init__(self, verdict: LogVerdict) -> None:
        self._verdict = verdict
        self._stored = _stored_ids()
        self._next: str | None = next(self._stored, None)
        # Ids in the log not yet found in a checkpoint, and ids in checkpoints not yet in the log.
        self._without: dict[str, None] = {}
        self._ahead: set[str] = set()
        self._reached = ""

    def add(self, checkpoint: AuditCheckpoint, entries: list[CoveredEvent]) -> None:
        for entry in entries:
            if entry.event_id <= self._reached:
                self._without.pop(entry.event_id, None)
            else:
                self._ahead.add(entry.event_id)
        if entries:
            self._advance(max(entry.event_id for entry in entries))
            self._forget(ids.created_ms(self._reached) - LATE_MS)

    def _advance(self, until: str) -> None:
        while self._next is not None and self._next <= until:
            if self._next in self._ahead:
                self._ahead.remove(self._next)
            else:
                self._without[self._next] = None
            self._next = next(self._stored, None)
        if until > self._reached:
            self._reached = until
            # ``_check_events`` reports the ids that the log lacks.
            self._ahead = {event_id for event_id in self._ahead if event_id > until}

    def _forget(self, oldest: int) -> None:
        for event_id in list(self._without):
            if ids.created_ms(event_id) >= oldest:
                break
            del self._without[event_id]
            self._verdict.add(messages.event_inserted(event_id))

    def finish(self) -> None:
        self._verdict.uncovered = len(self._without) + (self._next is not None)
        self._verdict.uncovered += sum(1 for _ in self._stored)


def _stored_ids() -> Iterator[str]:
    """All ids in the log, in order; needs a unit of work at each step."""
    after = ids.NIL_ID
    while True:
        statement = select(AuditEvent.id).where(AuditEvent.id > after).order_by(AuditEvent.id)
        batch = session.scalars(statement.limit(IDS_READ)).all()
        yield from batch
        if len(batch) < IDS_READ:
            return
        after = batch[-1]


def count() -> int:
    """The number of checkpoints; needs a unit of work."""
    return session.scalar(select(func.count()).select_from(AuditCheckpoint)) or 0


def verify(
    public_keys: Collection[str], file: Path | None, done: Callable[[int], object]
) -> LogVerdict:
    """Recompute every checkpoint from the events; ``done`` gets the number per batch.

    ``public_keys`` are the keys that may have signed, ``file`` has copies of checkpoints. Opens
    its own units of work.
    """
    verdict = LogVerdict()
    with reading():
        coverage = _Coverage(verdict)
    known = _in_file(file)
    hash_before, expected = checkpoints.NOTHING_BEFORE, 1
    while True:
        with reading():
            batch = session.scalars(
                select(AuditCheckpoint)
                .where(AuditCheckpoint.sequence >= expected)
                .order_by(AuditCheckpoint.sequence)
                .limit(BATCH)
                .options(undefer(AuditCheckpoint.entries))
            ).all()
            for checkpoint in batch:
                if checkpoint.sequence != expected:
                    verdict.add(messages.checkpoint_missing(expected))
                elif checkpoint.previous != hash_before:
                    verdict.add(messages.checkpoint_not_following(expected))
                _check_seal(checkpoint, public_keys, known, verdict)
                entries = _check_events(checkpoint, verdict)
                coverage.add(checkpoint, entries)
                verdict.checkpoints += 1
                verdict.events += len(entries)
                hash_before, expected = checkpoint.hash, checkpoint.sequence + 1
            session.expunge_all()
        done(len(batch))
        if len(batch) < BATCH:
            break
    with reading():
        coverage.finish()
    last = max(known, default=0)
    if last >= expected:
        verdict.add(messages.checkpoints_cut_off(expected, last, str(file)))
    return verdict


def _check_seal(
    checkpoint: AuditCheckpoint,
    public_keys: Collection[str],
    known: dict[int, str],
    verdict: LogVerdict,
) -> None:
    sequence = checkpoint.sequence
    if merkle.digest(checkpoint.body) != checkpoint.hash:
        verdict.add(messages.checkpoint_changed(sequence))
    elif not checkpoints.is_signed(checkpoint):
        verdict.add(messages.checkpoint_unsigned(sequence))
    elif checkpoint.public_key not in public_keys:
        verdict.add(messages.checkpoint_of_another_key(sequence, checkpoint.public_key))
    if known.get(sequence, checkpoint.hash) != checkpoint.hash:
        verdict.add(messages.checkpoint_differs_from_file(sequence))


def _check_events(checkpoint: AuditCheckpoint, verdict: LogVerdict) -> list[CoveredEvent]:
    sequence = checkpoint.sequence
    try:
        entries = checkpoints.entries_of(checkpoint.entries)
    except ValueError:
        verdict.add(messages.checkpoint_list_broken(sequence))
        return []
    rows = checkpoints.rows_of([entry.event_id for entry in entries])
    leaves, is_whole = [], True
    for entry in entries:
        row = rows.get(entry.event_id)
        if row is None:
            verdict.add(messages.event_removed(entry.event_id, sequence))
            is_whole = False
            continue
        leaf = merkle.leaf(checkpoints.leaf_content(row))
        if not checkpoints.is_mark_of(entry.mark, leaf):
            verdict.add(messages.event_changed(entry.event_id, sequence))
            is_whole = False
        leaves.append(leaf)
    if is_whole and _tree_of(entries, leaves) != _tree_stated(checkpoint):
        verdict.add(messages.checkpoint_root_wrong(sequence))
    return entries


def _tree_of(entries: list[CoveredEvent], leaves: list[bytes]) -> tuple[Any, ...]:
    if not entries:
        return ()
    return len(entries), entries[0].event_id, entries[-1].event_id, merkle.root(leaves).hex()


def _tree_stated(checkpoint: AuditCheckpoint) -> tuple[Any, ...]:
    return (
        checkpoint.event_count,
        checkpoint.first_event_id,
        checkpoint.last_event_id,
        checkpoint.root,
    )


def _in_file(file: Path | None) -> dict[int, str]:
    """The hashes of the checkpoints in a file, by number; skips incomplete lines.

    The first of several counts: a log that was cut off makes the same numbers again.
    """
    found: dict[int, str] = {}
    if file is None or not file.exists():
        return found
    with file.open("rb") as lines:
        for line in lines:
            try:
                checkpoint = orjson.loads(line)
                found.setdefault(int(checkpoint["sequence"]), str(checkpoint["hash"]))
            except (ValueError, TypeError, KeyError):
                continue
    return found
