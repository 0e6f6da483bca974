"""/projects."""

from tests.support.cases import cases
from tests.support.cast import Cast
from tests.support.story import event_types, events, invalid, malformed, ok, refused, walk

NOWHERE = "01900000-0000-7000-8000-000000000000"


def test_a_project_has_every_documented_field_and_default_states(cast: Cast, app) -> None:
    answer = cast.ada.post(
        "/projects", {"key": "OPS", "name": " Operations ", "description": " d "}
    )
    project = ok(answer, 201)
    assert project == {
        "id": project["id"],
        "key": "OPS",
        "name": "Operations",
        "description": " d ",
        "owner_user_id": cast.ada.user_id,
        "sign_off": False,
        "review_state_id": None,
        "bot_creation_limit": 100,
        "created_at": project["created_at"],
        "updated_at": project["created_at"],
        "deleted_at": None,
    }
    assert answer.headers["Location"].endswith(f"/api/v1/projects/{project['id']}")
    states = ok(cast.scout.get(f"/projects/{project['id']}/workflow-states"))["data"]
    assert [(state["position"], state["name"], state["category"]) for state in states] == [
        (0, "Backlog", "backlog"),
        (1, "To do", "active"),
        (2, "In progress", "active"),
        (3, "In review", "active"),
        (4, "Done", "done"),
    ]
    assert event_types(app, project_id=project["id"]) == [
        "project.created",
        *["workflow_state.created"] * 5,
    ]
    assert {event.category for event in events(app, project_id=project["id"])} == {"audit_only"}


@cases("key", ["o", "O", "ops", "1OPS", "OPERATIONSX", "OP-S", "ÖPS", "OPS\n", ""])
def test_what_is_no_key(cast: Cast, key: str) -> None:
    invalid(cast.ada.post("/projects", {"key": key, "name": "x"}), "key")


def test_a_key_is_never_used_twice(cast: Cast) -> None:
    refused(
        cast.ada.post("/projects", {"key": "OPEN", "name": "x"}),
        409,
        "resource.conflict",
        reason="duplicate_key",
    )
    ok(cast.ada.delete(f"/projects/{cast.open_project}"), 204)
    refused(cast.ada.post("/projects", {"key": "OPEN", "name": "x"}), 409, "resource.conflict")


def test_the_owner_is_an_active_human(cast: Cast) -> None:
    for owner in (cast.smith.user_id, NOWHERE):
        body = {"key": "OPS", "name": "x", "owner_user_id": owner}
        invalid(cast.ada.post("/projects", body), "owner_user_id")
    body = {"key": "OPS", "name": "x", "owner_user_id": cast.bo.user_id}
    assert ok(cast.ada.post("/projects", body), 201)["owner_user_id"] == cast.bo.user_id


def test_changes(cast: Cast, app) -> None:
    path = f"/projects/{cast.open_project}"
    changed = ok(cast.ada.patch(path, {"name": "New", "owner_user_id": cast.bo.user_id}))
    assert (changed["name"], changed["owner_user_id"]) == ("New", cast.bo.user_id)
    ok(cast.ada.patch(path, {"name": "New"}))
    (event,) = events(app, event_type="project.updated")
    assert event.payload["changes"]["name"] == {"from": "Open project", "to": "New"}
    invalid(cast.ada.patch(path, {"key": "NEW"}), "key", "immutable")
    malformed(cast.ada.patch(path, {"nope": 1}), ["body", "nope"], "unknown_field")
    invalid(cast.ada.patch(path, {"description": "x" * 16_385}), "description", "too_long")


def test_deletion(cast: Cast, app) -> None:
    path = f"/projects/{cast.open_project}"
    ok(cast.ada.delete(path), 204)
    refused(cast.ada.get(path), 410, "resource.gone", resource="project", id=cast.open_project)
    refused(cast.ada.delete(path), 410, "resource.gone")
    refused(cast.ada.get(f"{path}/labels"), 410, "resource.gone", resource="project")
    assert ok(cast.ada.get(f"{path}?include_deleted=true"))["deleted_at"] is not None
    refused(cast.smith.get(f"{path}?include_deleted=true"), 403, "auth.forbidden")
    assert [row["key"] for row in ok(cast.ada.get("/projects"))["data"]] == ["FENCED"]
    shown = ok(cast.ada.get("/projects?include_deleted=true"))["data"]
    assert [row["key"] for row in shown] == ["FENCED", "OPEN"]
    assert event_types(app, event_type="project.deleted") == ["project.deleted"]


def test_what_bots_see(cast: Cast) -> None:
    assert [row["key"] for row in walk(cast.fenced, "/projects", 1)] == ["FENCED"]
    assert [row["key"] for row in walk(cast.scout, "/projects", 1)] == ["FENCED", "OPEN"]
    refused(cast.fenced.get(f"/projects/{cast.open_project}"), 404, "resource.not_found")
    ok(cast.fenced.get(f"/projects/{cast.fenced_project}"))


def test_only_humans_change_projects(cast: Cast) -> None:
    path = f"/projects/{cast.open_project}"
    for bot in (cast.scout, cast.smith, cast.fenced):
        for answer in (
            bot.post("/projects", {"key": "OPS", "name": "x"}),
            bot.patch(path, {"name": "x"}),
            bot.delete(path),
            bot.post(f"{path}/labels", {"name": "x"}),
            bot.post(f"{path}/workflow-states", {"name": "x", "category": "done"}),
            bot.post(f"{path}/workflow-states/reorder", {"state_ids": []}),
        ):
            refused(answer, 403, "auth.forbidden", reason="humans_only")
