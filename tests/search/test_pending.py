"""A document just put is found at once, whether stored in the index or not."""

import threading
from contextlib import contextmanager

import pytest
from sqlalchemy import event
from sqlalchemy import text as sql

from app.core import lanes
from app.core.actor import Actor, ActorKind
from app.core.lanes import Lane, LaneRequired, run
from app.database import writer_lock as locks
from app.database.session import db, is_writing, reading, run_write, session
from app.database.writer_lock import writer_lock
from app.search import index, service, sqlite
from app.tickets.creating import create_ticket
from tests.search.index_state import found, pending_rows
from tests.support import databases
from tests.support.agent import Agent
from tests.support.cast import make_cast
from tests.support.story import make_ticket, ok

OTHER_PROCESS = "UPDATE search_fts_waiting SET process = 0"


@pytest.fixture(scope="module")
def sqlite_database():
    with databases.sqlite_database() as made:
        yield made


@pytest.fixture
def on_sqlite(sqlite_database):
    """ada on SQLite, inside the application context."""
    sqlite_database.empty()
    cast = make_cast(sqlite_database.app)
    with sqlite_database.app.app_context():
        yield cast


def put(cast, title, body=""):
    return make_ticket(cast.ada, cast.open_project, title, body=body)


def test_a_process_flushes_its_own_first_and_in_the_end_all(on_sqlite):
    put(on_sqlite, "Gate of another")
    run_write(lambda: session.execute(sql(OTHER_PROCESS)))
    put(on_sqlite, "Gate of mine")
    index.flush(own=True)
    assert pending_rows() == 1
    index.flush(own=False)
    assert pending_rows() == 0
    assert found(on_sqlite, "gate") == ["Gate of mine", "Gate of another"]


def test_few_are_pending_and_the_rest_is_stored_at_once(on_sqlite, monkeypatch):
    monkeypatch.setattr(sqlite, "MAX_PENDING", 3)
    titles = [put(on_sqlite, f"Gate {number}")["title"] for number in range(5)]
    assert pending_rows() == 3
    assert found(on_sqlite, "gate") == titles[::-1]


def test_long_texts_are_never_pending_even_where_a_short_one_was(on_sqlite):
    ticket = put(on_sqlite, "Gate", "short")
    changed = on_sqlite.ada.patch(
        f"/tickets/{ticket['id']}", {"body": "long " * sqlite.MAX_PENDING_LENGTH}
    )
    ok(changed)
    assert pending_rows() == 0
    assert found(on_sqlite, "long") == ["Gate"]
    assert found(on_sqlite, "short") == []


def test_a_change_between_the_look_and_the_write_is_stored_as_it_is_then(on_sqlite, monkeypatch):
    ticket = put(on_sqlite, "Gate")
    real = sqlite.run_write

    def after_a_change(work, **options):
        monkeypatch.setattr(sqlite, "run_write", real)
        ok(on_sqlite.ada.patch(f"/tickets/{ticket['id']}", {"title": "Door"}))
        return real(work, **options)

    monkeypatch.setattr(sqlite, "run_write", after_a_change)
    index.flush(own=True)
    assert pending_rows() == 0
    assert found(on_sqlite, "gate") == []
    assert found(on_sqlite, "door") == ["Door"]


def test_what_is_pending_and_was_deleted_is_stored_as_nothing(on_sqlite):
    ticket = put(on_sqlite, "Gate")
    dead = "UPDATE tickets SET deleted_at = updated_at WHERE id = :id"
    run_write(lambda: session.execute(sql(dead), {"id": ticket["id"]}))
    nowhere = sql("INSERT INTO search_fts_waiting VALUES (1000000, 1, 0)")
    run_write(lambda: session.execute(nowhere))
    assert found(on_sqlite, "gate") == []
    assert pending_rows() == 0
    with reading():
        assert session.scalar(sql("SELECT count(*) FROM search_fts")) == 0


def test_more_documents_than_one_batch_are_flushed_by_one_search(on_sqlite, monkeypatch):
    monkeypatch.setattr(sqlite, "BATCH", 2)
    titles = [put(on_sqlite, f"Gate {number}")["title"] for number in range(5)]
    assert found(on_sqlite, "gate") == titles[::-1]
    assert pending_rows() == 0


def test_segments_are_merged_until_each_level_has_one(on_sqlite):
    titles = []
    for number in range(3):
        titles.append(put(on_sqlite, f"Gate {number}")["title"])
        index.flush(own=True)
    assert segments() > 1
    while index.flush(own=False):
        pass
    assert segments() == 1
    assert found(on_sqlite, "gate") == titles[::-1]


def segments():
    with reading():
        return session.scalar(sql("SELECT count(DISTINCT segid) FROM search_fts_idx"))


def test_a_search_writes_nothing_where_nothing_is_pending(on_sqlite, monkeypatch):
    put(on_sqlite, "Gate")
    index.flush(own=True)
    monkeypatch.setattr(sqlite, "run_write", None)
    assert found(on_sqlite, "gate") == ["Gate"]
    assert found(on_sqlite, "nowhere") == []


def test_what_a_unit_of_work_puts_it_finds_itself(on_sqlite):
    """Its search stores pending documents in the same transaction."""
    actor = Actor(ActorKind.HUMAN, user_id=on_sqlite.ada.user_id)

    def create_and_search():
        assert is_writing()
        made = create_ticket(actor, on_sqlite.open_project, title="Gate")
        assert session.scalars(service.ticket_ids("gate")).all() == [made.id]

    run_write(create_and_search)
    assert pending_rows() == 0


def test_the_event_loop_gives_a_search_to_a_thread_only_where_something_is_pending(
    on_sqlite, monkeypatch
):
    # Otherwise a search that was slow on a slow machine would go to threads anyway.
    monkeypatch.setattr(lanes, "MAX_LOOP_SECONDS", float("inf"))
    put(on_sqlite, "Gate")
    with pytest.raises(LaneRequired) as raised:
        run(Lane.LOOP, lambda: found(on_sqlite, "gate"))
    assert raised.value.lane is Lane.POOL
    assert run(Lane.POOL, lambda: found(on_sqlite, "gate")) == ["Gate"]
    assert run(Lane.LOOP, lambda: found(on_sqlite, "gate")) == ["Gate"]


@contextmanager
def lock_held_long(monkeypatch):
    """Hold the writer lock for longer than anyone waits."""
    monkeypatch.setattr(locks, "LOCK_SECONDS", 0.05)
    held, done = threading.Event(), threading.Event()
    engine = db.engine

    def hold_on():
        with writer_lock(engine):
            held.set()
            done.wait(20)

    thread = threading.Thread(target=hold_on)
    thread.start()
    held.wait(20)
    try:
        yield
    finally:
        done.set()
        thread.join()


@contextmanager
def read_only(_monkeypatch):
    """Make the database read-only."""

    def refuse(connection, _record):
        connection.execute("PRAGMA query_only=ON")

    engine = db.engine
    event.listen(engine, "connect", refuse)
    engine.dispose()
    try:
        yield
    finally:
        event.remove(engine, "connect", refuse)
        engine.dispose()


def every_search(cast):
    """Yield the responses of a search by REST, page, palette and MCP, and as filters of lists."""
    client = cast.ada.client
    yield cast.ada.get("/search?q=gate")
    yield client.get("/search?q=gate")
    yield client.get("/palette?q=gate", headers={"HX-Request": "true"})
    yield client.get("/projects/OPEN/tickets?q=gate")
    for tool in ("search", "list_tickets"):
        call = {"name": tool, "arguments": {"q": "gate"}}
        yield Agent(cast.smith).send("tools/call", call)


@pytest.mark.parametrize("hindrance", [lock_held_long, read_only])
def test_a_search_that_cannot_store_what_is_pending_is_unavailable(
    on_sqlite, monkeypatch, hindrance
):
    """Like a write; if nothing is pending, the search is answered."""
    put(on_sqlite, "Gate that was left")
    with hindrance(monkeypatch):
        for answer in every_search(on_sqlite):
            assert answer.status_code == 503
    for answer in every_search(on_sqlite):
        assert answer.status_code == 200
        assert "that was left" in answer.text
    assert pending_rows() == 0
    with hindrance(monkeypatch):
        assert found(on_sqlite, "gate") == ["Gate that was left"]


def test_every_search_finds_what_was_just_put(app, cast):
    for number in range(6):
        make_ticket(cast.ada, cast.open_project, f"Gate with hinge{number}")
        for at, answer in enumerate(every_search(cast)):
            if at == number:
                assert f"hinge{number}" in answer.text
