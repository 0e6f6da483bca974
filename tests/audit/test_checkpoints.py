"""Checkpoints: what they cover, and that nothing of the log changes without their telling it."""

import base64
import json
import random
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import insert, select

from app.audit import checkpoints, merkle
from app.audit.checkpoints import AuditCheckpoint
from app.audit.models import AuditEvent
from app.audit.service import WORKSPACE_ID
from app.config import Settings
from app.core import ids
from app.core.clock import DAY_MS, HOUR_MS, now_ms
from app.database.session import reading, run_write, session
from app.jobs import checkpointing, verifying
from app.jobs.checkpointing import Checkpointer
from app.jobs.verifying import LogVerdict
from tests.support.sizes import IS_LONG
from tests.support.story import events, make_ticket, ok

SCRIPT = Path(__file__).resolve().parents[2] / "docs" / "check_proof.py"
TREE = 10


def event_id_at(moment: int, number: int = 0) -> str:
    """An id of a time, as a process would have made it."""
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
    """A log of three days with checkpoints, which someone with the database's password changes."""

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
            made = checkpointing.make(self.settings, settled_ms=-HOUR_MS, **options)
        assert made is not None
        return made

    def verdict(self, keys: set[str] | None = None, *, with_file: bool = True) -> LogVerdict:
        own = {checkpoints.public_key(self.settings.secret_key)}
        with self.database.app.app_context():
            return verifying.verify(
                own if keys is None else keys, self.file if with_file else None, lambda _: None
            )

    def run(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """Run a statement past the triggers; its parameters are question marks."""
        if self.database.kind == "postgresql":
            cursor = self.database.connection.execute(sql.replace("?", "%s"), values)
            return cursor.fetchall() if cursor.description else []
        path = self.settings.database_path
        with closing(sqlite3.connect(path, isolation_level=None, timeout=10)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            triggers = connection.execute(
                "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"
            ).fetchall()
            for name, _ in triggers:
                connection.execute(f"DROP TRIGGER {name}")
            found = connection.execute(sql, values).fetchall()
            for _, definition in triggers:
                connection.execute(definition)
            connection.execute("COMMIT")
            return found

    def stored(self, table: str) -> list[tuple[Any, ...]]:
        return self.run(f"SELECT * FROM {table} ORDER BY 1")

    def ids(self) -> list[str]:
        """The ids of events that checkpoints have, oldest first."""
        packed = self.run("SELECT entries FROM audit_checkpoints ORDER BY sequence")
        return [entry.event_id for (one,) in packed for entry in checkpoints.entries_of(bytes(one))]


@pytest.fixture
def empty(app, database, monkeypatch) -> Iterator[Log]:
    """No event, and checkpoints of ten."""
    monkeypatch.setattr(checkpoints, "MOST", TREE)
    monkeypatch.setattr(checkpointing, "PAUSE_SECONDS", 0)
    log = Log(database, database.settings)
    log.file.unlink(missing_ok=True)
    yield log
    log.file.unlink(missing_ok=True)


@pytest.fixture
def log(empty: Log) -> Log:
    """Sixty events over three days and their checkpoints."""
    start = now_ms() - 3 * DAY_MS
    empty.add(*(event_at(start + number * HOUR_MS, number) for number in range(60)))
    # The seventh has the events of the checkpoints, but for its own.
    assert empty.make() == 6
    return empty


def newest_sequence(log: Log) -> int:
    return int(log.run("SELECT max(sequence) FROM audit_checkpoints")[0][0])


def test_a_log_without_events_is_good(empty: Log):
    assert empty.make() == 0
    assert empty.verdict() == LogVerdict()


def test_checkpoints_are_chained_and_cover_everything(log: Log):
    found = log.verdict()
    assert (found.wrong, found.checkpoints, found.events) == ([], 6, 60)
    # Those of the checkpoints themselves wait for another event.
    assert found.uncovered == 6
    assert log.make() == 0
    log.add(event_at(now_ms(), 1))
    assert log.make() == 1
    assert log.verdict().events == 67


def test_each_is_told_by_an_event_and_in_the_file(log: Log, app):
    told = [event.payload for event in events(app, event_type="system.audit_checkpoint")]
    assert [one["sequence"] for one in told] == [1, 2, 3, 4, 5, 6]
    lines = [json.loads(line) for line in log.file.read_text().splitlines()]
    assert lines == told
    for before, after in pairwise(told):
        assert after["previous"] == before["hash"]
    assert told[0]["previous"] == "0" * 64


def test_events_that_commit_late_are_taken_in(log: Log):
    late = event_at(now_ms() - 3 * DAY_MS + 59 * HOUR_MS - 60_000, 7)
    log.add(late)
    assert log.make(is_deep=False) == 1
    assert late["id"] in log.ids()
    later = event_at(now_ms() - 10 * HOUR_MS, 8)
    log.add(later)
    assert log.make(is_deep=False) == 0
    # Once an hour the job looks back over a day.
    assert log.make(is_deep=True) == 1
    assert later["id"] in log.ids()
    assert log.verdict().wrong == []


def test_the_job_waits_for_a_minute_or_a_thousand(app, empty: Log, cast, monkeypatch):
    job = Checkpointer(empty.settings)
    with app.app_context():
        run_write(lambda: None)
        monkeypatch.setattr(checkpointing, "SETTLED_MS", -HOUR_MS)
        monkeypatch.setattr(checkpointing, "make", _settled(checkpointing.make))
        made = job.check()
        assert made >= 1
        make_ticket(cast.ada, cast.open_project)
        assert job.check() == 0
        for _ in range(TREE):
            make_ticket(cast.ada, cast.open_project)
        assert job.check() >= 1
        make_ticket(cast.ada, cast.open_project)
        later = now_ms() + checkpointing.WAIT_MS + 1
        monkeypatch.setattr(checkpointing, "database_ms", lambda: later)
        assert job.check() >= 1
        assert job.check() == 0
    assert empty.verdict().wrong == []


def _settled(make: Callable[..., Any]) -> Callable[..., Any]:
    return lambda settings, **options: make(settings, settled_ms=-HOUR_MS, **options)


def test_one_process_at_a_time(app, log: Log):
    log.add(event_at(now_ms(), 1))
    with app.app_context():
        assert run_write(lambda: checkpointing.take_lease(checkpointing.LEASE, "other", now=True))
        assert checkpointing.make(log.settings, settled_ms=-HOUR_MS) is None


# What is done to a log, and what the verdict's first line begins with; None: any.
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
    """Two events change places: their ids and times."""
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
    """An event is changed, and everything from its checkpoint on made anew with another key."""
    event_id = dice.choice(log.ids())
    log.run("UPDATE audit_events SET event_type = 'ticket.deleted' WHERE id = ?", event_id)
    first = _made_anew(log, event_id, b"another secret key, long enough for it")
    return f"Checkpoint {first} is signed by another key"


def _made_anew(log: Log, event_id: str, key: bytes) -> int:
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
COPIES = 1_000 if IS_LONG else 110


def test_every_kind_of_tampering_is_found_and_the_first_bad_event_named(log: Log):
    kept = {table: log.stored(table) for table in ("audit_events", "audit_checkpoints")}
    lines = log.file.read_bytes()
    for number in range(COPIES):
        dice = random.Random(number)
        tampering = TAMPERING[number % len(TAMPERING)]
        begins = tampering(log, dice)
        found = log.verdict()
        name = f"{tampering.__name__} {number}"
        assert found.wrong, name
        assert found.wrong[0].startswith(begins), (name, begins, found.wrong)
        _put_back(log, kept)
        log.file.write_bytes(lines)
    assert log.verdict().is_good


def _put_back(log: Log, kept: dict[str, list[tuple[Any, ...]]]) -> None:
    for table, rows in kept.items():
        log.run(f"DELETE FROM {table}")
        for row in rows:
            values = [json.dumps(one) if isinstance(one, dict) else one for one in row]
            places = ", ".join("?" for _ in values)
            log.run(f"INSERT INTO {table} VALUES ({places})", *values)


def test_who_rewrites_with_the_key_is_told_by_the_file_alone(log: Log):
    event_id = log.ids()[25]
    log.run("UPDATE audit_events SET event_type = 'ticket.deleted' WHERE id = ?", event_id)
    first = _made_anew(log, event_id, log.settings.secret_key.encode())
    assert log.verdict(with_file=False).is_good
    assert log.verdict().wrong[0] == (
        f"Checkpoint {first} is another one in the file of checkpoints."
    )


def test_a_purged_tool_call_changes_nothing(log: Log):
    log.run("UPDATE audit_events SET tool_invocation_log_id = ?", ids.new_id())
    assert log.verdict().is_good


def test_a_torn_last_line_of_the_file_is_passed_over(log: Log):
    with log.file.open("ab") as stream:
        stream.write(b'{"sequence": 7, "ha')
    assert log.verdict().is_good


def test_another_key_is_accepted_where_it_is_named(log: Log):
    other = checkpoints.public_key("another secret key, long enough for it")
    found = log.verdict({other})
    assert found.wrong[0].startswith("Checkpoint 1 is signed by another key")
    assert log.verdict({other, checkpoints.public_key(log.settings.secret_key)}).is_good


def check(proof: dict[str, Any], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(SCRIPT), *arguments],
        input=json.dumps(proof),
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_proof_is_checked_by_the_script(log: Log, cast):
    key = checkpoints.public_key(log.settings.secret_key)
    event_id = log.ids()[33]
    event = ok(cast.ada.get(f"/audit/{event_id}?proof=true"))
    proof = event["proof"]
    told = json.loads(proof["event"])
    assert (told["id"], told["payload"]) == (event_id, event["payload"])
    good = check(proof, key)
    assert good.returncode == 0, good.stderr
    assert event_id in good.stdout
    changed = {**proof, "event": proof["event"].replace("human", "robot")}
    assert check(changed, key).returncode != 0
    assert check({**proof, "path": proof["path"][1:]}, key).returncode != 0
    other = {**proof["checkpoint"], "made_at": "2020-01-01T00:00:00.000Z"}
    assert check({**proof, "checkpoint": other}, key).returncode != 0
    stranger = checkpoints.public_key("another secret key, long enough for it")
    assert check(proof, stranger).returncode != 0


def test_the_script_is_short():
    assert len(SCRIPT.read_text().splitlines()) <= 40


def test_every_event_of_a_tree_can_be_proved(log: Log):
    with log.database.app.app_context(), reading():
        for event_id in log.ids():
            proof = checkpoints.proof_of(event_id)
            assert proof is not None
            node = merkle.leaf(proof["event"].encode())
            for step in proof["path"]:
                other = bytes.fromhex(step["hash"])
                pair = other + node if step["side"] == "left" else node + other
                node = sha256(b"\x01" + pair).digest()
            assert node.hex() == proof["checkpoint"]["root"]


def test_without_a_checkpoint_there_is_no_proof(log: Log, cast):
    row = event_at(now_ms(), 1)
    log.add(row)
    assert ok(cast.ada.get(f"/audit/{row['id']}?proof=true"))["proof"] is None
    assert ok(cast.ada.get(f"/audit/{log.ids()[0]}"))["proof"] is None


def test_commands_verify_prove_and_tell_the_key(log: Log, app):
    run = app.test_cli_runner().invoke
    good = run(args=["audit", "verify"])
    assert good.exit_code == 0, good.output
    assert "60 events in 6 checkpoints, 6 without one yet." in good.output
    assert "The log is as its checkpoints say." in good.output
    key = run(args=["audit", "key"]).output.strip()
    assert key == checkpoints.public_key(log.settings.secret_key)
    event_id = log.ids()[5]
    proof = json.loads(run(args=["audit", "proof", event_id]).output)
    assert check(proof, key).returncode == 0
    for bad in (ids.new_id(), "x"):
        assert run(args=["audit", "proof", bad]).exit_code == 1
    log.run("DELETE FROM audit_events WHERE id = ?", event_id)
    bad = run(args=["audit", "verify"])
    assert bad.exit_code == 1
    assert f"Event {event_id} was removed (checkpoint 1)." in bad.output
