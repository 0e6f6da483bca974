"""Checkpoints: what they cover, and that they reveal every change of the log."""

import json
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from app.audit import checkpoints, merkle
from app.core import ids
from app.core.clock import DAY_MS, HOUR_MS, now_ms
from app.database.session import reading, run_write
from app.jobs import checkpointing, verifying
from app.jobs.checkpointing import EVENT, Checkpointer
from app.jobs.verifying import LogVerdict
from tests.audit.tampering import TAMPERING, Log, event_at, made_anew
from tests.support.sizes import IS_LONG
from tests.support.story import events, make_ticket, ok

SCRIPT = Path(__file__).resolve().parents[2] / "docs" / "check_proof.py"
TREE = 10
TABLES = ("audit_events", "audit_checkpoints")


@pytest.fixture
def empty(app, database, monkeypatch) -> Iterator[Log]:
    """An empty log, whose checkpoints have at most ten events."""
    monkeypatch.setattr(checkpoints, "MAX_EVENTS", TREE)
    monkeypatch.setattr(checkpointing, "PAUSE_SECONDS", 0)
    log = Log(database, database.settings)
    log.file.unlink(missing_ok=True)
    yield log
    log.file.unlink(missing_ok=True)


# By kind of database: the rows of the first log, and its file.
_kept: dict[str, tuple[dict[str, list[tuple[Any, ...]]], bytes]] = {}


@pytest.fixture
def log(empty: Log) -> Log:
    """Sixty events over three days and their checkpoints."""
    if empty.database.kind in _kept:
        tables, lines = _kept[empty.database.kind]
        for table, rows in tables.items():
            empty.put(table, rows)
        empty.file.write_bytes(lines)
        return empty
    start = now_ms() - 3 * DAY_MS
    empty.add(*(event_at(start + number * HOUR_MS, number) for number in range(60)))
    # The events of these six checkpoints alone do not make a seventh.
    assert empty.make() == 6
    tables = {table: empty.stored(table) for table in TABLES}
    _kept[empty.database.kind] = tables, empty.file.read_bytes()
    return empty


def test_a_log_without_events_is_good(empty: Log):
    assert empty.make() == 0
    assert empty.verdict() == LogVerdict()


def test_checkpoints_are_chained_and_cover_everything(log: Log):
    found = log.verdict()
    assert (found.wrong, found.checkpoints, found.events) == ([], 6, 60)
    # The events of the checkpoints themselves wait until another event is added.
    assert found.uncovered == 6
    told = {"event_type": "webhook.delivery_failed", "payload": {"event_type": EVENT}}
    log.add(event_at(now_ms(), 1) | told)
    # Events about deliveries of checkpoint events wait, too.
    assert log.make() == 0
    log.add(event_at(now_ms(), 2))
    assert log.make() == 1
    assert log.verdict().events == 68


def test_ids_are_read_in_parts(log: Log, monkeypatch):
    monkeypatch.setattr(verifying, "IDS_READ", 7)
    found = log.verdict()
    assert (found.wrong, found.events, found.uncovered) == ([], 60, 6)


def test_each_is_told_by_an_event_and_in_the_file(log: Log, app):
    told = [event.payload for event in events(app, event_type="system.audit_checkpoint")]
    assert [one["sequence"] for one in told] == [1, 2, 3, 4, 5, 6]
    lines = [json.loads(line) for line in log.file.read_text().splitlines()]
    assert lines == told
    for before, after in pairwise(told):
        assert after["previous"] == before["hash"]
    assert told[0]["previous"] == "0" * 64


@pytest.fixture
def elsewhere(log: Log, tmp_path: Path) -> Log:
    """The log as another server sees it, which has a file of its own."""
    return Log(log.database, replace(log.settings, instance_dir=tmp_path))


def test_each_server_has_a_file_of_all_checkpoints(log: Log, elsewhere: Log):
    job = Checkpointer(elsewhere.settings)
    with log.database.app.app_context():
        job.check()
        assert elsewhere.file.read_bytes() == log.file.read_bytes()
        log.add(event_at(now_ms(), 1))
        assert log.make() == 1
        # A copy that was torn by a crash.
        with elsewhere.file.open("ab") as stream:
            stream.write(b'{"sequence": 7, "ha')
        job.check()
    lines = elsewhere.file.read_text().splitlines()
    assert lines[:6] + lines[7:] == log.file.read_text().splitlines()
    log.run("DELETE FROM audit_checkpoints WHERE sequence > 6")
    assert elsewhere.verdict().wrong[0].startswith("Checkpoints 7 to 7 are in ")


def test_a_log_that_was_cut_off_and_grew_again_is_told_by_the_file(log: Log):
    log.run("DELETE FROM audit_checkpoints WHERE sequence = 6")
    log.add(event_at(now_ms(), 1))
    assert log.make() == 2
    lines = [json.loads(line)["sequence"] for line in log.file.read_text().splitlines()]
    assert lines == [1, 2, 3, 4, 5, 6, 6, 7]
    assert log.verdict().wrong == [
        "Checkpoint 6 differs from the one in the file of checkpoints.",
    ]


def test_events_that_commit_late_are_taken_in(log: Log):
    late = event_at(now_ms() - 3 * DAY_MS + 59 * HOUR_MS - 60_000, 7)
    log.add(late)
    assert log.make(is_deep=False) == 1
    assert late["id"] in log.ids()
    later = event_at(now_ms() - 10 * HOUR_MS, 8)
    log.add(later)
    assert log.make(is_deep=False) == 0
    # Once an hour the job looks back over a day for late events.
    assert log.make(is_deep=True) == 1
    assert later["id"] in log.ids()
    assert log.verdict().wrong == []


def test_the_job_waits_for_a_minute_or_a_thousand(app, empty: Log, cast, monkeypatch):
    job = Checkpointer(empty.settings)
    with app.app_context():
        run_write(lambda: None)
        monkeypatch.setattr(checkpointing, "COMMIT_WAIT_MS", -HOUR_MS)
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


def test_a_run_takes_in_what_was_there_when_it_began(app, log: Log):
    log.add(*(event_at(now_ms() - HOUR_MS, number) for number in range(60, 61 + TREE)))
    asked = []

    def may_go_on() -> bool:
        time.sleep(0.002)
        log.add(event_at(now_ms(), len(asked)))
        asked.append(now_ms())
        return len(asked) < 10

    with app.app_context():
        assert checkpointing.make(log.settings, commit_wait_ms=-1, may_go_on=may_go_on) == 2
    # Events added meanwhile, and those of these two checkpoints, wait for the next run.
    assert len(asked) == 3


def _settled(make: Callable[..., Any]) -> Callable[..., Any]:
    return lambda settings, **options: make(settings, commit_wait_ms=-HOUR_MS, **options)


def test_one_process_at_a_time(app, log: Log):
    log.add(event_at(now_ms(), 1))
    with app.app_context():
        assert run_write(lambda: checkpointing.take_lease(checkpointing.LEASE, "other", now=True))
        assert checkpointing.make(log.settings, commit_wait_ms=-HOUR_MS) is None


COPIES = 1_000 if IS_LONG else len(TAMPERING)


def test_every_kind_of_tampering_is_found_and_the_first_bad_event_named(log: Log):
    kept = {table: log.stored(table) for table in TABLES}
    lines = log.file.read_bytes()
    for number in range(COPIES):
        dice = random.Random(number)
        tampering = TAMPERING[number % len(TAMPERING)]
        begins = tampering(log, dice)
        found = log.verdict()
        name = f"{tampering.__name__} {number}"
        assert found.wrong, name
        assert found.wrong[0].startswith(begins), (name, begins, found.wrong)
        for table, rows in kept.items():
            log.put(table, rows)
        log.file.write_bytes(lines)
    assert log.verdict().is_good


def test_who_rewrites_with_the_key_is_told_by_the_file_alone(log: Log):
    event_id = log.ids()[25]
    log.run("UPDATE audit_events SET event_type = 'ticket.deleted' WHERE id = ?", event_id)
    first = made_anew(log, event_id, log.settings.secret_key.encode())
    assert log.verdict(with_file=False).is_good
    assert log.verdict().wrong[0] == (
        f"Checkpoint {first} differs from the one in the file of checkpoints."
    )


def test_a_purged_tool_call_and_a_torn_last_line_of_the_file_are_no_tampering(log: Log):
    log.run("UPDATE audit_events SET tool_invocation_log_id = ?", ids.new_id())
    assert log.verdict().is_good
    with log.file.open("ab") as stream:
        stream.write(b'{"sequence": 7, "ha')
    assert log.verdict().is_good


def test_another_key_is_accepted_where_it_is_named(log: Log):
    other = checkpoints.public_key("another secret key, long enough for it")
    found = log.verdict({other})
    assert found.wrong[0].startswith("Checkpoint 1 is signed by a different key")
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
    # The checker reads the whole REST response, or only the proof in it.
    assert check(event, key).returncode == 0
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
    event = ok(cast.ada.get(f"/audit/{row['id']}?proof=true"))
    assert event["proof"] is None
    assert check(event, "").stderr == "No checkpoint has the event yet.\n"
    assert ok(cast.ada.get(f"/audit/{log.ids()[0]}"))["proof"] is None


def test_commands_verify_prove_and_tell_the_key(log: Log, app):
    run = app.test_cli_runner().invoke
    good = run(args=["audit", "verify"])
    assert good.exit_code == 0, good.output
    assert "60 events in 6 checkpoints, 6 without one yet." in good.output
    assert "The log matches its checkpoints." in good.output
    key = run(args=["audit", "key"]).output.strip()
    assert key == checkpoints.public_key(log.settings.secret_key)
    event_id = log.ids()[5]
    proof = json.loads(run(args=["audit", "proof", event_id]).output)
    assert check(proof, key).returncode == 0
    log.add(late := event_at(now_ms(), 1))
    for bad, said in ((ids.new_id(), "no event"), ("x", "no event"), (late["id"], "not in a")):
        refused = run(args=["audit", "proof", bad])
        assert (refused.exit_code, said in refused.output) == (1, True)
    log.run("DELETE FROM audit_events WHERE id = ?", event_id)
    bad = run(args=["audit", "verify"])
    assert bad.exit_code == 1
    assert f"Event {event_id} was removed (checkpoint 1)." in bad.output
