"""A log with checkpoints, and everything that someone with the database password can do to it."""

import base64
import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import insert, select

from app.audit import checkpoints, merkle
from app.audit.checkpoints import AuditCheckpoint
from app.audit.models import AuditEvent
from app.audit.service import WORKSPACE_ID
from app.config import Settings
from app.core import ids
from app.core.clock import DAY_MS, HOUR_MS, now_ms
from app.database.session import run_write, session
from app.jobs import checkpointing, verifying
from app.jobs.verifying import LogVerdict


def event_id_at(moment: int, number: int = 0) -> str:
    """A random event id of this time, as a process would create it."""
    digits = f"{moment:012x}7{number:03x}8{random.getrandbits(60):015x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def event_at(moment: int, number: int) -> dict[str, Any]:
    return {
        "id": event_id_at(moment, number),
        "workspace_id": WORKSPACE_ID,
        "category": "activity",
        "event_type": "ticket.updated",
        "actor_user_id": ids.new_id(),
        "actor_kind": "human",
        "target_kind": "ticket",
        "target_id": ids.new_id(),
        "project_id": ids.new_id(),
        "ticket_id": ids.new_id(),
        "payload": {"changes": {"title": {"from": f"Ä {number}", "to": 'ü\n"\u2028'}}},
        "request_id": ids.new_id() if number % 3 else None,
        "tool_invocation_log_id": None,
        "created_at": moment,
    }


@dataclass
class Log:
    """A log of three days with checkpoints, and what someone with the database password can run."""

    database: Any
    settings: Settings

    @property
    def file(self) -> Path:
        return self.settings.instance_dir / checkpointing.FILE

    def add(self, *rows: dict[str, Any]) -> None:
        with self.database.app.app_context():
            run_write(lambda: session.execute(insert(AuditEvent), list(rows)))

    def make(self, **options: Any) -> int:
        with self.database.app.app_context():
            made = checkpointing.make(self.settings, commit_wait_ms=-HOUR_MS, **options)
        assert made is not None
        return made

    def verdict(self, keys: set[str] | None = None, *, with_file: bool = True) -> LogVerdict:
        own = {checkpoints.public_key(self.settings.secret_key)}
        with self.database.app.app_context():
            return verifying.verify(
                own if keys is None else keys, self.file if with_file else None, lambda _: None
            )

    def run(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """Run a statement, unaffected by the triggers; its parameters are question marks."""
        cursor = self.database.connection.execute(self._for_driver(sql), values)
        return cursor.fetchall() if cursor.description else []

    def _for_driver(self, sql: str) -> str:
        return sql.replace("?", "%s") if self.database.kind == "postgresql" else sql

    def put(self, table: str, rows: list[tuple[Any, ...]]) -> None:
        """Replace all rows of the table."""
        self.run("BEGIN")
        self.run(f"DELETE FROM {table}")
        places = ", ".join("?" for _ in rows[0])
        given = [[json.dumps(one) if isinstance(one, dict) else one for one in row] for row in rows]
        insert_rows = self._for_driver(f"INSERT INTO {table} VALUES ({places})")
        self.database.connection.cursor().executemany(insert_rows, given)
        self.run("COMMIT")

    def stored(self, table: str) -> list[tuple[Any, ...]]:
        return self.run(f"SELECT * FROM {table} ORDER BY 1")

    def ids(self) -> list[str]:
        """The ids of the events in checkpoints, oldest first."""
        packed = self.run("SELECT entries FROM audit_checkpoints ORDER BY sequence")
        return [entry.event_id for (one,) in packed for entry in checkpoints.entries_of(bytes(one))]


def newest_sequence(log: Log) -> int:
    return int(log.run("SELECT max(sequence) FROM audit_checkpoints")[0][0])


# Changes a log; returns how the first line of the verdict must begin, or "" for any.
Tampering = Callable[[Log, random.Random], str]

TEXTS = ("category", "event_type", "actor_kind", "target_kind")
UUIDS = ("workspace_id", "actor_user_id", "target_id", "project_id", "ticket_id", "request_id")


def _changed(log: Log, dice: random.Random, column: str, value: Any) -> str:
    event_id = dice.choice(log.ids())
    log.run(f"UPDATE audit_events SET {column} = ? WHERE id = ?", value, event_id)
    return f"Event {event_id} was changed"


def _text(log: Log, dice: random.Random) -> str:
    return _changed(log, dice, dice.choice(TEXTS), "other")


def _uuid(log: Log, dice: random.Random) -> str:
    return _changed(log, dice, dice.choice(UUIDS), ids.new_id())


def _time(log: Log, dice: random.Random) -> str:
    return _changed(log, dice, "created_at", dice.randrange(10**12))


def _payload(log: Log, dice: random.Random) -> str:
    return _changed(log, dice, "payload", json.dumps({"changes": dice.random()}))


def _one_letter(log: Log, dice: random.Random) -> str:
    event_id = dice.choice(log.ids())
    ((payload,),) = log.run("SELECT payload FROM audit_events WHERE id = ?", event_id)
    told = payload if isinstance(payload, dict) else json.loads(payload)
    told["changes"]["title"]["from"] += "x"
    log.run("UPDATE audit_events SET payload = ? WHERE id = ?", json.dumps(told), event_id)
    return f"Event {event_id} was changed"


def _emptied(log: Log, dice: random.Random) -> str:
    return _changed(log, dice, dice.choice(("actor_user_id", "target_id", "project_id")), None)


def _removed(log: Log, dice: random.Random) -> str:
    event_id = dice.choice(log.ids())
    log.run("DELETE FROM audit_events WHERE id = ?", event_id)
    return f"Event {event_id} was removed"


def _several_removed(log: Log, dice: random.Random) -> str:
    known = log.ids()
    first = dice.randrange(len(known) - 5)
    for event_id in known[first : first + 5]:
        log.run("DELETE FROM audit_events WHERE id = ?", event_id)
    return f"Event {known[first]} was removed"


def _tail_cut(log: Log, dice: random.Random) -> str:
    known = log.ids()
    first = known[dice.randrange(30, len(known))]
    log.run("DELETE FROM audit_events WHERE id >= ?", first)
    return f"Event {first} was removed"


def _tail_cut_with_checkpoints(log: Log, dice: random.Random) -> str:
    last = dice.randrange(1, 6)
    ((end,),) = log.run("SELECT last_event_id FROM audit_checkpoints WHERE sequence = ?", last)
    log.run("DELETE FROM audit_events WHERE id > ?", str(end))
    log.run("DELETE FROM audit_checkpoints WHERE sequence > ?", last)
    return f"Checkpoints {last + 1} to 6 are in "


def _inserted(log: Log, dice: random.Random) -> str:
    row = event_at(now_ms() - 3 * DAY_MS + dice.randrange(30 * HOUR_MS), 900)
    log.add(row)
    return f"Event {row['id']} was inserted"


def _id_changed(log: Log, dice: random.Random) -> str:
    event_id = dice.choice(log.ids())
    log.run("UPDATE audit_events SET id = ? WHERE id = ?", event_id_at(1), event_id)
    return ""


def _swapped(log: Log, dice: random.Random) -> str:
    """Exchange two events: their ids and times."""
    first, second = sorted(dice.sample(log.ids(), 2))
    for before, after in ((first, "0" * 8 + first[8:]), (second, first)):
        log.run("UPDATE audit_events SET id = ? WHERE id = ?", after, before)
    log.run("UPDATE audit_events SET id = ? WHERE id = ?", second, "0" * 8 + first[8:])
    for event_id in (first, second):
        moment = ids.created_ms(event_id)
        log.run("UPDATE audit_events SET created_at = ? WHERE id = ?", moment, event_id)
    return f"Event {first} was changed"


def _checkpoint(log: Log, dice: random.Random, column: str, value: Any) -> str:
    sequence = dice.randrange(1, 7)
    log.run(f"UPDATE audit_checkpoints SET {column} = ? WHERE sequence = ?", value, sequence)
    return f"Checkpoint {sequence} "


def _root(log: Log, dice: random.Random) -> str:
    return _checkpoint(log, dice, "root", f"{dice.getrandbits(256):064x}")


def _hash(log: Log, dice: random.Random) -> str:
    return _checkpoint(log, dice, "hash", f"{dice.getrandbits(256):064x}")


def _previous(log: Log, dice: random.Random) -> str:
    return _checkpoint(log, dice, "previous", f"{dice.getrandbits(256):064x}")


def _made_at(log: Log, dice: random.Random) -> str:
    return _checkpoint(log, dice, "made_at", dice.randrange(10**12))


def _signature(log: Log, dice: random.Random) -> str:
    value = base64.b64encode(dice.randbytes(dice.choice((0, 10, 64)))).decode()
    return _checkpoint(log, dice, "signature", value)


def _count(log: Log, dice: random.Random) -> str:
    return _checkpoint(log, dice, "event_count", 9)


def _entries(log: Log, dice: random.Random) -> str:
    sequence = dice.randrange(1, 7)
    ((stored,),) = log.run("SELECT entries FROM audit_checkpoints WHERE sequence = ?", sequence)
    parts = [bytes(stored)[start : start + 24] for start in range(0, len(stored), 24)]
    kind = dice.randrange(4)
    if kind == 0:
        parts[0], parts[1] = parts[1], parts[0]
    elif kind == 1:
        parts.pop(dice.randrange(len(parts)))
    elif kind == 2:
        parts[-1] = parts[-1][:-1]
    else:
        parts = []
    log.run(
        "UPDATE audit_checkpoints SET entries = ? WHERE sequence = ?", b"".join(parts), sequence
    )
    return f"Checkpoint {sequence} was changed"


def _checkpoint_removed(log: Log, dice: random.Random) -> str:
    sequence = dice.randrange(1, 6)
    log.run("DELETE FROM audit_checkpoints WHERE sequence = ?", sequence)
    return f"Checkpoint {sequence} is missing"


def _rewritten(log: Log, dice: random.Random) -> str:
    """Change an event, and make everything from its checkpoint on again with another key."""
    event_id = dice.choice(log.ids())
    log.run("UPDATE audit_events SET event_type = 'ticket.deleted' WHERE id = ?", event_id)
    first = made_anew(log, event_id, b"another secret key, long enough for it")
    return f"Checkpoint {first} is signed by a different key"


def made_anew(log: Log, event_id: str, key: bytes) -> int:
    first = 0
    with log.database.app.app_context():

        def rewrite() -> None:
            nonlocal first
            previous = checkpoints.NOTHING_BEFORE
            rows = session.scalars(select(AuditCheckpoint).order_by(AuditCheckpoint.sequence))
            for one in rows.all():
                listed = [entry.event_id for entry in checkpoints.entries_of(one.entries)]
                first = first or (one.sequence if event_id in listed else 0)
                if first:
                    stored = checkpoints.rows_of(listed)
                    leaves = [merkle.leaf(checkpoints.leaf_content(stored[i])) for i in listed]
                    one.entries = checkpoints.packed(zip(listed, leaves, strict=True))
                    one.root, one.previous = merkle.root(leaves).hex(), previous
                    checkpoints.sign(one, key.decode())
                previous = one.hash
            session.flush()

        run_write(rewrite)
    return first


TAMPERING: list[Tampering] = [
    *(_text, _uuid, _time, _payload, _one_letter, _emptied, _removed, _several_removed),
    *(_tail_cut, _tail_cut_with_checkpoints, _inserted, _id_changed, _swapped),
    *(_root, _hash, _previous, _made_at, _signature, _count, _entries, _checkpoint_removed),
    _rewritten,
]
