"""/projects/{id}/workflow-states."""

from tests.support.cast import Cast
from tests.support.story import (
    events,
    invalid,
    make_ticket,
    malformed,
    ok,
    refused,
    state_ids,
    walk,
)


def positions(cast: Cast) -> list[tuple[int, str]]:
    rows = walk(cast.ada, f"/projects/{cast.open_project}/workflow-states", 2)
    return [(row["position"], row["name"]) for row in rows]


def test_a_state_is_added_at_the_end(cast: Cast, app) -> None:
    path = f"/projects/{cast.open_project}/workflow-states"
    state = ok(cast.ada.post(path, {"name": " Shipped ", "category": "done"}), 201)
    assert (state["position"], state["name"]) == (5, "Shipped")
    malformed(cast.ada.post(path, {"name": "x"}), ["body", "category"], "missing")
    malformed(
        cast.ada.post(path, {"name": "x", "category": "open"}),
        ["body", "category"],
        "invalid_value",
    )
    for name in ("shipped", "SHIPPED", " Done"):
        answer = cast.ada.post(path, {"name": name, "category": "done"})
        refused(answer, 409, "resource.conflict", reason="duplicate_key")
    assert events(app, event_type="workflow_state.created")[-1].payload["position"] == 5


def test_names_are_compared_by_casefold(cast: Cast) -> None:
    path = f"/projects/{cast.open_project}/workflow-states"
    ok(cast.ada.post(path, {"name": "Straße", "category": "done"}), 201)
    refused(cast.ada.post(path, {"name": "STRASSE", "category": "done"}), 409, "resource.conflict")


def test_changes(cast: Cast, app) -> None:
    first = state_ids(cast.ada, cast.open_project)[0]
    path = f"/projects/{cast.open_project}/workflow-states/{first}"
    changed = ok(cast.ada.patch(path, {"name": "Inbox", "category": "active"}))
    assert (changed["name"], changed["category"], changed["position"]) == ("Inbox", "active", 0)
    ok(cast.ada.patch(path, {"name": "INBOX"}))
    refused(cast.ada.patch(path, {"name": "done"}), 409, "resource.conflict")
    invalid(cast.ada.patch(path, {"position": 3}), "position", "immutable")
    found = events(app, event_type="workflow_state.updated")
    assert found[0].payload["changes"]["name"] == {"from": "Backlog", "to": "Inbox"}
    assert len(found) == 2


def test_reordering(cast: Cast, app) -> None:
    states = state_ids(cast.ada, cast.open_project)
    path = f"/projects/{cast.open_project}/workflow-states/reorder"
    answer = ok(cast.ada.post(path, {"state_ids": states[::-1]}))
    assert [row["id"] for row in answer["data"]] == states[::-1]
    assert answer["page"] == {"next_cursor": None, "has_more": False}
    assert [position for position, _ in positions(cast)] == [0, 1, 2, 3, 4]
    for wrong in (states[1:], [*states, states[0]], [states[0]] * 5, []):
        invalid(cast.ada.post(path, {"state_ids": wrong}), "state_ids")
    assert len(events(app, event_type="workflow_state.reordered")) == 1


def test_deletion_closes_the_gap(cast: Cast) -> None:
    states = state_ids(cast.ada, cast.open_project)
    path = f"/projects/{cast.open_project}/workflow-states"
    ok(cast.ada.delete(f"{path}/{states[1]}"), 204)
    assert positions(cast) == [(0, "Backlog"), (1, "In progress"), (2, "In review"), (3, "Done")]
    refused(cast.ada.delete(f"{path}/{states[1]}"), 404, "resource.not_found")
    for state in (states[0], states[2], states[3]):
        ok(cast.ada.delete(f"{path}/{state}"), 204)
    refused(
        cast.ada.delete(f"{path}/{states[4]}"),
        409,
        "resource.conflict",
        reason="invariant_violation",
    )


def test_a_state_in_use_stays(cast: Cast) -> None:
    ticket = make_ticket(cast.ada, cast.open_project)
    path = f"/projects/{cast.open_project}/workflow-states/{ticket['state_id']}"
    refused(cast.ada.delete(path), 409, "resource.conflict", reason="state_in_use")
    ok(cast.ada.delete("/tickets/OPEN-1"), 204)
    ok(cast.ada.delete(path), 204)
    shown = ok(cast.ada.get("/tickets/OPEN-1?include_deleted=true"))
    assert (shown["state_id"], shown["state"]) == (None, None)


def test_states_of_another_project_are_not_found(cast: Cast) -> None:
    foreign = state_ids(cast.ada, cast.fenced_project)[0]
    path = f"/projects/{cast.open_project}/workflow-states/{foreign}"
    refused(cast.ada.patch(path, {"name": "x"}), 404, "resource.not_found", id=foreign)
    refused(cast.ada.delete(path), 404, "resource.not_found", resource="workflow_state")


def test_a_limit_is_a_number_from_1_to_999_or_none(cast):
    path = f"/projects/{cast.open_project}/workflow-states"
    state = ok(cast.ada.get(path))["data"][0]
    address = f"{path}/{state['id']}"
    assert state["wip_limit"] is None
    assert ok(cast.ada.patch(address, {"wip_limit": 999}))["wip_limit"] == 999
    for limit in (0, -1, 1000, 10**12):
        invalid(cast.ada.patch(address, {"wip_limit": limit}), "wip_limit", "out_of_range")
    malformed(cast.ada.patch(address, {"wip_limit": "3"}), ["body", "wip_limit"], "invalid_type")
    assert ok(cast.ada.patch(address, {"wip_limit": None}))["wip_limit"] is None
