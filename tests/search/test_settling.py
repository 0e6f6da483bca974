"""What was just put is found at once, waits beside the index, and settles in it a moment later."""

import logging
import threading
import time

import pytest
from sqlalchemy import bindparam
from sqlalchemy import text as sql

from app.core.columns import Id
from app.core.db import is_postgresql, reading, run_write, session
from app.core.errors import Unavailable
from app.core.ids import new_id
from app.core.locks import Lock, hold
from app.search import index, service, settling, sqlite, waiting
from app.search.documents import Kind
from app.search.settling import Settler
from app.search.sources import source
from tests.support import databases
from tests.support.cast import make_cast
from tests.support.serving import until
from tests.support.story import make_ticket, ok

OTHER_PROCESS = "UPDATE search_fts_waiting SET process = 0"


def waiting_rows():
    """How much waits, as the database says; PostgreSQL tells in pages, and settles them."""
    if is_postgresql():
        clean = sql("SELECT gin_clean_pending_list('ix_search_fts_terms')")
        return run_write(lambda: session.scalar(clean))
    with reading():
        return session.scalar(sql("SELECT count(*) FROM search_fts_waiting"))


def settle_some(*, own):
    while index.settle(own=own):
        pass


@pytest.fixture
def settler(app):
    """A thread that settles, begun when called."""
    begun = []

    def begin():
        begun.append(Settler(app))
        begun[0].start()
        return begun[0]

    yield begin
    for one in begun:
        one.stop()


@pytest.fixture
def settled(monkeypatch):
    """How often the index settled, as far as it went well."""
    times = []
    real = index.settle

    def count(*, own):
        goes_on = real(own=own)
        times.append(own)
        return goes_on

    monkeypatch.setattr(settling.index, "settle", count)
    return times


def test_a_thread_settles_what_is_put(app, cast, settler, settled):
    """What was left before at once, and then its own."""
    make_ticket(cast.ada, cast.open_project, "Gate before")
    one = settler()
    until(lambda: settled == [False])
    make_ticket(cast.ada, cast.open_project, "Gate after")
    until(lambda: settled == [False, True])
    with app.app_context():
        assert waiting_rows() == 0
    one.look()
    until(lambda: settled == [False, True, False])


def test_a_thread_goes_on_after_a_failure(settler, settled, monkeypatch, caplog):
    """And with all that is left, as it did not get to it; it says so once."""
    failures = [RuntimeError("broken"), Unavailable()]
    real = settling.index.settle

    def fail_first(*, own):
        if failures:
            raise failures.pop(0)
        return real(own=own)

    monkeypatch.setattr(settling.index, "settle", fail_first)
    with caplog.at_level(logging.WARNING, logger="app.search.settling"):
        one = settler()
        until(lambda: len(failures) < 2)
        one._called.set()
        until(lambda: not failures)
        assert len(caplog.records) == 1
        one._called.set()
        until(lambda: settled == [False])
        failures.append(RuntimeError("broken again"))
        one._called.set()
        until(lambda: len(caplog.records) == 2)


def test_a_thread_that_stops_is_called_no_more(app, cast, settler):
    one = settler()
    one.stop()
    assert "index-settler" not in [thread.name for thread in threading.enumerate()]
    make_ticket(cast.ada, cast.open_project, "Gate")
    with app.app_context():
        assert waiting_rows() > 0


def test_a_process_waits_for_another_that_settles(app, cast):
    """So that nothing is left when both are done; on SQLite the writer lock sees to it."""
    make_ticket(cast.ada, cast.open_project, "Gate")
    order = []
    held = threading.Event()

    def hold_a_moment():
        hold(Lock.INDEX)
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
        settle_some(own=True)
        order.append("this one")
        assert waiting_rows() == 0
    thread.join()
    assert order == ["the one that came first", "this one"]


def test_what_settled_and_changed_is_found_as_it_is_now(app, cast, settle):
    """By a search, and as the condition that it is of lists."""
    ticket = make_ticket(cast.ada, cast.open_project, "Gate")
    settle()
    ok(cast.ada.patch(f"/tickets/{ticket['id']}", {"title": "Door"}))

    def asked(q):
        with app.app_context(), reading():
            listed = session.scalars(service.ticket_ids(q)).all()
        assert [row["id"] for row in ok(cast.ada.get(f"/search?q={q}"))["data"]] == listed
        return listed

    assert (asked("gate"), asked("door")) == ([], [ticket["id"]])
    settle()
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


def test_a_process_settles_its_own_first_and_in_the_end_all(on_sqlite):
    put(on_sqlite, "Gate of another")
    run_write(lambda: session.execute(sql(OTHER_PROCESS)))
    put(on_sqlite, "Gate of mine")
    settle_some(own=True)
    assert waiting_rows() == 1
    assert found(on_sqlite, "gate") == ["Gate of mine", "Gate of another"]
    settle_some(own=False)
    assert waiting_rows() == 0
    assert found(on_sqlite, "gate") == ["Gate of mine", "Gate of another"]


def test_few_wait_and_the_rest_settles_at_once(on_sqlite, monkeypatch):
    monkeypatch.setattr(waiting, "MOST", 3)
    titles = [put(on_sqlite, f"Gate {number}")["title"] for number in range(5)]
    assert waiting_rows() == 3
    assert found(on_sqlite, "gate") == titles[::-1]
    settle_some(own=True)
    assert found(on_sqlite, "gate") == titles[::-1]


def test_long_texts_do_not_wait_even_where_a_short_one_did(on_sqlite):
    ticket = put(on_sqlite, "Gate", "short")
    changed = on_sqlite.ada.patch(f"/tickets/{ticket['id']}", {"body": "long " * waiting.LONGEST})
    ok(changed)
    assert waiting_rows() == 0
    assert found(on_sqlite, "long") == ["Gate"]
    assert found(on_sqlite, "short") == []


def test_a_change_between_the_look_and_the_write_settles_as_it_is_then(on_sqlite, monkeypatch):
    ticket = put(on_sqlite, "Gate")
    real = sqlite.run_write

    def after_a_change(work, **options):
        monkeypatch.setattr(sqlite, "run_write", real)
        ok(on_sqlite.ada.patch(f"/tickets/{ticket['id']}", {"title": "Door"}))
        return real(work, **options)

    monkeypatch.setattr(sqlite, "run_write", after_a_change)
    settle_some(own=True)
    assert waiting_rows() == 0
    assert found(on_sqlite, "gate") == []
    assert found(on_sqlite, "door") == ["Door"]


def test_what_waits_and_is_no_more_settles_as_nothing(on_sqlite):
    ticket = put(on_sqlite, "Gate")
    dead = "UPDATE tickets SET deleted_at = updated_at WHERE id = :id"
    run_write(lambda: session.execute(sql(dead), {"id": ticket["id"]}))
    nowhere = sql("INSERT INTO search_fts_waiting VALUES (1000000, 1, 0)")
    run_write(lambda: session.execute(nowhere))
    waiting._known.clear()
    assert found(on_sqlite, "gate") == []
    settle_some(own=False)
    assert waiting_rows() == 0
    with reading():
        assert session.scalar(sql("SELECT count(*) FROM search_fts")) == 0


def test_what_is_known_of_those_that_wait_stays_bounded(on_sqlite, monkeypatch):
    """What settled here is forgotten at once, what settled elsewhere by the next search."""
    waiting._known.clear()
    monkeypatch.setattr(waiting, "MOST", 3)
    put(on_sqlite, "Gate")
    settle_some(own=True)
    assert waiting._known == {}
    put(on_sqlite, "Gate")
    run_write(lambda: session.execute(sql("DELETE FROM search_fts_waiting")))
    found(on_sqlite, "gate")
    assert waiting._known == {}
    ticket = put(on_sqlite, "Gate")
    for number in range(20):
        ok(on_sqlite.ada.patch(f"/tickets/{ticket['id']}", {"title": f"Gate {number}"}))
        assert len(waiting._known) <= 2 * 3 + 1


def stored_terms(place):
    """What the index has of the document at this place."""
    if is_postgresql():
        found = session.scalar(sql("SELECT terms FROM search_fts WHERE place = :at"), {"at": place})
        return set(found.split())
    statement = sql("SELECT words, marks FROM search_fts WHERE rowid = :at")
    row = session.execute(statement, {"at": place}).one()
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
        settle_some(own=False)
        with reading():
            new = stored_terms(index.place_of(made["id"]))
            (doc,) = source(Kind.TICKET).docs([made["id"]])
        run_write(lambda: index.put(doc, may_wait=False))
        with reading():
            assert stored_terms(index.place_of(made["id"])) == new
