"""POST /projects/{id}/tickets."""

import pytest

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
    state_ids,
)


def test_a_ticket_has_every_documented_field(cast: Cast) -> None:
    answer = cast.smith.post(f"/projects/{cast.open_project}/tickets", {"title": "  Fix it \n"})
    ticket = ok(answer, 201)
    first_state = state_ids(cast.ada, cast.open_project)[0]
    assert ticket == {
        "id": ticket["id"],
        "display_id": "OPEN-1",
        "ticket_number": 1,
        "project_id": cast.open_project,
        "type": "story",
        "title": "Fix it",
        "body": "",
        "state_id": first_state,
        "state": {"id": first_state, "name": "Backlog", "category": "backlog"},
        "priority": "medium",
        "assignee_user_id": None,
        "assignee": None,
        "reporter_user_id": cast.smith.user_id,
        "reporter": {
            "id": cast.smith.user_id,
            "type": "bot",
            "username": "smith",
            "display_name": "Smith",
        },
        "parent_ticket_id": None,
        "parent": None,
        "labels": [],
        "due_date": None,
        "rank": "60000000001V",
        "created_at": ticket["created_at"],
        "updated_at": ticket["created_at"],
        "last_activity_at": ticket["created_at"],
        "deleted_at": None,
    }
    assert answer.headers["Location"].endswith(f"/api/v1/tickets/{ticket['id']}")
    assert ok(cast.scout.get("/tickets/OPEN-1")) == ticket


def test_everything_can_be_given(cast: Cast) -> None:
    epic = make_ticket(cast.ada, cast.open_project, type="epic")
    labels = [make_label(cast.ada, cast.open_project, name)["id"] for name in ("zeta", "Alpha")]
    done = state_ids(cast.ada, cast.open_project)[-1]
    ticket = make_ticket(
        cast.ada,
        cast.open_project,
        body="  kept\r\nas sent \u2028",
        priority="urgent",
        state_id=done,
        assignee_user_id=cast.smith.user_id,
        parent_ticket_id=epic["id"],
        label_ids=[*labels, labels[0]],
        due_date="2026-12-01",
        client_request_id="mine",
    )
    assert ticket["body"] == "  kept\r\nas sent \u2028"
    assert ticket["state"]["category"] == "done"
    assert ticket["assignee"]["username"] == "smith"
    assert ticket["parent"]["display_id"] == epic["display_id"]
    assert [label["name"] for label in ticket["labels"]] == ["Alpha", "zeta"]
    assert ticket["client_request_id"] == "mine"
    assert "client_request_id" not in ok(cast.ada.get(f"/tickets/{ticket['id']}"))


def test_creating_records_one_event(cast: Cast, app) -> None:
    ticket = make_ticket(cast.smith, cast.open_project, assignee_user_id=cast.ada.user_id)
    (event,) = events(app, ticket_id=ticket["id"])
    assert event.event_type == "ticket.created"
    assert event.category == "activity"
    assert (event.actor_user_id, event.actor_kind) == (cast.smith.user_id, "bot")
    assert (event.target_kind, event.target_id) == ("ticket", ticket["id"])
    assert event.project_id == cast.open_project
    assert event.payload == {
        "display_id": "OPEN-1",
        "type": "story",
        "title": "A ticket",
        "state_id": ticket["state_id"],
        "priority": "medium",
        "assignee_user_id": cast.ada.user_id,
        "parent_ticket_id": None,
        "label_ids": [],
    }


def test_a_refused_create_takes_no_number_and_leaves_nothing(cast: Cast, app) -> None:
    path = f"/projects/{cast.open_project}/tickets"
    invalid(cast.ada.post(path, {"title": "x", "type": "subtask"}), "parent_ticket_id")
    invalid(cast.ada.post(path, {"title": "   "}), "title", "blank")
    assert make_ticket(cast.ada, cast.open_project)["display_id"] == "OPEN-1"
    assert event_types(app, target_kind="ticket") == ["ticket.created"]


@pytest.mark.parametrize(
    ("body", "field", "reason"),
    [
        ({"title": "x" * 201}, "title", "too_long"),
        ({"title": "a\x00b"}, "title", "nul_character"),
        ({"title": "x", "body": "x" * 65_537}, "body", "too_long"),
        ({"title": "x", "body": "\x00"}, "body", "nul_character"),
        ({"title": "x", "client_request_id": "c" * 129}, "client_request_id", "too_long"),
    ],
)
def test_text_rules(cast: Cast, body: dict, field: str, reason: str) -> None:
    invalid(cast.ada.post(f"/projects/{cast.open_project}/tickets", body), field, reason)


@cases(
    "body, loc, kind",
    [
        ({}, ["body", "title"], "missing"),
        ({"title": 1}, ["body", "title"], "invalid_type"),
        ({"title": None}, ["body", "title"], "invalid_type"),
        ({"title": "x", "state": "Done"}, ["body", "state"], "unknown_field"),
        ({"title": "x", "type": "task"}, ["body", "type"], "invalid_value"),
        ({"title": "x", "priority": "top"}, ["body", "priority"], "invalid_value"),
        ({"title": "x", "due_date": "2026-02-30"}, ["body", "due_date"], "invalid_value"),
        ({"title": "x", "due_date": "2026-W01-1"}, ["body", "due_date"], "invalid_value"),
        ({"title": "x", "state_id": "OPEN"}, ["body", "state_id"], "invalid_value"),
        ({"title": "x", "label_ids": "ui"}, ["body", "label_ids"], "invalid_type"),
        ({"title": "x", "label_ids": ["ui"]}, ["body", "label_ids", 0], "invalid_value"),
    ],
)
def test_form_rules(cast: Cast, body: dict, loc: list, kind: str) -> None:
    malformed(cast.ada.post(f"/projects/{cast.open_project}/tickets", body), loc, kind)


NOWHERE = "01900000-0000-7000-8000-000000000000"


@pytest.mark.parametrize("field", ["state_id", "assignee_user_id", "parent_ticket_id", "label_ids"])
def test_references_that_do_not_exist(cast: Cast, field: str) -> None:
    value = [NOWHERE] if field == "label_ids" else NOWHERE
    body = {"title": "x", field: value}
    invalid(cast.ada.post(f"/projects/{cast.open_project}/tickets", body), field, "not_found")


def test_references_into_another_project_count_as_missing(cast: Cast) -> None:
    path = f"/projects/{cast.open_project}/tickets"
    other = cast.fenced_project
    epic = make_ticket(cast.ada, other, type="epic")
    label = make_label(cast.ada, other, "ui")
    invalid(cast.ada.post(path, {"title": "x", "parent_ticket_id": epic["id"]}), "parent_ticket_id")
    invalid(cast.ada.post(path, {"title": "x", "label_ids": [label["id"]]}), "label_ids")
    invalid(
        cast.ada.post(path, {"title": "x", "state_id": state_ids(cast.ada, other)[0]}), "state_id"
    )


def test_hierarchy(cast: Cast) -> None:
    project = cast.open_project
    path = f"/projects/{project}/tickets"
    epic = make_ticket(cast.ada, project, type="epic")["id"]
    story = make_ticket(cast.ada, project, type="story", parent_ticket_id=epic)["id"]
    subtask = make_ticket(cast.ada, project, type="subtask", parent_ticket_id=story)["id"]
    wrong = [("epic", epic), ("epic", story), ("story", story), ("story", subtask)]
    wrong += [("subtask", epic), ("subtask", subtask), ("subtask", None)]
    for kind, parent in wrong:
        body = {"title": "x", "type": kind, "parent_ticket_id": parent}
        invalid(cast.ada.post(path, body), "parent_ticket_id")
    ok(cast.ada.delete(f"/tickets/{epic}"), 204)
    invalid(cast.ada.post(path, {"title": "x", "parent_ticket_id": epic}), "parent_ticket_id")


def test_an_assignee_must_be_active_and_see_the_project(cast: Cast) -> None:
    path = f"/projects/{cast.open_project}/tickets"
    invalid(
        cast.ada.post(path, {"title": "x", "assignee_user_id": cast.fenced.user_id}),
        "assignee_user_id",
    )
    make_ticket(cast.ada, cast.fenced_project, assignee_user_id=cast.fenced.user_id)


def test_who_may_create(cast: Cast, app) -> None:
    path = f"/projects/{cast.open_project}/tickets"
    body = {"title": "x"}
    refused(cast.nobody.post(path, body), 401, "auth.unauthenticated")
    refused(cast.scout.post(path, body), 403, "auth.read_only_bot")
    refused(cast.fenced.post(path, body), 403, "auth.forbidden", reason="project_not_in_allowlist")
    assert make_ticket(cast.fenced, cast.fenced_project)["display_id"] == "FENCED-1"
    (read_only,) = events(app, event_type="auth.bot.write_attempt_in_read_mode")
    assert read_only.actor_user_id == cast.scout.user_id
    assert read_only.payload == {"operation": "tickets.create"}
    (outside,) = events(app, event_type="auth.bot.write_attempt_outside_allowlist")
    assert (outside.actor_user_id, outside.project_id) == (
        cast.fenced.user_id,
        cast.open_project,
    )


def test_projects_that_are_not_there(cast: Cast) -> None:
    for missing in (NOWHERE, "OPEN", "%00"):
        answer = cast.smith.post(f"/projects/{missing}/tickets", {"title": "x"})
        refused(answer, 404, "resource.not_found", resource="project")
    ok(cast.ada.delete(f"/projects/{cast.fenced_project}"), 204)
    answer = cast.ada.post(f"/projects/{cast.fenced_project}/tickets", {"title": "x"})
    refused(answer, 410, "resource.gone", resource="project", id=cast.fenced_project)


def test_the_form_is_judged_before_existence_and_after_the_kind_of_actor(cast: Cast) -> None:
    path = f"/projects/{NOWHERE}/tickets"
    refused(cast.scout.post(path, {}), 403, "auth.read_only_bot")
    malformed(cast.smith.post(path, {}), ["body", "title"], "missing")
    refused(cast.smith.post(path, {"title": " "}), 404, "resource.not_found")


def test_a_ticket_has_no_thousands_of_labels(cast: Cast) -> None:
    wanted = [f"01900000-0000-7000-8000-{number:012x}" for number in range(70_000)]
    path = f"/projects/{cast.open_project}/tickets"
    invalid(cast.ada.post(path, {"title": "x", "label_ids": wanted}), "label_ids", "too_many")
    invalid(
        cast.ada.post(path, {"title": "x", "label_ids": wanted[:1000]}), "label_ids", "not_found"
    )
