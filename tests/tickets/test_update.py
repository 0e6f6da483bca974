"""PATCH /tickets/{id} and DELETE /tickets/{id}."""

from tests.support.cases import cases
from tests.support.cast import Cast
from tests.support.story import (
    event_types,
    events,
    invalid,
    make_label,
    make_ticket,
    malformed,
    ok,
    refused,
)


def test_fields_change_and_the_event_says_from_and_to(cast: Cast, app) -> None:
    ticket = make_ticket(cast.ada, cast.open_project, body="old")
    label = make_label(cast.ada, cast.open_project, "ui")["id"]
    changed = ok(
        cast.smith.patch(
            "/tickets/OPEN-1",
            {
                "title": " New ",
                "body": "new",
                "priority": "high",
                "due_date": "2026-12-24",
                "label_ids": [label],
            },
        )
    )
    assert (changed["title"], changed["priority"]) == ("New", "high")
    assert changed["updated_at"] > ticket["updated_at"]
    (event,) = events(app, event_type="ticket.updated")
    assert event.payload == {
        "changes": {
            "title": {"from": "A ticket", "to": "New"},
            "body": {"from": "old", "to": "new"},
            "priority": {"from": "medium", "to": "high"},
            "due_date": {"from": None, "to": "2026-12-24"},
            "label_ids": {"from": [], "to": [label]},
        }
    }


def test_a_change_of_nothing_records_nothing(cast: Cast, app) -> None:
    label = make_label(cast.ada, cast.open_project, "ui")["id"]
    make_ticket(cast.ada, cast.open_project, label_ids=[label])
    before = cast.ada.get("/tickets/OPEN-1")
    ok(cast.ada.patch("/tickets/OPEN-1", {}))
    ok(cast.ada.patch("/tickets/OPEN-1", {"title": "A ticket", "label_ids": [label, label]}))
    assert cast.ada.get("/tickets/OPEN-1").headers["ETag"] == before.headers["ETag"]
    assert event_types(app, target_kind="ticket") == ["ticket.created"]


def test_assigning_and_unassigning(cast: Cast, app) -> None:
    ticket = make_ticket(cast.ada, cast.open_project)
    ok(
        cast.ada.patch(
            "/tickets/OPEN-1", {"assignee_user_id": cast.smith.user_id, "priority": "low"}
        )
    )
    ok(cast.ada.patch("/tickets/OPEN-1", {"assignee_user_id": None}))
    found = events(app, ticket_id=ticket["id"])[1:]
    assert [(event.event_type, event.payload) for event in found] == [
        (
            "ticket.assigned",
            {
                "from_user_id": None,
                "assignee_user_id": cast.smith.user_id,
                "assignee_username": "smith",
            },
        ),
        ("ticket.updated", {"changes": {"priority": {"from": "medium", "to": "low"}}}),
        (
            "ticket.updated",
            {"changes": {"assignee_user_id": {"from": cast.smith.user_id, "to": None}}},
        ),
    ]


@cases(
    "field", ["id", "type", "display_id", "ticket_number", "state_id", "project_id", "created_at"]
)
def test_immutable_fields(cast: Cast, field: str) -> None:
    make_ticket(cast.ada, cast.open_project)
    invalid(cast.ada.patch("/tickets/OPEN-1", {field: "x"}), field, "immutable")


def test_unknown_and_malformed_fields(cast: Cast) -> None:
    make_ticket(cast.ada, cast.open_project)
    malformed(cast.ada.patch("/tickets/OPEN-1", {"nope": 1}), ["body", "nope"], "unknown_field")
    malformed(cast.ada.patch("/tickets/OPEN-1", {"title": None}), ["body", "title"], "invalid_type")
    invalid(cast.ada.patch("/tickets/OPEN-1", {"title": " "}), "title", "blank")


def test_only_humans_change_the_reporter(cast: Cast) -> None:
    make_ticket(cast.smith, cast.open_project)
    body = {"reporter_user_id": cast.bo.user_id}
    answer = cast.smith.patch("/tickets/OPEN-1", body)
    refused(answer, 403, "auth.forbidden", reason="humans_only")
    assert ok(cast.ada.patch("/tickets/OPEN-1", body))["reporter"]["username"] == "bo"


def test_parents_obey_the_hierarchy(cast: Cast) -> None:
    project = cast.open_project
    epic = make_ticket(cast.ada, project, type="epic")
    story = make_ticket(cast.ada, project)
    subtask = make_ticket(cast.ada, project, type="subtask", parent_ticket_id=story["id"])
    path = f"/tickets/{story['id']}"
    moved = ok(cast.ada.patch(path, {"parent_ticket_id": epic["id"]}))
    assert moved["parent"]["id"] == epic["id"]
    invalid(cast.ada.patch(path, {"parent_ticket_id": subtask["id"]}), "parent_ticket_id")
    invalid(
        cast.ada.patch(f"/tickets/{subtask['id']}", {"parent_ticket_id": None}),
        "parent_ticket_id",
        "parent_required",
    )
    assert ok(cast.ada.patch(path, {"parent_ticket_id": None}))["parent"] is None


def test_if_match(cast: Cast) -> None:
    make_ticket(cast.ada, cast.open_project)
    seen = cast.ada.get("/tickets/OPEN-1").headers["ETag"]
    ok(cast.bo.patch("/tickets/OPEN-1", {"priority": "high"}, headers={"If-Match": seen}))
    late = cast.ada.patch("/tickets/OPEN-1", {"priority": "low"}, headers={"If-Match": seen})
    refused(late, 409, "resource.conflict", reason="etag_mismatch")
    refused(
        cast.ada.delete("/tickets/OPEN-1", headers={"If-Match": seen}), 409, "resource.conflict"
    )
    ok(cast.ada.patch("/tickets/OPEN-1", {"priority": "low"}, headers={"If-Match": "*"}))
    ok(cast.ada.delete("/tickets/OPEN-1"), 204)


def test_a_claim_names_whom_it_expects(cast: Cast) -> None:
    make_ticket(cast.ada, cast.open_project)
    claim = {"assignee_user_id": cast.smith.user_id, "expected_assignee_user_id": None}
    ok(cast.smith.patch("/tickets/OPEN-1", claim))
    late = cast.bo.patch("/tickets/OPEN-1", {**claim, "assignee_user_id": cast.bo.user_id})
    error = refused(late, 409, "resource.conflict", reason="assignee_mismatch")
    assert error["details"]["assignee"]["username"] == "smith"
    handed = {
        "assignee_user_id": None,
        "expected_assignee_user_id": cast.smith.user_id,
    }
    ok(cast.smith.patch("/tickets/OPEN-1", handed))
    late = cast.ada.patch("/tickets/OPEN-1", handed)
    assert refused(late, 409, "resource.conflict")["details"]["assignee"] is None


def test_who_may_change_and_delete(cast: Cast) -> None:
    make_ticket(cast.ada, cast.open_project)
    for call in (
        lambda who: who.patch("/tickets/OPEN-1", {"title": "x"}),
        lambda who: who.delete("/tickets/OPEN-1"),
    ):
        refused(call(cast.nobody), 401, "auth.unauthenticated")
        refused(call(cast.scout), 403, "auth.read_only_bot")
        refused(call(cast.fenced), 403, "auth.forbidden", reason="project_not_in_allowlist")
    refused(cast.smith.patch("/tickets/OPEN-2", {"title": "x"}), 404, "resource.not_found")
    refused(cast.fenced.patch("/tickets/OPEN-2", {"title": "x"}), 404, "resource.not_found")


def test_a_deleted_ticket_answers_410_to_everything(cast: Cast, app) -> None:
    parent = make_ticket(cast.ada, cast.open_project)
    child = make_ticket(cast.ada, cast.open_project, type="subtask", parent_ticket_id=parent["id"])
    ok(cast.smith.delete("/tickets/OPEN-1"), 204)
    (event,) = events(app, event_type="ticket.deleted")
    assert event.payload == {"display_id": "OPEN-1", "title": "A ticket"}
    gone = {"resource": "ticket", "id": "OPEN-1"}
    for answer in (
        cast.ada.get("/tickets/OPEN-1"),
        cast.ada.patch("/tickets/OPEN-1", {"title": "x"}),
        cast.ada.delete("/tickets/OPEN-1"),
        cast.ada.post("/tickets/OPEN-1/comments", {"body": "x"}),
        cast.ada.get("/tickets/OPEN-1/comments"),
        cast.ada.get("/tickets/OPEN-1/relations"),
        cast.ada.post("/tickets/OPEN-1/watchers"),
    ):
        refused(answer, 410, "resource.gone", **gone)
    assert ok(cast.ada.get("/tickets/OPEN-1?include_deleted=true"))["deleted_at"] is not None
    refused(
        cast.smith.get("/tickets/OPEN-1?include_deleted=true"),
        403,
        "auth.forbidden",
        reason="humans_only",
    )
    refused(cast.fenced.get("/tickets/OPEN-1"), 404, "resource.not_found")
    assert ok(cast.ada.get(f"/tickets/{child['id']}"))["deleted_at"] is None
