"""/sticky-notes and /projects/{id}/sticky-notes."""

from tests.support.cases import cases
from tests.support.cast import Cast
from tests.support.story import events, invalid, malformed, ok, refused, walk

NOWHERE = "01900000-0000-7000-8000-000000000000"


def project_note(cast: Cast, caller=None, **fields):
    body = {"body": "A note", **fields}
    path = f"/projects/{cast.open_project}/sticky-notes"
    return ok((caller or cast.ada).post(path, body), 201)


def personal_note(cast: Cast, **fields):
    return ok(cast.ada.post("/sticky-notes", {"body": "Mine", **fields}), 201)


def test_a_note_has_every_documented_field(cast: Cast) -> None:
    answer = cast.smith.post(
        f"/projects/{cast.open_project}/sticky-notes", {"body": " b ", "color": "#FFee00"}
    )
    note = ok(answer, 201)
    assert note == {
        "id": note["id"],
        "body": " b ",
        "color": "#FFee00",
        "project_id": cast.open_project,
        "created_by_user_id": cast.smith.user_id,
        "converted_to_ticket_id": None,
        "created_at": note["created_at"],
        "updated_at": note["created_at"],
    }
    assert answer.headers["Location"].endswith(f"/api/v1/sticky-notes/{note['id']}")


def test_personal_notes_are_seen_by_their_creator_alone(cast: Cast) -> None:
    note = personal_note(cast)
    assert [row["id"] for row in ok(cast.ada.get("/sticky-notes"))["data"]] == [note["id"]]
    path = f"/sticky-notes/{note['id']}"
    for other in (cast.bo, cast.smith, cast.fenced):
        assert ok(other.get("/sticky-notes"))["data"] == []
        for answer in (
            other.patch(path, {"body": "x"}),
            other.delete(path),
            other.post(f"{path}/convert-to-ticket", {"project_id": cast.fenced_project}),
        ):
            refused(answer, 404, "resource.not_found", resource="sticky_note", id=note["id"])


def test_bots_have_no_personal_notes(cast: Cast) -> None:
    for bot in (cast.scout, cast.smith):
        answer = bot.post("/sticky-notes", {"body": "x"})
        refused(answer, 403, "auth.forbidden", reason="bots_have_no_personal_notes")


def test_project_notes_follow_the_allowlist(cast: Cast) -> None:
    note = project_note(cast)
    path = f"/projects/{cast.open_project}/sticky-notes"
    assert len(ok(cast.scout.get(path))["data"]) == 1
    refused(cast.fenced.get(path), 404, "resource.not_found", resource="project")
    refused(cast.fenced.post(path, {"body": "x"}), 403, "auth.forbidden")
    answer = cast.fenced.patch(f"/sticky-notes/{note['id']}", {"body": "x"})
    refused(answer, 403, "auth.forbidden", reason="project_not_in_allowlist")
    refused(cast.scout.delete(f"/sticky-notes/{note['id']}"), 403, "auth.read_only_bot")
    ok(cast.bo.patch(f"/sticky-notes/{note['id']}", {"body": "anyone's"}))


def test_newest_first_in_pages(cast: Cast) -> None:
    made = [project_note(cast)["id"] for _ in range(3)]
    rows = walk(cast.ada, f"/projects/{cast.open_project}/sticky-notes", 2)
    assert [row["id"] for row in rows] == made[::-1]


@cases(
    "body, field",
    [
        ({"body": " \n"}, "body"),
        ({"body": "x" * 65_537}, "body"),
        ({"body": "\x00"}, "body"),
        ({"body": "x", "color": "red"}, "color"),
        ({"body": "x", "color": "#12345"}, "color"),
    ],
)
def test_refused_contents(cast: Cast, body: dict, field: str) -> None:
    invalid(cast.ada.post("/sticky-notes", body), field)
    note = personal_note(cast)
    invalid(cast.ada.patch(f"/sticky-notes/{note['id']}", body), field)


def test_changing(cast: Cast, app) -> None:
    note = project_note(cast, color="#111111")
    path = f"/sticky-notes/{note['id']}"
    changed = ok(cast.smith.patch(path, {"body": "B", "color": None}))
    assert (changed["body"], changed["color"]) == ("B", None)
    assert changed["updated_at"] > note["updated_at"]
    ok(cast.smith.patch(path, {"body": "B"}))
    (event,) = events(app, event_type="sticky_note.updated")
    assert event.payload["changes"]["body"] == {"from": "A note", "to": "B"}
    for field in ("project_id", "converted_to_ticket_id", "id"):
        invalid(cast.ada.patch(path, {field: None}), field, "immutable")
    malformed(cast.ada.patch(path, {"nope": 1}), ["body", "nope"], "unknown_field")


def test_deletion_is_permanent(cast: Cast) -> None:
    note = project_note(cast)
    ok(cast.smith.delete(f"/sticky-notes/{note['id']}"), 204)
    refused(cast.ada.delete(f"/sticky-notes/{note['id']}"), 404, "resource.not_found")


def test_events_of_personal_notes_say_nothing_of_them(cast: Cast, app) -> None:
    note = personal_note(cast, body="my secret", color="#123456")
    ok(cast.ada.patch(f"/sticky-notes/{note['id']}", {"body": "another secret"}))
    ok(cast.ada.delete(f"/sticky-notes/{note['id']}"), 204)
    found = events(app, target_kind="sticky_note")
    assert [event.event_type for event in found] == [
        "sticky_note.created",
        "sticky_note.updated",
        "sticky_note.deleted",
    ]
    assert {event.category for event in found} == {"audit_only"}
    assert "secret" not in str([event.payload for event in found])
    project_note(cast)
    assert events(app, event_type="sticky_note.created")[-1].category == "activity"


def test_notes_of_a_deleted_project(cast: Cast) -> None:
    note = project_note(cast)
    ok(cast.ada.delete(f"/projects/{cast.open_project}"), 204)
    refused(
        cast.ada.patch(f"/sticky-notes/{note['id']}", {"body": "x"}),
        410,
        "resource.gone",
        resource="project",
    )
