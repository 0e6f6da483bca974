"""Ways in which a bot may try to move a ticket to a done state."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from flask import Flask
from sqlalchemy import select

from app.accounts.authentication import bot_as_actor
from app.core.actor import Actor, ActorKind
from app.core.errors import DomainError
from app.database.session import reading, run_write, session
from app.importing import running
from app.projects.models import WorkflowState
from app.sticky_notes import conversion
from app.tickets import board_moves, bulk, claiming, creating, quick, service, templates
from app.tickets.board_moves import BoardCell
from app.tickets.importing import import_ticket
from app.tickets.models import Ticket
from app.undo import service as undo
from tests.support.agent import Agent
from tests.support.cast import Cast
from tests.support.story import events, ok

Error = dict[str, Any] | None


@dataclass
class World:
    """A project with two done states; OPEN-1 is open, OPEN-2 is done, OPEN-3 is an open epic."""

    app: Flask
    cast: Cast
    states: list[str]
    others: list[str]
    integration: dict[str, Any] = field(default_factory=dict)

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
        """Call REST as the bot; return the error if it is refused."""
        response = self.cast.smith.call(method, path, json=body or {}, **options)
        return None if response.status_code < 300 else response.get_json()["error"]

    def move(self, state: str, ticket: str = "OPEN-1", **body: Any) -> Error:
        return self.rest("POST", f"/tickets/{ticket}/transition", {"state_id": state, **body})

    def create(self, **body: Any) -> Error:
        return self.rest("POST", f"/projects/{self.project}/tickets", {"title": "New", **body})

    def tool(self, name: str, **arguments: Any) -> Error:
        """Call a tool; return the error if it is refused."""
        found = self.agent.result("tools/call", {"name": name, "arguments": arguments})
        return found["structuredContent"]["error"] if found["isError"] else None

    def verb(self, work: Callable[[Actor], Any]) -> Error:
        """Run work as the bot; return the error if a verb raises one."""

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
        """Make a done state the first one, in which new tickets start."""
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
        """Return the live tickets in done states."""
        statement = (
            select(Ticket.display_id)
            .join(WorkflowState, WorkflowState.id == Ticket.state_id)
            .where(WorkflowState.category == "done", Ticket.deleted_at.is_(None))
        )
        with self.app.app_context(), reading():
            return set(session.scalars(statement))


def sign_off(world: World, **fields: Any) -> Any:
    """Turn sign-off on in the project, with "In review" as its review state."""
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


def undo_of_another(world: World) -> Error:
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
            to=BoardCell(to(world), more.get("swimlane", "")),
            seen=None,
            **_without(more),
        )
    )


def _without(more: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in more.items() if name != "swimlane"}


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
    """Call what an import calls for each row; only people can start an import."""
    assert running.import_ticket is import_ticket
    return world.verb(
        lambda bot: creating.create_ticket(
            bot, world.project, title="Row", state_id=world.done, timestamps=(1, 1)
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


# These use existing objects; a refusal changes nothing.
DIRECT: dict[str, Callable[[World], Error]] = {
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
    "a tool takes the next ticket": lambda w: w.tool(
        "update_ticket", ticket="next", project="OPEN", state="Done"
    ),
    "a tool takes the next ticket of a type": lambda w: w.tool(
        "update_ticket", ticket="next", project="OPEN", type="story", state="Released"
    ),
    "many tickets to a state": lambda w: _bulk(w, w.done),
    "many tickets to a category": lambda w: _bulk(w, "done"),
    "a card to a column": _board(lambda w: w.done),
    "a card to a category": _board(lambda w: "done"),
    "a card to a column and swimlane": _board(
        lambda w: w.done, swimlane="high", grouping="priority"
    ),
    "a claim and a move": _claim_and_move,
    "a quick line": _quick,
    "a row of an import": _import,
    "a breakdown": lambda w: _breakdown(w, state_id=w.done),
}
# These first make a change that opens another way.
AFTER_A_CHANGE: dict[str, Callable[[World], Error]] = {
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
    "a tool creates from a template": _template,
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
    "a tool undoes leaving done": _undo_of_leaving,
    "a tool restores": _restore,
    "a tool undoes a deletion": _restore_by_undo,
    "a tool restores where the state became done": _restore_where_its_state_became_done,
    "a tool restores where the state is gone": _restore_where_its_state_is_gone,
    "the verb restores": _restore_by_verb,
    "the verb undoes": _undo_by_verb,
    "a breakdown where the first state is done": _starting_in_done(
        lambda w: _breakdown(w, state_id=None)
    ),
    "the verb converts": _starting_in_done(_convert_by_verb),
}
WAYS = DIRECT | AFTER_A_CHANGE
