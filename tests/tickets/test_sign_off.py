"""Where people sign off, no bot gets a ticket into a done state, whichever way it tries.

Each way is tried twice: in a project that does not ask for it, it must succeed, or it would prove
nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import select

from app.accounts.identity import bot_as_actor
from app.core.actor import Actor, ActorKind
from app.core.errors import DomainError
from app.database.session import reading, run_write, session
from app.importing import running
from app.projects.models import WorkflowState
from app.sticky_notes import conversion
from app.tickets import board_moves, bulk, claiming, creating, quick, service, templates
from app.tickets.board_moves import BoardCell
from app.tickets.models import Ticket
from app.undo import service as undo
from tests.support.agent import Agent
from tests.support.cast import Cast
from tests.support.story import event_types, events, invalid, make_ticket, ok, refused, state_ids

Error = dict[str, Any] | None


@dataclass
class World:
    """A project with two done states; OPEN-1 is open, OPEN-2 is done, OPEN-3 is an open epic."""

    app: Flask
    cast: Cast
    states: list[str]
    others: list[str]

    @property
    def agent(self) -> Agent:
        return Agent(self.cast.smith)

    @property
    def project(self) -> str:
        return self.cast.open_project

    @property
    def done(self) -> str:
        return self.states[4]

    @property
    def released(self) -> str:
        return self.states[5]

    def rest(self, method: str, path: str, body: Any = None, **options: Any) -> Error:
        """Call REST as the bot; the error, if it is refused."""
        response = self.cast.smith.call(method, path, json=body or {}, **options)
        return None if response.status_code < 300 else response.get_json()["error"]

    def move(self, state: str, ticket: str = "OPEN-1", **body: Any) -> Error:
        return self.rest("POST", f"/tickets/{ticket}/transition", {"state_id": state, **body})

    def create(self, **body: Any) -> Error:
        return self.rest("POST", f"/projects/{self.project}/tickets", {"title": "New", **body})

    def tool(self, name: str, **arguments: Any) -> Error:
        """Call a tool; the error, if it is refused."""
        found = self.agent.result("tools/call", {"name": name, "arguments": arguments})
        return found["structuredContent"]["error"] if found["isError"] else None

    def verb(self, work: Callable[[Actor], Any]) -> Error:
        """Run work as the bot; the error, if a verb raises one."""

        def as_bot() -> Any:
            return work(bot_as_actor(self.cast.smith.user_id or "")[0])

        with self.app.app_context():
            try:
                run_write(as_bot)
            except DomainError as error:
                return {"code": error.code, "details": error.details, "message": error.message}
        return None

    def ticket_id(self, display_id: str) -> str:
        return str(ok(self.cast.ada.get(f"/tickets/{display_id}"))["id"])

    def start_in_done(self) -> None:
        """Make a done state the one in which new tickets start."""
        order = [self.done, *(state for state in self.states if state != self.done)]
        path = f"/projects/{self.project}/workflow-states/reorder"
        ok(self.cast.ada.post(path, {"state_ids": order}))

    def note(self, project_id: str | None = None) -> str:
        body = {"body": "A note"}
        path = f"/projects/{project_id or self.project}/sticky-notes"
        return str(ok(self.cast.ada.post(path, body), 201)["id"])

    def newest_event(self, event_type: str) -> str:
        return str(events(self.app, event_type=event_type)[-1].id)

    def in_done(self) -> set[str]:
        """The live tickets in done states."""
        statement = (
            select(Ticket.display_id)
            .join(WorkflowState, WorkflowState.id == Ticket.state_id)
            .where(WorkflowState.category == "done", Ticket.deleted_at.is_(None))
        )
        with self.app.app_context(), reading():
            return set(session.scalars(statement))


@pytest.fixture
def world(app, cast: Cast) -> World:
    path = f"/projects/{cast.open_project}/workflow-states"
    ok(cast.ada.post(path, {"name": "Released", "category": "done"}), 201)
    states = state_ids(cast.ada, cast.open_project)
    make_ticket(cast.ada, cast.open_project)
    make_ticket(cast.ada, cast.open_project, state_id=states[4])
    make_ticket(cast.ada, cast.open_project, type="epic")
    return World(app, cast, states, state_ids(cast.ada, cast.fenced_project))


def sign_off(world: World, **fields: Any) -> Any:
    """Let people sign off in the project; its review state is "In review"."""
    body = {"sign_off": True, "review_state_id": world.states[3], **fields}
    return ok(world.cast.ada.patch(f"/projects/{world.project}", body))


def _undo_of_leaving(world: World) -> Error:
    assert world.move(world.states[1], "OPEN-2") is None
    event_id = world.newest_event("ticket.state_changed")
    return world.tool("update_ticket", ticket="OPEN-2", undo=event_id)


def _undo_by_verb(world: World) -> Error:
    assert world.move(world.states[1], "OPEN-2") is None
    event_id, ticket_id = world.newest_event("ticket.state_changed"), world.ticket_id("OPEN-2")
    return world.verb(
        lambda bot: undo.undo_own_event(bot, event_id, subject="ticket", subject_id=ticket_id)
    )


def _convert_by_verb(world: World) -> Error:
    note_id = world.note()
    return world.verb(lambda bot: conversion.convert_note(bot, note_id))


def _undo_of_another(world: World) -> Error:
    event_id = world.newest_event("ticket.created")
    return world.verb(lambda bot: undo.undo_event(bot, event_id))


def _delete_as_bot(world: World, ticket: str = "OPEN-2") -> None:
    assert world.tool("delete_ticket", ticket=ticket) is None


def _restore(world: World) -> Error:
    _delete_as_bot(world)
    return world.tool("delete_ticket", ticket="OPEN-2", restore=True)


def _restore_by_verb(world: World) -> Error:
    _delete_as_bot(world)
    return world.verb(lambda bot: service.restore_ticket(bot, "OPEN-2"))


def _restore_by_undo(world: World) -> Error:
    _delete_as_bot(world)
    event_id = world.newest_event("ticket.deleted")
    return world.tool("update_ticket", ticket="OPEN-2", undo=event_id)


def _restore_where_its_state_became_done(world: World) -> Error:
    assert world.move(world.states[1], "OPEN-3") is None
    _delete_as_bot(world, "OPEN-1")
    path = f"/projects/{world.project}/workflow-states/{world.states[0]}"
    ok(world.cast.ada.patch(path, {"category": "done"}))
    return world.tool("delete_ticket", ticket="OPEN-1", restore=True)


def _restore_where_its_state_is_gone(world: World) -> Error:
    assert world.move(world.states[1]) is None
    _delete_as_bot(world, "OPEN-1")
    path = f"/projects/{world.project}/workflow-states/{world.states[1]}"
    ok(world.cast.ada.delete(path), 204)
    kept = [one for one in world.states if one not in (world.states[1], world.done)]
    reorder = f"/projects/{world.project}/workflow-states/reorder"
    ok(world.cast.ada.post(reorder, {"state_ids": [world.done, *kept]}))
    return world.tool("delete_ticket", ticket="OPEN-1", restore=True)


def _starting_in_done(attempt: Callable[[World], Error]) -> Callable[[World], Error]:
    def tried(world: World) -> Error:
        world.start_in_done()
        return attempt(world)

    return tried


def _template(world: World) -> Error:
    with world.app.app_context():
        ada = _as_person(world)
        run_write(
            lambda: templates.create_template(
                ada, world.project, name="Bug", title="Bug", body="", label_ids=[]
            )
        )
    return world.tool(
        "create_ticket", project="OPEN", template="Bug", title="From it", state="Done"
    )


def _as_person(world: World) -> Actor:
    return Actor(ActorKind.HUMAN, world.cast.ada.user_id, "ada", "Ada")


def _bulk(world: World, place: str) -> Error:
    outcomes: list[Any] = []
    ids = [world.ticket_id("OPEN-1")]
    failed = world.verb(
        lambda bot: outcomes.extend(bulk.change(bot, ids, bulk.Changes(place=place)))
    )
    assert failed is None
    (outcome,) = outcomes
    if outcome.is_changed:
        return None
    return {"code": "auth.forbidden", "message": outcome.why, "details": None}


def _board(to: Callable[[World], str], **more: Any) -> Callable[[World], Error]:
    return lambda world: world.verb(
        lambda bot: board_moves.move_card(
            bot,
            "OPEN-1",
            to=BoardCell(to(world), more.get("lane", "")),
            seen=None,
            **_without(more),
        )
    )


def _without(more: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in more.items() if name != "lane"}


def _claim_and_move(world: World) -> Error:
    def work(bot: Actor) -> None:
        ticket = claiming.claim_next(bot, assignee_user_id=bot.id)
        service.transition_ticket(bot, ticket, state_id=world.done)

    return world.verb(work)


def _quick(world: World) -> Error:
    def work(bot: Actor) -> None:
        draft = quick.read(bot, world.project, "Fix it !high", users=[], labels=[])
        creating.create_ticket(
            bot, world.project, title=draft.title, state_id=world.done, **draft.fields
        )

    return world.verb(work)


def _import(world: World) -> Error:
    """What an import calls for each row; people alone can start one."""
    assert running.creating is creating
    return world.verb(
        lambda bot: creating.create_ticket(
            bot, world.project, title="Row", state_id=world.done, written_at=(1, 1)
        )
    )


def _breakdown(world: World, **child: Any) -> Error:
    children = [{"title": "Child", **child}]
    return world.verb(
        lambda bot: creating.create_breakdown(
            bot, world.project, title="Parent", type="epic", children=children
        )
    )


def _child(**fields: Any) -> dict[str, Any]:
    return {"title": "Child", **fields}


WAYS: dict[str, Callable[[World], Error]] = {
    "REST moves": lambda w: w.move(w.done),
    "REST moves to the other done state": lambda w: w.move(w.released),
    "REST moves by UUID": lambda w: w.move(w.done, w.ticket_id("OPEN-1")),
    "REST moves with a comment": lambda w: w.move(w.done, comment="Finished."),
    "REST moves an epic": lambda w: w.move(w.done, "OPEN-3"),
    "REST moves from done to done": lambda w: w.move(w.released, "OPEN-2"),
    "REST moves with an upper-case id": lambda w: w.move(w.done.upper()),
    "REST creates": lambda w: w.create(state_id=w.done),
    "REST creates in the other done state": lambda w: w.create(state_id=w.released),
    "REST creates an epic": lambda w: w.create(state_id=w.done, type="epic"),
    "REST creates a child": lambda w: w.create(
        state_id=w.done, parent_ticket_id=w.ticket_id("OPEN-3")
    ),
    "REST creates a subtask": lambda w: w.create(
        state_id=w.done, type="subtask", parent_ticket_id=w.ticket_id("OPEN-1")
    ),
    "REST creates once": lambda w: w.rest(
        "POST",
        f"/projects/{w.project}/tickets",
        {"title": "Once", "state_id": w.done},
        headers={"Idempotency-Key": "one"},
    ),
    "REST creates where the first state is done": _starting_in_done(lambda w: w.create()),
    "REST converts a note": _starting_in_done(
        lambda w: w.rest("POST", f"/sticky-notes/{w.note()}/convert-to-ticket")
    ),
    "REST converts a note to a subtask": _starting_in_done(
        lambda w: w.rest(
            "POST",
            f"/sticky-notes/{w.note()}/convert-to-ticket",
            {"type": "subtask", "parent_ticket_id": w.ticket_id("OPEN-1")},
        )
    ),
    "a tool moves by name": lambda w: w.tool("transition_ticket", ticket="OPEN-1", state="Done"),
    "a tool moves by name in another case": lambda w: w.tool(
        "transition_ticket", ticket="OPEN-1", state="dONE"
    ),
    "a tool moves by id": lambda w: w.tool("transition_ticket", ticket="OPEN-1", state=w.released),
    "a tool moves with a comment": lambda w: w.tool(
        "transition_ticket", ticket="OPEN-1", state="Done", comment="Finished."
    ),
    "a tool moves and hands over": lambda w: w.tool(
        "transition_ticket", ticket="OPEN-1", state="Done", assignee="ada"
    ),
    "a tool moves what nobody holds": lambda w: w.tool(
        "transition_ticket", ticket="OPEN-1", state="Done", expected_assignee="none"
    ),
    "a tool moves from done to done": lambda w: w.tool(
        "transition_ticket", ticket="OPEN-2", state="Released"
    ),
    "a tool moves by number alone": lambda w: w.tool(
        "transition_ticket", ticket="1", project="OPEN", state="Done"
    ),
    "a tool creates": lambda w: w.tool("create_ticket", project="OPEN", title="New", state="Done"),
    "a tool creates once": lambda w: w.tool(
        "create_ticket", project="OPEN", title="New", state="Done", idempotency_key="two"
    ),
    "a tool creates from a template": _template,
    "a tool creates a parent with children": lambda w: w.tool(
        "create_ticket", project="OPEN", title="New", state="Released", children=[_child()]
    ),
    "a tool creates a child": lambda w: w.tool(
        "create_ticket", project="OPEN", title="New", type="epic", children=[_child(state="Done")]
    ),
    "a tool creates a second child": lambda w: w.tool(
        "create_ticket", project="OPEN", title="New", children=[_child(), _child(state="Done")]
    ),
    "a tool creates below a parent": lambda w: w.tool(
        "create_ticket", project="OPEN", title="New", parent="OPEN-3", state="Done"
    ),
    "a tool creates where the first state is done": _starting_in_done(
        lambda w: w.tool("create_ticket", project="OPEN", title="New")
    ),
    "a tool creates a child where the first state is done": _starting_in_done(
        lambda w: w.tool(
            "create_ticket", project="OPEN", title="New", state="To do", children=[_child()]
        )
    ),
    "a tool converts a note": _starting_in_done(
        lambda w: w.tool("convert_sticky_note", sticky_note=w.note())
    ),
    "a tool converts a note to a subtask": _starting_in_done(
        lambda w: w.tool(
            "convert_sticky_note", sticky_note=w.note(), type="subtask", parent="OPEN-1"
        )
    ),
    "a tool takes the next ticket": lambda w: w.tool(
        "update_ticket", ticket="next", project="OPEN", state="Done"
    ),
    "a tool takes the next ticket of a type": lambda w: w.tool(
        "update_ticket", ticket="next", project="OPEN", type="story", state="Released"
    ),
    "a tool undoes leaving done": _undo_of_leaving,
    "a tool restores": _restore,
    "a tool undoes a deletion": _restore_by_undo,
    "a tool restores where the state became done": _restore_where_its_state_became_done,
    "a tool restores where the state is gone": _restore_where_its_state_is_gone,
    "the verb restores": _restore_by_verb,
    "the verb undoes": _undo_by_verb,
    "many tickets to a state": lambda w: _bulk(w, w.done),
    "many tickets to a category": lambda w: _bulk(w, "done"),
    "a card to a column": _board(lambda w: w.done),
    "a card to a category": _board(lambda w: "done"),
    "a card to a column and lane": _board(lambda w: w.done, lane="high", grouping="priority"),
    "a claim and a move": _claim_and_move,
    "a quick line": _quick,
    "a row of an import": _import,
    "a breakdown": lambda w: _breakdown(w, state_id=w.done),
    "a breakdown where the first state is done": _starting_in_done(
        lambda w: _breakdown(w, state_id=None)
    ),
    "the verb converts": _starting_in_done(_convert_by_verb),
}


def test_the_table_is_long():
    assert len(WAYS) >= 40


@pytest.mark.parametrize("way", WAYS)
def test_no_way_leads_a_bot_into_done(world: World, way: str):
    sign_off(world)
    before = world.in_done()
    error = WAYS[way](world)
    assert error is not None, way
    assert error["code"] == "auth.forbidden"
    if error["details"] is None:
        assert "Only people can move tickets to a done state" in error["message"]
    else:
        assert error["details"]["reason"] == "sign_off_required"
        assert error["details"]["review_state"]["name"] == "In review"
    assert world.in_done() <= before
    assert all(event.actor_kind != "bot" for event in _entries_into_done(world))


def _entries_into_done(world: World) -> list[Any]:
    """The events that put a ticket into a done state."""
    found = events(world.app)
    done = {world.done, world.released}
    return [
        event
        for event in found
        if event.payload.get("to_state_id" if "to_state_id" in event.payload else "state_id")
        in done
        and event.event_type.startswith("ticket.")
    ]


@pytest.mark.parametrize("way", WAYS)
def test_each_way_leads_there_where_nobody_has_to_sign_off(world: World, way: str):
    assert WAYS[way](world) is None


HUMANS_ONLY = {
    "making a state a done one": lambda w: w.rest(
        "PATCH", f"/projects/{w.project}/workflow-states/{w.states[0]}", {"category": "done"}
    ),
    "adding a done state": lambda w: w.rest(
        "POST", f"/projects/{w.project}/workflow-states", {"name": "Over", "category": "done"}
    ),
    "reordering": lambda w: w.rest(
        "POST", f"/projects/{w.project}/workflow-states/reorder", {"state_ids": w.states}
    ),
    "deleting a state": lambda w: w.rest(
        "DELETE", f"/projects/{w.project}/workflow-states/{w.states[1]}"
    ),
    "replacing a state": lambda w: w.verb(
        lambda bot: bulk.replace_state(bot, w.project, w.states[0], into_state_id=w.done)
    ),
    "taking sign-off back": lambda w: w.rest(
        "PATCH", f"/projects/{w.project}", {"sign_off": False}
    ),
    "undoing what a person did": _undo_of_another,
}


@pytest.mark.parametrize("way", HUMANS_ONLY)
def test_what_could_get_around_it_is_for_people(world: World, way: str):
    sign_off(world)
    before = world.in_done()
    error = HUMANS_ONLY[way](world)
    assert error is not None
    assert error["details"]["reason"] == "humans_only"
    assert world.in_done() == before


def test_no_patch_of_a_ticket_changes_its_state(world: World):
    sign_off(world)
    error = world.rest("PATCH", "/tickets/OPEN-1", {"state_id": world.done})
    assert error is not None
    assert error["details"] == {"field": "state_id", "reason": "immutable"}


def test_a_person_signs_off_and_the_event_names_them(world: World):
    sign_off(world)
    assert world.move(world.states[3]) is None
    ok(world.cast.ada.post("/tickets/OPEN-1/transition", {"state_id": world.done}))
    event = events(world.app, event_type="ticket.state_changed")[-1]
    assert (event.actor_kind, event.actor_user_id) == ("human", world.cast.ada.user_id)


def test_a_refusal_leaves_nothing_of_the_call_behind(world: World):
    sign_off(world)
    before = event_types(world.app, category="activity")
    assert world.move(world.done, comment="Finished.")
    assert event_types(world.app, category="activity") == before


def test_a_bot_moves_everywhere_else(world: World):
    sign_off(world)
    for state in (*world.states[1:4], world.states[0]):
        assert world.move(state) is None
    assert world.move(world.states[0], "OPEN-2") is None
    make_ticket(world.cast.fenced, world.cast.fenced_project, state_id=world.others[4])


def test_no_review_state_is_told_as_none(world: World):
    sign_off(world, review_state_id=None)
    error = world.move(world.done)
    assert error is not None
    assert error["details"] == {"reason": "sign_off_required", "review_state": None}


def test_tools_say_so_beforehand(world: World):
    def shown() -> list[dict[str, Any]]:
        calls = (
            world.agent.lean("get_project", project="OPEN"),
            world.agent.lean("get_ticket", ticket="OPEN-1"),
        )
        return [
            {key: call[key] for key in ("sign_off", "review_state") if key in call}
            for call in calls
        ]

    assert shown() == [{}, {}]
    sign_off(world)
    assert shown() == [{"sign_off": True, "review_state": "In review"}] * 2
    full = world.agent.call("get_project", project="OPEN")
    assert full["review_state"]["id"] == full["review_state_id"] == world.states[3]


def test_the_setting_is_a_field_of_the_project(world: World):
    path = f"/projects/{world.project}"
    project = ok(world.cast.ada.get(path))
    assert (project["sign_off"], project["review_state_id"]) == (False, None)
    project = sign_off(world)
    assert (project["sign_off"], project["review_state_id"]) == (True, world.states[3])
    event = events(world.app, event_type="project.updated")[-1]
    assert event.payload["changes"] == {
        "sign_off": {"from": False, "to": True},
        "review_state_id": {"from": None, "to": world.states[3]},
    }
    ada = world.cast.ada
    invalid(ada.patch(path, {"review_state_id": world.others[3]}), "review_state_id", "not_found")
    invalid(ada.patch(path, {"review_state_id": world.done}), "review_state_id", "is_done")
    undone = ok(ada.patch(path, {"sign_off": False, "review_state_id": None}))
    assert (undone["sign_off"], undone["review_state_id"]) == (False, None)


def test_the_review_state_stays_one(world: World):
    sign_off(world)
    ada, path = world.cast.ada, f"/projects/{world.project}/workflow-states/{world.states[3]}"
    conflict = {"reason": "invariant_violation"}
    refused(ada.delete(path), 409, "resource.conflict", **conflict)
    refused(ada.patch(path, {"category": "done"}), 409, "resource.conflict", **conflict)
    assert ok(ada.patch(path, {"name": "Review"}))["name"] == "Review"
    ok(ada.patch(f"/projects/{world.project}", {"review_state_id": None}))
    ok(ada.delete(path), 204)
