"""Reads that a process notes in memory: stored in batches, and unknown after a kill."""

import threading

import pytest
from sqlalchemy import delete, select

from app.accounts import bot_reads, read_notes
from app.accounts.models import BotRead, BotReader
from app.activity import receipts
from app.core.clock import now_ms
from app.database.session import reading, run_write, session
from tests.activity.changes import change, comment
from tests.support.story import make_ticket, ok


@pytest.fixture(name="other")
def _other(app, cast):
    """Another process on this database; this process does not know what it notes."""

    def run(work):
        own = app.extensions.pop(read_notes.EXTENSION, None)
        try:
            if "other" in kept:
                app.extensions[read_notes.EXTENSION] = kept["other"]
            found = work()
            kept["other"] = app.extensions.pop(read_notes.EXTENSION, None)
            return found
        finally:
            app.extensions.pop(read_notes.EXTENSION, None)
            if own is not None:
                app.extensions[read_notes.EXTENSION] = own

    kept = {}
    return run


def test_notes_are_stored_in_batches(app, cast, ticket, receipt):
    ok(cast.smith.get("/tickets/OPEN-1"))
    with app.app_context():
        assert read_notes.notes().pending
        with reading():
            assert session.scalars(select(BotRead)).all() == []
        read_notes.store_notes()
        assert not read_notes.notes().pending
        with reading():
            (row,) = session.scalars(select(BotRead)).all()
        assert row.subject == f"ticket:{ticket['id']}"
        # A stored read is not stored again.
        ok(cast.smith.get("/tickets/OPEN-1"))
        assert not read_notes.notes().pending
    # The read is in the table, so every process knows it.
    app.extensions.pop(read_notes.EXTENSION)
    change(cast.smith, "low")
    assert receipt()["ticket"]["status"] == "read"


def test_what_another_process_may_know_is_unknown(app, cast, ticket, receipt, other):
    other(lambda: ok(cast.smith.get("/tickets/OPEN-1")))
    change(cast.smith, "low")
    assert receipt()["ticket"]["status"] == "unknown"
    # A read through this process is known all the same.
    ok(cast.smith.get("/tickets/OPEN-1"))
    change(cast.smith, "high")
    assert receipt()["ticket"]["status"] == "read"


def test_what_another_process_stored_is_read(app, cast, ticket, receipt, other):
    other(lambda: ok(cast.smith.get("/tickets/OPEN-1")))
    with app.app_context():
        other(read_notes.store_notes)
    change(cast.smith, "low")
    assert receipt()["ticket"]["status"] == "read"


def test_a_process_that_ends_well_leaves_nothing_unknown(app, cast, ticket, receipt, other):
    other(lambda: ok(cast.smith.get("/tickets/OPEN-1")))
    with app.app_context():
        other(read_notes.release)
    comment(cast.ada, "later")
    change(cast.smith, "low")
    found = receipt()
    assert (found["ticket"]["status"], found["comments"]["status"]) == ("read", "not_read")


def test_what_a_killed_process_noted_stays_unknown(app, cast, ticket, receipt, other, monkeypatch):
    comment(cast.ada, "before")
    other(lambda: ok(cast.smith.get("/tickets/OPEN-1")))
    late = now_ms() + read_notes.DEAD_MS + 1
    with app.app_context():
        monkeypatch.setattr(read_notes, "database_ms", lambda: late)
        read_notes.store_notes()
        with reading():
            assert session.scalars(select(BotReader)).all() == []
    change(cast.smith, "low")
    found = receipt()
    assert (found["ticket"]["status"], found["comments"]["status"]) == ("unknown", "unknown")
    # Everything about newer tickets is known.
    make_ticket(cast.ada, cast.open_project)
    comment(cast.ada, "after", "OPEN-2")
    change(cast.smith, "low", "OPEN-2")
    found = receipt()
    assert (found["ticket"]["status"], found["comments"]["status"]) == ("not_read", "not_read")


def test_an_alive_process_that_was_taken_for_dead_says_so(app, cast, ticket, receipt, monkeypatch):
    ok(cast.smith.get("/tickets"))
    with app.app_context():
        read_notes.store_notes()
        run_write(lambda: session.execute(delete(BotReader)))
        read_notes.notes().heartbeat_due = 0.0
        read_notes.store_notes()
        with reading():
            (row,) = session.scalars(select(BotReader)).all()
            gap = session.get_one(BotRead, (cast.smith.user_id, bot_reads.GAP))
    assert (row.user_id, row.process_id) == (
        cast.smith.user_id,
        app.extensions[read_notes.EXTENSION].process_id,
    )
    assert now_ms() - gap.version < 60_000


def test_an_idle_bot_is_let_go(app, cast, ticket, receipt, monkeypatch):
    ok(cast.smith.get("/tickets"))
    monkeypatch.setattr(read_notes, "IDLE_SECONDS", -1.0)
    late = now_ms() + 60_000
    monkeypatch.setattr(read_notes, "database_ms", lambda: late)
    with app.app_context():
        read_notes.store_notes()
        with reading():
            assert session.scalars(select(BotReader)).all() == []
        assert not read_notes.notes().bots
    monkeypatch.undo()
    make_ticket(cast.ada, cast.open_project)
    ok(cast.smith.get("/tickets"))
    with app.app_context(), reading():
        assert len(session.scalars(select(BotReader)).all()) == 1


def test_notes_that_cannot_be_stored_wait_and_then_are_given_up(
    app, cast, ticket, receipt, monkeypatch
):
    ok(cast.smith.get("/tickets/OPEN-1"))

    def fail(*_, **__):
        raise RuntimeError("no disk")

    with app.app_context():
        with monkeypatch.context() as broken:
            broken.setattr(bot_reads, "store", fail)
            with pytest.raises(RuntimeError):
                read_notes.store_notes()
        kept = read_notes.notes()
        assert kept.pending
        assert not kept.storing
        monkeypatch.setattr(read_notes, "MAX_PENDING_READS", 0)
    make_ticket(cast.ada, cast.open_project)
    ok(cast.smith.get("/tickets/OPEN-2"))
    assert not kept.pending
    change(cast.smith, "low")
    assert receipt()["ticket"]["status"] == "unknown"
    with app.app_context():
        read_notes.store_notes()
        with reading():
            assert session.get(BotRead, (cast.smith.user_id, bot_reads.GAP)) is not None


def test_what_is_lost_is_unknown_while_that_is_being_stored(app, cast, ticket, receipt):
    bot = cast.smith.user_id
    with app.app_context():
        kept = read_notes.notes()
        kept.mark_incomplete(bot)
        reads, lost = kept.take()
    assert (reads, lost) == ({}, {bot})
    assert kept.log_of({bot}) == {bot: None}
    change(cast.smith, "low")
    assert receipt()["ticket"]["status"] == "unknown"
    kept.put_back(lost)
    assert kept.is_incomplete(bot)


def test_an_answer_does_not_wait_for_what_cannot_be_stored(cast, ticket, receipt, monkeypatch):
    tried = []

    def fail(*_):
        tried.append(1)
        raise RuntimeError("no disk")

    with monkeypatch.context() as broken:
        broken.setattr(read_notes, "_register", fail)
        for _ in range(3):
            ok(cast.smith.get("/tickets/OPEN-1"))
    assert tried == [1]
    change(cast.smith, "low")
    assert receipt()["ticket"]["status"] == "unknown"


def refuse(*_, **__):
    raise OSError


def test_a_read_whose_log_is_not_written_is_unknown(app, cast, smith, ticket, receipt, monkeypatch):
    with monkeypatch.context() as broken:
        broken.setattr(bot_reads, "mark_of", None)
        broken.setattr(bot_reads, "store", refuse)
        smith.lean("get_ticket", ticket="OPEN-1")
    smith.lean("update_ticket", ticket="OPEN-1", priority="low")
    assert receipt()["ticket"]["status"] == "unknown"


def test_the_marks_of_many_comments_are_trimmed(app, cast, ticket, monkeypatch):
    monkeypatch.setattr(bot_reads, "MAX_MARKS", 3)
    made = [comment(cast.ada, str(number))["id"] for number in range(9)]
    with app.app_context():
        for limit in (8, 9):
            ok(cast.smith.get(f"/tickets/OPEN-1/comments?limit={limit}"))
            read_notes.store_notes()
        with reading():
            row = session.get_one(BotRead, (cast.smith.user_id, f"comments:{ticket['id']}"))
    assert row.seen == "".join(bot_reads.mark_of(one) for one in made[-3:])


def test_only_the_newest_comments_are_looked_at(app, cast, smith, ticket, receipt, monkeypatch):
    for number in range(receipts.MAX_NAMED_COMMENTS + 3):
        comment(cast.ada, str(number))
    smith.lean("update_ticket", ticket="OPEN-1", priority="low")
    found = receipt()["comments"]
    assert (found["count"], found["read_count"]) == (receipts.MAX_NAMED_COMMENTS + 3, 0)
    assert len(found["unread"]) == receipts.MAX_NAMED_COMMENTS
    times = [one["created_at"] for one in found["unread"]]
    assert times == sorted(times)


def test_reads_at_once_are_all_kept(app, cast, ticket, receipt):
    """Several threads note reads while one stores them: nothing is lost in between."""
    numbers = [make_ticket(cast.ada, cast.open_project)["id"] for _ in range(20)]
    seen = [bot_reads.ticket_seen(one, 5) for one in numbers]

    def noting(part):
        with app.app_context():
            for one in part:
                read_notes.note(cast.smith.user_id, one)

    threads = [threading.Thread(target=noting, args=(seen[at::4],)) for at in range(4)]
    for thread in threads:
        thread.start()
    with app.app_context():
        while any(thread.is_alive() for thread in threads):
            read_notes.store_notes()
        read_notes.store_notes()
        with reading():
            stored = session.scalars(select(BotRead.subject)).all()
    assert sorted(stored) == sorted(f"ticket:{one}" for one in numbers)
