"""GET /tickets, GET /projects/{id}/tickets and GET /tickets/{id}."""

from unittest.mock import Mock

import pytest

from app.tickets.models import Ticket
from app.tickets.read import MAY_BE_EMPTY, ticket_json
from tests.support.cases import cases
from tests.support.cast import Cast
from tests.support.story import (
    make_label,
    make_ticket,
    malformed,
    ok,
    refused,
    state_ids,
    walk,
)


def test_a_ticket_is_found_by_uuid_and_display_id(cast: Cast) -> None:
    ticket = make_ticket(cast.ada, cast.open_project)
    for reference in (ticket["id"], ticket["id"].upper(), "OPEN-1"):
        assert ok(cast.scout.get(f"/tickets/{reference}")) == ticket
    for missing in ("OPEN-2", "open-1", "OPEN-01x", "x", "%7B" + ticket["id"] + "%7D", "%00"):
        refused(cast.scout.get(f"/tickets/{missing}"), 404, "resource.not_found", resource="ticket")


def test_a_list_shows_of_each_ticket_what_it_shows_alone(cast: Cast) -> None:
    first, done, *_ = state_ids(cast.ada, cast.open_project)
    labels = [make_label(cast.ada, cast.open_project, name)["id"] for name in ("ui", "api")]
    epic = make_ticket(cast.ada, cast.open_project, type="epic", state_id=done)
    make_ticket(
        cast.smith,
        cast.open_project,
        type="story",
        parent_ticket_id=epic["id"],
        assignee_user_id=cast.ada.user_id,
        label_ids=labels,
        state_id=first,
        due_date="2026-12-01",
    )
    make_ticket(cast.ada, cast.fenced_project, body="Alone")
    ok(cast.ada.delete(f"/tickets/{make_ticket(cast.ada, cast.open_project)['id']}"), 204)
    rows = ok(cast.ada.get("/tickets?include_deleted=true"))["data"]
    assert len(rows) == 4
    for row in rows:
        assert ok(cast.ada.get(f"/tickets/{row['id']}?include_deleted=true")) == row
    assert [row["parent"] and row["parent"]["id"] for row in rows] == [None, None, epic["id"], None]


def test_the_allowlist_hides_tickets(cast: Cast) -> None:
    make_ticket(cast.ada, cast.open_project)
    visible = make_ticket(cast.ada, cast.fenced_project)
    missing = refused(cast.fenced.get("/tickets/OPEN-9"), 404, "resource.not_found")
    hidden = refused(cast.fenced.get("/tickets/OPEN-1"), 404, "resource.not_found")
    assert hidden["message"] == missing["message"]
    assert [row["id"] for row in ok(cast.fenced.get("/tickets"))["data"]] == [visible["id"]]
    assert ok(cast.fenced.get(f"/tickets?project_id={cast.open_project}"))["data"] == []
    refused(cast.fenced.get(f"/projects/{cast.open_project}/tickets"), 404, "resource.not_found")
    assert len(ok(cast.scout.get("/tickets"))["data"]) == 2


def test_a_conditional_get(cast: Cast) -> None:
    make_ticket(cast.ada, cast.open_project)
    found = cast.ada.get("/tickets/OPEN-1")
    tag = found.headers["ETag"]
    assert found.headers["Cache-Control"] == "private, no-cache"
    ticket = found.get_json()
    assert tag.startswith('W/"')
    assert tag.endswith(f'-{ticket["id"][-8:]}"')
    for header in (tag, tag.removeprefix("W/"), f'"x", {tag}', "*"):
        again = cast.ada.get("/tickets/OPEN-1", headers={"If-None-Match": header})
        assert (again.status_code, again.data) == (304, b"")
        assert again.headers["ETag"] == tag
    ok(cast.ada.patch("/tickets/OPEN-1", {"title": "Other"}))
    assert cast.ada.get("/tickets/OPEN-1", headers={"If-None-Match": tag}).status_code == 200


def test_comments_relations_and_watchers_leave_the_etag(cast: Cast) -> None:
    make_ticket(cast.ada, cast.open_project)
    make_ticket(cast.ada, cast.open_project)
    tag = cast.ada.get("/tickets/OPEN-1").headers["ETag"]
    ok(cast.ada.post("/tickets/OPEN-1/comments", {"body": "x"}), 201)
    ok(cast.ada.post("/tickets/OPEN-1/watchers"), 201)
    relation = {"type": "blocks", "target_ticket_id": "OPEN-2"}
    ok(cast.ada.post("/tickets/OPEN-1/relations", relation), 201)
    assert cast.ada.get("/tickets/OPEN-1").headers["ETag"] == tag


def test_deleting_a_label_changes_the_tickets_that_had_it(cast: Cast) -> None:
    label = make_label(cast.ada, cast.open_project, "ui")["id"]
    make_ticket(cast.ada, cast.open_project, label_ids=[label])
    tag = cast.ada.get("/tickets/OPEN-1").headers["ETag"]
    ok(cast.ada.delete(f"/projects/{cast.open_project}/labels/{label}"), 204)
    found = cast.ada.get("/tickets/OPEN-1", headers={"If-None-Match": tag})
    assert ok(found)["labels"] == []


def test_lists_are_newest_first_in_pages(cast: Cast) -> None:
    made = [make_ticket(cast.ada, cast.open_project)["id"] for _ in range(7)]
    for limit in (1, 3, 7, 200):
        rows = walk(cast.scout, f"/projects/{cast.open_project}/tickets", limit)
        assert [row["id"] for row in rows] == made[::-1]
    first = ok(cast.ada.get(f"/projects/{cast.open_project}/tickets?limit=2"))["page"]
    rest = ok(cast.ada.get(f"/tickets?cursor={first['next_cursor']}"))
    assert [row["id"] for row in rest["data"]] == made[::-1][2:]


def test_a_page_neither_skips_nor_repeats_while_tickets_are_made(cast: Cast) -> None:
    made = [make_ticket(cast.ada, cast.open_project)["id"] for _ in range(4)]
    first = ok(cast.ada.get("/tickets?limit=2"))
    make_ticket(cast.ada, cast.open_project)
    second = ok(cast.ada.get(f"/tickets?limit=2&cursor={first['page']['next_cursor']}"))
    assert [row["id"] for row in first["data"] + second["data"]] == made[::-1]


@cases("cursor", ["", "x", "bm90IGpzb24", "e30", "=", "é", "A" * 600])
def test_a_malformed_cursor(cast: Cast, cursor: str) -> None:
    answer = cast.ada.get("/tickets", query_string={"cursor": cursor})
    refused(answer, 400, "validation.invalid_field", field="cursor")


def test_a_cursor_of_another_list(cast: Cast) -> None:
    for _ in range(2):
        make_ticket(cast.ada, cast.open_project)
        ok(cast.ada.post("/tickets/OPEN-1/comments", {"body": "x"}), 201)
    cursor = ok(cast.ada.get("/tickets/OPEN-1/comments?limit=1"))["page"]["next_cursor"]
    refused(cast.ada.get(f"/tickets?cursor={cursor}"), 400, "validation.invalid_field")


@pytest.mark.parametrize("limit", ["0", "201", "-1"])
def test_a_limit_out_of_range(cast: Cast, limit: str) -> None:
    answer = cast.ada.get(f"/tickets?limit={limit}")
    refused(answer, 422, "validation.invalid_field", field="limit")


@cases("limit", ["x", "", "1.5", "1e2", "\u0663", "1_0", "0x1"])
def test_a_limit_that_is_no_number(cast: Cast, limit: str) -> None:
    answer = cast.ada.get("/tickets", query_string={"limit": limit})
    malformed(answer, ["query", "limit"], "invalid_type")


def test_every_filter(cast: Cast) -> None:
    project = cast.open_project
    states = state_ids(cast.ada, project)
    label = make_label(cast.ada, project, "ui")["id"]
    epic = make_ticket(cast.ada, project, type="epic")
    wanted = make_ticket(
        cast.smith,
        project,
        parent_ticket_id=epic["id"],
        assignee_user_id=cast.bo.user_id,
        priority="urgent",
        state_id=states[1],
        label_ids=[label],
    )
    make_ticket(cast.ada, cast.fenced_project)
    filters = {
        "state_id": states[1],
        "state_category": "active",
        "ticket_type": "story",
        "assignee_user_id": cast.bo.user_id,
        "reporter_user_id": cast.smith.user_id,
        "label_id": label,
        "priority": "urgent",
        "parent_ticket_id": epic["id"],
    }
    for name, value in filters.items():
        rows = ok(cast.ada.get(f"/projects/{project}/tickets?{name}={value}"))["data"]
        assert [row["id"] for row in rows] == [wanted["id"]], name
    together = "&".join(f"{name}={value}" for name, value in filters.items())
    rows = ok(cast.ada.get(f"/tickets?project_id={project}&{together}&unknown=1"))["data"]
    assert [row["id"] for row in rows] == [wanted["id"]]
    assert ok(cast.ada.get(f"/tickets?{together}&priority=low"))["data"] == rows


@pytest.mark.parametrize(
    "query",
    ["state_id=x", "state_category=closed", "ticket_type=task", "priority=", "include_deleted=1"],
)
def test_a_filter_of_the_wrong_form(cast: Cast, query: str) -> None:
    malformed(
        cast.ada.get(f"/tickets?{query}"), ["query", query.partition("=")[0]], "invalid_value"
    )


def test_ready_work(cast: Cast) -> None:
    project = cast.open_project
    states = state_ids(cast.ada, project)
    make_ticket(cast.ada, project, "epic", type="epic")
    make_ticket(cast.ada, project, "held", assignee_user_id=cast.bo.user_id)
    make_ticket(cast.ada, project, "done", state_id=states[-1])
    blocker = make_ticket(cast.ada, project, "blocker")
    blocked = make_ticket(cast.ada, project, "blocked")
    relation = {"type": "blocks", "target_ticket_id": blocked["id"]}
    ok(cast.ada.post(f"/tickets/{blocker['id']}/relations", relation), 201)

    def ready() -> list[str]:
        return [row["title"] for row in ok(cast.smith.get("/tickets?ready=true"))["data"]]

    assert ready() == ["blocker"]
    ok(cast.ada.post(f"/tickets/{blocker['id']}/transition", {"state_id": states[-1]}))
    assert ready() == ["blocked"]
    far = make_ticket(cast.ada, cast.fenced_project, "far", assignee_user_id=cast.bo.user_id)
    ok(cast.ada.post(f"/tickets/{far['id']}/relations", relation), 201)
    assert ready() == []
    ok(cast.ada.delete(f"/projects/{cast.fenced_project}"), 204)
    assert ready() == ["blocked"]


def test_deleted_tickets_and_projects_are_in_no_list(cast: Cast) -> None:
    make_ticket(cast.ada, cast.open_project)
    make_ticket(cast.ada, cast.fenced_project)
    ok(cast.ada.delete("/tickets/OPEN-1"), 204)
    ok(cast.ada.delete(f"/projects/{cast.fenced_project}"), 204)
    assert ok(cast.smith.get("/tickets"))["data"] == []
    assert ok(cast.ada.get(f"/tickets?project_id={cast.fenced_project}"))["data"] == []
    shown = ok(cast.ada.get("/tickets?include_deleted=true"))["data"]
    assert {row["display_id"] for row in shown} == {"OPEN-1", "FENCED-1"}
    refused(cast.smith.get("/tickets?include_deleted=true"), 403, "auth.forbidden")
    path = f"/projects/{cast.fenced_project}/tickets"
    refused(cast.ada.get(path), 410, "resource.gone", resource="project")
    refused(cast.ada.get("/tickets/FENCED-1"), 410, "resource.gone", resource="project")
    refused(
        cast.ada.patch("/tickets/FENCED-1", {"title": "x"}),
        410,
        "resource.gone",
        resource="project",
    )


def test_what_can_be_empty_is_known_to_who_leaves_it_out() -> None:
    row = Mock(labels=None, **dict.fromkeys(("state_name", "state_category")))
    for column in Ticket.__table__.columns:
        setattr(row, column.key, None if column.nullable or column.key == "body" else 0)
    shown = ticket_json(row)
    assert {name for name, value in shown.items() if value is None} == set(MAY_BE_EMPTY)
