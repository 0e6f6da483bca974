"""Pending documents are flushed into the index, by a thread, a process or a search."""

import logging
import threading
import time

import pytest
from sqlalchemy import bindparam
from sqlalchemy import text as sql

from app import create_app
from app.core.actor import Actor, ActorKind
from app.core.errors import Unavailable
from app.core.ids import new_id
from app.database.columns import Id
from app.database.locks import Lock, acquire
from app.database.session import is_postgresql, reading, run_write, session
from app.search import flush as flushing
from app.search import index, service
from app.search.documents import DocumentKind
from app.search.flush import Flusher
from app.search.sources import source_of
from app.tickets.creating import create_ticket
from tests.search.index_state import found, pending_rows, stored_terms
from tests.support.forking import elsewhere
from tests.support.serving import until
from tests.support.settings import settings_for
from tests.support.story import make_ticket, ok


@pytest.fixture
def flusher(app, monkeypatch):
    """Returns a function that starts a flushing thread, with a shorter delay than in production."""
    monkeypatch.setattr(flushing.index, "flush_delay_seconds", lambda: 0.05)
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
    """List the successful flushes: True for this process's own documents, False for all."""
    times = []
    real = index.flush

    def count(*, own):
        real(own=own)
        times.append(own)

    monkeypatch.setattr(flushing.index, "flush", count)
    return times


def test_a_thread_flushes_what_is_put(app, cast, flusher, flushed):
    """It flushes leftovers at once, and then its own documents."""
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
    """It then flushes everything pending, since it missed some; it logs the failure once."""
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


def test_a_check_flushes_while_that_makes_searches_faster(flusher, flushed, monkeypatch):
    """It continues with documents put meanwhile."""
    monkeypatch.setattr(flushing, "MERGE_SECONDS", 0)
    one = flusher()
    until(lambda: flushed == [False])
    real, steps = flushing.index.flush, [True, True, False, True]

    def flush(*, own):
        real(own=own)
        if len(steps) == 1:
            one._called.set()
        return not own and steps.pop(0)

    monkeypatch.setattr(flushing.index, "flush", flush)
    one.check()
    until(lambda: flushed == [False] * 4)
    one.check()
    until(lambda: flushed == [*[False] * 5, True])


def test_a_thread_that_stops_is_called_no_more(app, cast, flusher):
    one = flusher()
    one.stop()
    assert "index-flusher" not in [thread.name for thread in threading.enumerate()]
    make_ticket(cast.ada, cast.open_project, "Gate")
    with app.app_context():
        assert pending_rows() > 0


def test_a_process_waits_for_another_that_flushes(app, cast):
    """So nothing is pending when both are done; on SQLite the writer lock ensures that."""
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
    """Both by a search and by the search filter of lists."""
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


def create_elsewhere(url, directory, user_id, project_id):
    """Create a ticket and leave it pending."""
    app = create_app(settings_for(url, directory))
    actor = Actor(ActorKind.HUMAN, user_id=user_id)
    with app.app_context():
        run_write(lambda: create_ticket(actor, project_id, title="Gate of another process"))


def test_what_another_process_left_is_found_at_once(app, cast, tmp_path):
    url = app.config["SETTINGS"].database_url
    elsewhere(create_elsewhere, url, tmp_path, cast.ada.user_id, cast.open_project)
    with app.app_context():
        assert pending_rows() > 0 or is_postgresql()
    assert found(cast, "gate") == ["Gate of another process"]


def test_a_new_document_has_the_terms_that_it_would_have_later(app, cast):
    """Including that of its block, which PostgreSQL adds when it assigns the place."""
    with app.app_context():
        # In a different block than the first one.
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
