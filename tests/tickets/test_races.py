"""Concurrent use of verbs that only pages and commands have."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest
from sqlalchemy import func, select

from app.bots import pages as bots
from app.core.actor import Actor, ActorKind
from app.core.errors import DomainError
from app.database import compiled_statements
from app.database import session as units
from app.database.session import reading, run_write, session
from app.projects import states
from app.sticky_notes.models import StickyNote
from app.tickets import bulk, saved_views, service, stalled_bots
from app.tickets.models import SavedView
from app.undo.service import undo_event
from tests.support.story import events, make_label, make_ticket, ok
from tests.tickets.test_concurrency import at_once

ROUNDS = 4


@pytest.fixture
def ada(cast):
    """Ada as an actor for verbs."""
    return Actor(kind=ActorKind.HUMAN, user_id=cast.ada.user_id, username="ada")


@pytest.fixture
def write(app):
    """Return a function that runs a verb in its own transaction, and returns or raises."""

    def done(verb: Any, *values: Any, **named: Any) -> Any:
        with app.app_context():
            try:
                return run_write(lambda: verb(*values, **named))
            except DomainError as error:
                return error

    return done


def count(app, model):
    with app.app_context(), reading():
        return session.scalar(select(func.count()).select_from(model))


def test_saves_of_a_view_at_once_make_one(app, ada, write):
    for number in range(ROUNDS):
        save = partial(write, saved_views.save_view, ada, None, name=f"View {number}")
        at_once(8, lambda n, save=save: save(query=f"q={n}"))
    assert count(app, SavedView) == ROUNDS


def test_a_deleted_note_is_put_up_once(app, cast, ada, write):
    note = ok(cast.ada.post(f"/projects/{cast.open_project}/sticky-notes", {"body": "Hello"}), 201)
    ok(cast.ada.delete(f"/sticky-notes/{note['id']}"), 204)
    (deleted,) = events(app, event_type="sticky_note.deleted")
    at_once(8, lambda _: write(undo_event, ada, deleted.id))
    assert count(app, StickyNote) == 1


def test_a_restored_ticket_has_a_state(cast, ada, write):
    for number in range(1, ROUNDS + 1):
        made = cast.ada.post(
            f"/projects/{cast.open_project}/workflow-states",
            {"name": f"State {number}", "category": "active"},
        )
        state = ok(made, 201)["id"]
        ticket = make_ticket(cast.ada, cast.open_project, state_id=state)
        ok(cast.ada.delete(f"/tickets/{ticket['id']}"), 204)
        race = [
            lambda ticket=ticket: write(service.restore_ticket, ada, ticket["id"]),
            lambda state=state: write(states.delete_state, ada, cast.open_project, state),
        ]
        at_once(2, lambda n, race=race: race[n]())
        assert ok(cast.ada.get(f"/tickets/{ticket['id']}"))["state"] is not None, number


def test_who_gets_a_label_while_it_is_merged_gets_the_other(cast, ada, write):
    project = cast.open_project
    into = make_label(cast.ada, project, "into")["id"]
    for number in range(ROUNDS):
        label = make_label(cast.ada, project, f"label {number}")["id"]
        for _ in range(3):
            make_ticket(cast.ada, project, label_ids=[label])
        late = make_ticket(cast.ada, project)["id"]
        race = [
            lambda label=label: write(bulk.merge_label, ada, project, label, into_label_id=into),
            lambda late=late, label=label: (
                cast.smith.patch(f"/tickets/{late}", {"label_ids": [label]}).status_code
            ),
        ]
        _, status = at_once(2, lambda n, race=race: race[n]())
        carried = [one["id"] for one in ok(cast.ada.get(f"/tickets/{late}"))["labels"]]
        assert (status, carried) in ((200, [into]), (422, [])), number


def test_a_bot_that_goes_takes_nothing_from_others(app, cast, ada, write, monkeypatch):
    """A ticket is reassigned between being read and being taken away."""
    for number in range(3):
        make_ticket(cast.ada, cast.open_project, f"{number}", assignee_user_id=cast.smith.user_id)
    read = stalled_bots.held_by

    def slowly(*values: Any) -> Any:
        found = read(*values)
        # SQLite has one writer at a time, so nobody can interfere.
        if not app.config["SETTINGS"].is_sqlite:
            given = {"assignee_user_id": cast.bo.user_id}
            at_once(1, lambda _: ok(cast.ada.patch("/tickets/OPEN-3", given)))
        return found

    monkeypatch.setattr(stalled_bots, "held_by", slowly)
    write(bots.unassign_all, ada, cast.smith.user_id)
    holders = [ok(cast.ada.get(f"/tickets/OPEN-{n}"))["assignee"] for n in (1, 2, 3)]
    assert holders[:2] == [None, None]
    kept = None if app.config["SETTINGS"].is_sqlite else "bo"
    assert (holders[2] and holders[2]["username"]) == kept


def test_a_list_shows_nothing_that_is_deleted_while_it_is_read(app, cast, monkeypatch):
    """PostgreSQL first selects the ids; rows deleted before they are read are omitted."""
    gone, stays = (make_ticket(cast.ada, cast.open_project, title) for title in ("Gone", "Stays"))
    deleted = []

    def run(connection, ready, given):
        rows = compiled_statements.run(connection, ready, given)
        if "FROM tickets" in ready.sql and "LIMIT" in ready.sql and not deleted:
            with ThreadPoolExecutor(1) as pool:
                deleted.append(pool.submit(cast.bo.delete, f"/tickets/{gone['id']}").result())
        return rows

    monkeypatch.setattr(units, "run", run)
    shown = ok(cast.ada.get(f"/projects/{cast.open_project}/tickets"))["data"]
    assert deleted[0].status_code == 204
    assert stays["id"] in [one["id"] for one in shown]
    assert [one["deleted_at"] for one in shown if one["deleted_at"]] == []
