"""Receipts made by one process, which others complete with what they had shown the bot."""

import time

import pytest
from sqlalchemy import select

from app.accounts import read_notes
from app.accounts.answering import answer_receipts
from app.audit.receipt_answers import ReceiptAnswer
from app.core.clock import now_ms
from app.database.session import reading, session
from tests.activity.changes import change, comment
from tests.support.story import events, make_ticket, ok


class OtherProcess:
    """Another process on this database; this process does not know what it notes."""

    def __init__(self, app):
        self.app = app
        self.notes = read_notes.Notes()

    def run(self, work):
        own = self.app.extensions.pop(read_notes.EXTENSION, None)
        self.app.extensions[read_notes.EXTENSION] = self.notes
        try:
            return work()
        finally:
            self.app.extensions.pop(read_notes.EXTENSION)
            if own is not None:
                self.app.extensions[read_notes.EXTENSION] = own

    def get(self, caller, path):
        return self.run(lambda: ok(caller.get(path)))

    def answers(self):
        with self.app.app_context():
            self.run(lambda: (read_notes.store_notes(), answer_receipts()))


@pytest.fixture(name="other")
def _other(app):
    return OtherProcess(app)


def statuses(receipt):
    return receipt["ticket"]["status"], receipt["comments"]["status"]


def test_what_the_other_had_shown_is_read(cast, ticket, receipt, other):
    first = comment(cast.ada)
    second = comment(cast.ada)
    other.get(cast.smith, "/tickets/OPEN-1")
    other.get(cast.smith, "/tickets/OPEN-1/comments?limit=1")
    change(cast.smith, "low")
    assert statuses(receipt()) == ("unknown", "unknown")
    other.answers()
    found = receipt()
    assert statuses(found) == ("read", "partly_read")
    assert found["comments"]["read_count"] == 1
    assert {one["id"] for one in found["comments"]["unread"]} < {first["id"], second["id"]}


def test_what_it_had_not_shown_is_certainly_not_read(cast, ticket, receipt, other):
    make_ticket(cast.ada, cast.open_project, "Another")
    comment(cast.ada)
    other.get(cast.smith, "/tickets/OPEN-2")
    change(cast.smith, "low")
    assert statuses(receipt()) == ("unknown", "unknown")
    other.answers()
    assert statuses(receipt()) == ("not_read", "not_read")


def test_what_it_showed_afterwards_does_not_count(cast, ticket, receipt, other):
    make_ticket(cast.ada, cast.open_project, "Another")
    comment(cast.ada)
    other.get(cast.smith, "/tickets/OPEN-2")
    ok(cast.smith.post("/tickets/OPEN-1/comments", {"body": "Mine"}), 201)
    change(cast.smith, "low")
    other.get(cast.smith, "/tickets/OPEN-1")
    other.get(cast.smith, "/tickets/OPEN-1/comments")
    other.answers()
    assert statuses(receipt()) == ("not_read", "partly_read")
    # A comment does not change the version of the ticket, so only the time decides.
    assert statuses(receipt("comment.created")) == ("not_read", "not_read")


def test_a_slow_look_at_the_clock_leaves_nothing_unsure(cast, ticket, receipt, other, monkeypatch):
    comment(cast.ada)
    other.get(cast.smith, "/tickets/OPEN-1/comments")
    # Longer than a fast clock query takes on a busy machine, and shorter than the slow ones.
    time.sleep(0.25)
    ok(cast.smith.post("/tickets/OPEN-1/comments", {"body": "Mine"}), 201)
    looks, look = iter((0.5, 0.5, 0)), read_notes.shared_us

    def look_after_a_while():
        time.sleep(next(looks))
        return look()

    monkeypatch.setattr(read_notes, "shared_us", look_after_a_while)
    other.answers()
    found = receipt("comment.created")["comments"]
    assert (found["status"], found["count"]) == ("read", 1)


def test_the_house_rules_count_by_time(app, cast, ticket, receipt, other):
    page = {"slug": "agents", "title": "Rules", "body": "Be kind", "project_id": cast.open_project}
    rules = f"/wiki/pages/{ok(cast.ada.post('/wiki/pages', page), 201)['id']}"
    other.get(cast.smith, "/tickets/OPEN-1")
    change(cast.smith, "low")
    other.get(cast.smith, rules)
    change(cast.smith, "high")
    other.answers()
    found = [event.id for event in events(app, event_type="ticket.updated")][-2:]
    shown = [ok(cast.ada.get(f"/audit/{one}"))["receipt"]["house_rules"] for one in found]
    assert [one["status"] for one in shown] == ["not_read", "read"]


def test_more_comments_than_are_named(cast, ticket, receipt, other):
    made = [comment(cast.ada, f"{number}")["id"] for number in range(30)]
    other.get(cast.smith, "/tickets/OPEN-1/comments?limit=5")
    change(cast.smith, "low")
    other.answers()
    found = receipt()["comments"]
    assert (found["status"], found["count"], found["read_count"]) == ("partly_read", 30, 5)
    # The five oldest comments were read; only the newest 20 of the others are named.
    assert [one["id"] for one in found["unread"]] == made[10:]


def test_a_process_that_is_killed_never_answers(app, cast, ticket, receipt, other, monkeypatch):
    other.get(cast.smith, "/tickets/OPEN-1")
    change(cast.smith, "low")
    later = now_ms() + read_notes.DEAD_MS + 1
    monkeypatch.setattr(read_notes, "database_ms", lambda: later)
    with app.app_context():
        read_notes.store_notes()
        with reading():
            assert not session.scalars(select(ReceiptAnswer)).all()
    assert receipt()["ticket"]["status"] == "unknown"


@pytest.mark.parametrize("what", ["clock", "lost", "full"])
def test_a_process_that_cannot_tell_says_so(cast, ticket, receipt, other, monkeypatch, what):
    make_ticket(cast.ada, cast.open_project, "Another")
    if what == "full":
        monkeypatch.setattr(read_notes, "MAX_LOGGED_READS", 0)
    other.get(cast.smith, "/tickets/OPEN-2")
    other.answers()
    change(cast.smith, "low")
    if what == "clock":
        other.notes.clock_ahead += 3_600_000_000
    if what == "lost":
        other.notes.mark_incomplete(cast.smith.user_id)
    other.answers()
    assert receipt()["ticket"]["status"] == "unknown"


def test_pages_show_what_was_answered(app, cast, ticket, other):
    make_ticket(cast.ada, cast.open_project, "Another")
    other.get(cast.smith, "/tickets/OPEN-2")
    change(cast.smith, "low")
    paths = ("/tickets/OPEN-1", "/bots/smith/review")
    html = {"Accept": "text/html"}
    for said in ("May not have read the ticket", "Did not read the ticket"):
        for path in paths:
            assert said in cast.ada.client.get(path, headers=html).get_data(as_text=True)
        other.answers()


def test_one_process_asks_nothing(app, cast, ticket, receipt):
    change(cast.smith, "low")
    with app.app_context(), reading():
        assert not session.scalars(select(ReceiptAnswer)).all()
    assert receipt()["ticket"]["status"] == "not_read"


def test_nobody_is_asked_where_nothing_is_lacking(app, cast, ticket, receipt, other):
    comment(cast.ada)
    make_ticket(cast.ada, cast.open_project, "Another")
    other.get(cast.smith, "/tickets/OPEN-2")
    for path in ("/tickets/OPEN-1", "/tickets/OPEN-1/comments"):
        ok(cast.smith.get(path))
    change(cast.smith, "low")
    with app.app_context(), reading():
        assert not session.scalars(select(ReceiptAnswer)).all()
    assert statuses(receipt()) == ("read", "read")
    comment(cast.ada)
    change(cast.smith, "high")
    assert statuses(receipt()) == ("read", "unknown")


def test_answers_are_only_of_those_asked(app, cast, ticket, other):
    other.get(cast.smith, "/tickets/OPEN-1")
    change(cast.smith, "low")
    with app.app_context():
        read_notes.store_notes()
        answer_receipts()
        with reading():
            (row,) = session.scalars(select(ReceiptAnswer)).all()
        assert (row.process_id, row.answer) == (other.notes.process_id, None)
