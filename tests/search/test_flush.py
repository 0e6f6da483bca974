"""What was just put is found at once, by whichever process, and stored in the index later."""

import logging
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import pytest
from sqlalchemy import bindparam, event
from sqlalchemy import text as sql

from app import create_app
from app.core.actor import Actor, ActorKind
from app.core.errors import Unavailable
from app.core.ids import new_id
from app.core.lanes import Lane, LaneRequired, run
from app.database import writer_lock as locks
from app.database.columns import Id
from app.database.locks import Lock, acquire
from app.database.session import db, is_postgresql, is_writing, reading, run_write, session
from app.database.writer_lock import writer_lock
from app.search import flush as flushing
from app.search import index, pending, service, sqlite
from app.search.documents import DocumentKind
from app.search.flush import Flusher
from app.search.sources import source_of
from app.tickets.creating import create_ticket
from tests.support import databases
from tests.support.agent import Agent
from tests.support.cast import make_cast
from tests.support.serving import ROOT, until
from tests.support.story import make_ticket, ok

OTHER_PROCESS = "UPDATE search_fts_waiting SET process = 0"


def pending_rows():
    """How much is pending, as the database says; PostgreSQL tells in pages, and flushes them."""
    if is_postgresql():
        clean = sql("SELECT gin_clean_pending_list('ix_search_fts_terms')")
        return run_write(lambda: session.scalar(clean))
    with reading():
        return session.scalar(sql("SELECT count(*) FROM search_fts_waiting"))


@pytest.fixture
def flusher(app):
    """A thread that flushes, begun when called."""
    begun = []

    def begin():
        begun.append(Flusher(app))
        begun[0].start()
        return begun[0]

    yield begin
    for one in begun:
        one.stop()


@pytest.fixture
def flushed(monkeypatch):
    """Which flushes went well: of this process alone, or of all."""
    times = []
    real = index.flush

    def count(*, own):
        real(own=own)
        times.append(own)

    monkeypatch.setattr(flushing.index, "flush", count)
    return times


def test_a_thread_flushes_what_is_put(app, cast, flusher, flushed):
    """What was left before at once, and then its own."""
    make_ticket(cast.ada, cast.open_project, "Gate before")
    one = flusher()
    until(lambda: flushed == [False])
    make_ticket(cast.ada, cast.open_project, "Gate after")
    until(lambda: flushed == [False, True])
    with app.app_context():
        assert pending_rows() == 0
    one.check()
    until(lambda: flushed == [False, True, False])


def test_a_thread_goes_on_after_a_failure(flusher, flushed, monkeypatch, caplog):
    """And with all that is left, as it did not get to it; it says so once."""
    failures = [RuntimeError("broken"), Unavailable()]
    real = flushing.index.flush

    def fail_first(*, own):
        if failures:
            raise failures.pop(0)
        real(own=own)

    monkeypatch.setattr(flushing.index, "flush", fail_first)
    with caplog.at_level(logging.WARNING, logger="app.search.flush"):
        one = flusher()
        until(lambda: len(failures) < 2)
        one._called.set()
        until(lambda: not failures)
        assert len(caplog.records) == 1
        one._called.set()
        until(lambda: flushed == [False])
        failures.append(RuntimeError("broken again"))
        one._called.set()
        until(lambda: len(caplog.records) == 2)


def test_a_thread_that_stops_is_called_no_more(app, cast, flusher):
    one = flusher()
    one.stop()
    assert "index-flusher" not in [thread.name for thread in threading.enumerate()]
    make_ticket(cast.ada, cast.open_project, "Gate")
    with app.app_context():
        assert pending_rows() > 0


def test_a_process_waits_for_another_that_flushes(app, cast):
    """So that nothing is left when both are done; on SQLite the writer lock sees to it."""
    make_ticket(cast.ada, cast.open_project, "Gate")
    order = []
    held = threading.Event()

    def hold_a_moment():
        acquire(Lock.INDEX)
        held.set()
        time.sleep(0.3)
        order.append("the one that came first")

    def other():
        with app.app_context():
            run_write(hold_a_moment)

    thread = threading.Thread(target=other)
    thread.start()
    held.wait(20)
    with app.app_context():
        index.flush(own=True)
        order.append("this one")
        assert pending_rows() == 0
    thread.join()
    assert order == ["the one that came first", "this one"]


def test_what_was_flushed_and_changed_is_found_as_it_is_now(app, cast, flush):
    """By a search, and as the condition that it is of lists."""
    ticket = make_ticket(cast.ada, cast.open_project, "Gate")
    flush()
    ok(cast.ada.patch(f"/tickets/{ticket['id']}", {"title": "Door"}))

    def asked(q):
        with app.app_context(), reading():
            listed = session.scalars(service.ticket_ids(q)).all()
        assert [row["id"] for row in ok(cast.ada.get(f"/search?q={q}"))["data"]] == listed
        return listed

    assert (asked("gate"), asked("door")) == ([], [ticket["id"]])
    flush()
    assert (asked("gate"), asked("door")) == ([], [ticket["id"]])


@pytest.fixture(scope="module")
def sqlite_database():
    with databases.sqlite_database() as made:
        yield made


@pytest.fixture
def on_sqlite(sqlite_database):
    """ada on SQLite, inside the application's context."""
    sqlite_database.empty()
    cast = make_cast(sqlite_database.app)
    with sqlite_database.app.app_context():
        yield cast


def put(cast, title, body=""):
    return make_ticket(cast.ada, cast.open_project, title, body=body)


def found(cast, q):
    rows = ok(cast.ada.get("/search", query_string={"q": q}))["data"]
    return [row["title"] for row in rows]


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
    monkeypatch.setattr(pending, "MOST", 3)
    titles = [put(on_sqlite, f"Gate {number}")["title"] for number in range(5)]
    assert pending_rows() == 3
    assert found(on_sqlite, "gate") == titles[::-1]


def test_long_texts_are_never_pending_even_where_a_short_one_was(on_sqlite):
    ticket = put(on_sqlite, "Gate", "short")
    changed = on_sqlite.ada.patch(f"/tickets/{ticket['id']}", {"body": "long " * pending.LONGEST})
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


def test_a_search_writes_nothing_where_nothing_is_pending(on_sqlite, monkeypatch):
    put(on_sqlite, "Gate")
    index.flush(own=True)
    monkeypatch.setattr(sqlite, "run_write", None)
    assert found(on_sqlite, "gate") == ["Gate"]
    assert found(on_sqlite, "nowhere") == []


def test_what_a_unit_of_work_puts_it_finds_itself(on_sqlite):
    """Its search stores what is pending in the same transaction."""
    actor = Actor(ActorKind.HUMAN, user_id=on_sqlite.ada.user_id)

    def create_and_search():
        assert is_writing()
        made = create_ticket(actor, on_sqlite.open_project, title="Gate")
        assert session.scalars(service.ticket_ids("gate")).all() == [made.id]

    run_write(create_and_search)
    assert pending_rows() == 0


def test_the_event_loop_gives_a_search_to_a_thread_only_where_something_is_pending(on_sqlite):
    put(on_sqlite, "Gate")
    with pytest.raises(LaneRequired) as raised:
        run(Lane.LOOP, lambda: found(on_sqlite, "gate"))
    assert raised.value.lane is Lane.POOL
    assert run(Lane.POOL, lambda: found(on_sqlite, "gate")) == ["Gate"]
    assert run(Lane.LOOP, lambda: found(on_sqlite, "gate")) == ["Gate"]


@contextmanager
def lock_held_long(monkeypatch):
    """Another holds the writer lock for longer than anybody waits."""
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
    """The database takes no writes."""

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
    """A search by REST, on a page, in the palette, by MCP, and as filters of lists; the answers."""
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
    """As a write would be; where nothing is pending it is answered."""
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


def create_elsewhere(url, directory, user_id, project_id):
    """In a process of its own: create a ticket and leave it pending."""
    app = create_app(databases.settings_for(url, directory))
    actor = Actor(ActorKind.HUMAN, user_id=user_id)
    with app.app_context():
        run_write(lambda: create_ticket(actor, project_id, title="Gate of another process"))


def test_what_another_process_left_is_found_at_once(app, cast, tmp_path):
    code = (
        "import sys, pathlib; from tests.search.test_flush import create_elsewhere; "
        "create_elsewhere(sys.argv[1], pathlib.Path(sys.argv[2]), *sys.argv[3:])"
    )
    url = app.config["SETTINGS"].database_url
    command = [sys.executable, "-c", code, url, tmp_path, cast.ada.user_id, cast.open_project]
    subprocess.run(command, cwd=ROOT, check=True, timeout=60)
    with app.app_context():
        assert pending_rows() > 0 or is_postgresql()
    assert found(cast, "gate") == ["Gate of another process"]


def stored_terms(document_id):
    """What the index has of the document."""
    if is_postgresql():
        found = session.scalar(
            sql("SELECT terms FROM search_fts WHERE place = :at"), {"at": document_id}
        )
        return set(found.split())
    statement = sql("SELECT words, marks FROM search_fts WHERE rowid = :at")
    row = session.execute(statement, {"at": document_id}).one()
    return row.words, frozenset(row.marks.split())


def test_a_new_document_has_the_terms_that_it_would_have_later(app, cast):
    """Those of its number too, which comes when the others are made."""
    with app.app_context():
        # In another block than the first.
        far = sql("INSERT INTO search_docs (place, id, kind) VALUES (50000, :id, 'ticket')")
        run_write(lambda: session.execute(far.bindparams(bindparam("id", new_id(), type_=Id))))
        if is_postgresql():
            go_on = sql("SELECT setval(pg_get_serial_sequence('search_docs', 'place'), 50000)")
            run_write(lambda: session.execute(go_on))
    body = "It creaks. " * 300 + "Émile, 日本語"
    made = make_ticket(cast.ada, cast.open_project, "The gate's left hinge", body=body)
    with app.app_context():
        index.flush(own=False)
        with reading():
            new = stored_terms(index.document_id_of(made["id"]))
            (doc,) = source_of(DocumentKind.TICKET).docs([made["id"]])
        run_write(lambda: index.put(doc, may_wait=False))
        with reading():
            assert stored_terms(index.document_id_of(made["id"])) == new
