"""With sign-off on, no bot can move a ticket to a done state, whichever way it tries.

Each way is also tried in a project without sign-off, where it must succeed, or the test would prove
nothing.
"""

from typing import Any

import click
import pytest

from app.commands.restore import restore_project
from app.database.session import reading
from app.inbox import sign_offs
from app.projects.command_line import acting_human
from app.tickets import bulk
from tests.integrations.deliveries import Connected, pull_request
from tests.support.cases import cases
from tests.support.cast import Cast
from tests.support.story import event_types, events, invalid, make_ticket, ok, refused, state_ids
from tests.tickets.ways_into_done import (
    AFTER_A_CHANGE,
    DIRECT,
    WAYS,
    World,
    sign_off,
    undo_of_another,
)


@pytest.fixture
def world(app, cast: Cast) -> World:
    path = f"/projects/{cast.open_project}/workflow-states"
    ok(cast.ada.post(path, {"name": "Released", "category": "done"}), 201)
    states = state_ids(cast.ada, cast.open_project)
    make_ticket(cast.ada, cast.open_project)
    make_ticket(cast.ada, cast.open_project, state_id=states[4])
    make_ticket(cast.ada, cast.open_project, type="epic")
    return World(app, cast, states, state_ids(cast.ada, cast.fenced_project))


def test_the_table_is_long():
    assert len(WAYS) >= 40


@cases("way", DIRECT)
def test_no_way_leads_a_bot_into_done(world: World, way: str):
    try_to_get_into_done(world, way)


@pytest.mark.parametrize("way", AFTER_A_CHANGE)
def test_no_way_after_a_change_leads_a_bot_into_done(world: World, way: str):
    try_to_get_into_done(world, way)


def try_to_get_into_done(world: World, way: str) -> None:
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
    """Return the events that moved a ticket to a done state."""
    found = events(world.app)
    done = {world.done, world.released}
    return [
        event
        for event in found
        if event.payload.get("to_state_id" if "to_state_id" in event.payload else "state_id")
        in done
        and event.event_type.startswith("ticket.")
    ]


@pytest.mark.one_database
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
    "undoing what a person did": undo_of_another,
    "rewinding": lambda w: w.rest(
        "POST", f"/users/{w.cast.smith.user_id}/rewind", {"since": "2026-01-01T00:00:00Z"}
    ),
    "putting back what a rewind kept": lambda w: w.rest(
        "POST",
        f"/users/{w.cast.smith.user_id}/rewind/put-back",
        {
            "since": "2026-01-01T00:00:00Z",
            "event_id": w.newest_event("ticket.created"),
            "name": "exists",
        },
    ),
    "having merges move tickets": lambda w: w.rest(
        "POST",
        "/integrations",
        {
            "name": "Own",
            "forge": "github",
            "project_ids": [w.project],
            "on_merge": [{"project_id": w.project, "state_id": w.done}],
        },
    ),
    "signing off": lambda w: w.verb(lambda bot: sign_offs.sign_off(bot, "OPEN-1", seen="")),
    "restoring a project": lambda w: w.verb(lambda bot: restore_project(bot, "OPEN")),
}


@cases("way", HUMANS_ONLY)
def test_what_could_get_around_it_is_for_people(world: World, way: str):
    sign_off(world)
    before = world.in_done()
    error = HUMANS_ONLY[way](world)
    assert error is not None
    assert error["details"]["reason"] == "humans_only"
    assert world.in_done() == before


def merge(world: World, second: int) -> None:
    """Deliver a merge that fixes OPEN-1, for an integration that moves merged work to done."""
    at = Connected(world.cast, integration=world.integration)
    world.integration = at.integration
    outcome = at.deliver(
        pull_request("github", second, body="fixes OPEN-1", action="closed", state="merged")
    )
    assert outcome.endswith(("1 moved", "1 not moved")), outcome


def test_no_merge_gets_around_it(world: World):
    """The code host is told only that nothing moved, and may deliver again later."""
    sign_off(world)
    before = world.in_done()
    merge(world, 1)
    assert world.in_done() == before
    ok(world.cast.ada.patch(f"/projects/{world.project}", {"sign_off": False}))
    merge(world, 2)
    assert world.in_done() == {*before, "OPEN-1"}


@pytest.mark.one_database
def test_no_command_acts_as_a_bot(world: World):
    """Imports, rewinds and the sample project act as the person given by ``--as``."""
    with world.app.app_context(), reading(), pytest.raises(click.ClickException):
        acting_human("smith")


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
