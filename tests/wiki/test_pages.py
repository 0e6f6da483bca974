"""/wiki/pages."""

import pytest

from tests.support.cases import cases
from tests.support.cast import Caller, Cast
from tests.support.story import events, invalid, malformed, ok, refused, walk

NOWHERE = "01900000-0000-7000-8000-000000000000"


def make_page(caller: Caller, title: str = "A page", **fields):
    return ok(caller.post("/wiki/pages", {"title": title, **fields}), 201)


def test_a_page_has_every_documented_field(cast: Cast, app) -> None:
    answer = cast.ada.post("/wiki/pages", {"title": " Über uns! ", "body": " # Hi\n"})
    page = ok(answer, 201)
    assert page == {
        "id": page["id"],
        "slug": "uber-uns",
        "title": "Über uns!",
        "body": " # Hi\n",
        "project_id": None,
        "revision_number": 1,
        "created_by_user_id": cast.ada.user_id,
        "updated_by_user_id": cast.ada.user_id,
        "created_at": page["created_at"],
        "updated_at": page["created_at"],
        "deleted_at": None,
    }
    assert answer.headers["Location"].endswith(f"/api/v1/wiki/pages/{page['id']}")
    found = cast.scout.get(f"/wiki/pages/{page['id']}")
    assert ok(found) == page
    assert found.headers["ETag"].endswith(f'-{page["id"][-8:]}"')
    (event,) = events(app, event_type="wiki.created")
    assert (event.category, event.target_id, event.project_id) == ("activity", page["id"], None)


def test_slugs_made_from_titles_are_unique_in_their_scope(cast: Cast) -> None:
    slugs = [make_page(cast.ada, "Set up!")["slug"] for _ in range(3)]
    assert slugs == ["set-up", "set-up-2", "set-up-3"]
    assert make_page(cast.ada, "Set up", project_id=cast.open_project)["slug"] == "set-up"
    assert make_page(cast.ada, "日本")["slug"] == "page"
    assert make_page(cast.ada, NOWHERE)["slug"] == f"page-{NOWHERE}"
    assert len(make_page(cast.ada, "x" * 200)["slug"]) <= 128


@cases("slug", ["", "Caps", "a--b", "-a", "a-", "a b", "a_b", "a\n", NOWHERE, "ü"])
def test_what_is_no_slug(cast: Cast, slug: str) -> None:
    invalid(cast.ada.post("/wiki/pages", {"title": "x", "slug": slug}), "slug")


def test_a_given_slug_that_is_taken(cast: Cast) -> None:
    make_page(cast.ada, slug="setup")
    answer = cast.ada.post("/wiki/pages", {"title": "x", "slug": "setup"})
    refused(answer, 409, "resource.conflict", reason="duplicate_key")
    make_page(cast.ada, slug="setup", project_id=cast.open_project)
    invalid(cast.ada.post("/wiki/pages", {"title": "x", "slug": "s" * 129}), "slug", "too_long")


def test_a_slug_is_free_again_after_deletion(cast: Cast) -> None:
    page = make_page(cast.ada, slug="setup")
    ok(cast.ada.delete(f"/wiki/pages/{page['id']}"), 204)
    make_page(cast.ada, slug="setup")


def test_slug_lookup_knows_scopes(cast: Cast) -> None:
    common = make_page(cast.ada, "Common", slug="setup")
    own = make_page(cast.ada, "Own", slug="setup", project_id=cast.open_project)
    alone = make_page(cast.ada, "Alone", slug="alone", project_id=cast.fenced_project)

    def found(caller: Caller, slug: str, project: str | None = None):
        query = f"?project_id={project}" if project else ""
        return caller.get(f"/wiki/pages/{slug}{query}")

    refused(
        found(cast.ada, "setup"),
        422,
        "validation.invalid_field",
        field="slug",
        reason="ambiguous_slug",
    )
    assert ok(found(cast.ada, "setup", "null"))["id"] == common["id"]
    assert ok(found(cast.ada, "setup", cast.open_project))["id"] == own["id"]
    assert ok(found(cast.ada, "setup", cast.fenced_project))["id"] == common["id"]
    assert ok(found(cast.fenced, "setup"))["id"] == common["id"]
    assert ok(found(cast.fenced, "setup", cast.open_project))["id"] == common["id"]
    assert ok(found(cast.smith, "alone"))["id"] == alone["id"]
    refused(found(cast.ada, "alone", "null"), 404, "resource.not_found")
    malformed(found(cast.ada, "setup", "x"), ["query", "project_id"], "invalid_value")
    refused(found(cast.ada, "no-such-page"), 404, "resource.not_found", resource="wiki_page")
    refused(found(cast.ada, "No%20Slug"), 404, "resource.not_found")


def test_a_slug_of_a_deleted_project(cast: Cast) -> None:
    gone = make_page(cast.ada, "Gone", slug="gone", project_id=cast.fenced_project)
    make_page(cast.ada, "Both", slug="both", project_id=cast.fenced_project)
    common = make_page(cast.ada, "Common", slug="both")
    ok(cast.ada.delete(f"/projects/{cast.fenced_project}"), 204)
    for query in ("", f"?project_id={cast.fenced_project}"):
        answer = cast.ada.get(f"/wiki/pages/gone{query}")
        refused(answer, 410, "resource.gone", resource="project", id=cast.fenced_project)
        assert ok(cast.ada.get(f"/wiki/pages/both{query}"))["id"] == common["id"]
    for query in ("?project_id=null", f"?project_id={cast.open_project}"):
        refused(cast.ada.get(f"/wiki/pages/gone{query}"), 404, "resource.not_found")
    shown = ok(cast.ada.get("/wiki/pages/gone?include_deleted=true"))
    assert shown["id"] == gone["id"]


def test_a_deleted_page(cast: Cast, app) -> None:
    page = make_page(cast.ada, slug="setup")
    path = f"/wiki/pages/{page['id']}"
    ok(cast.ada.delete(path), 204)
    for answer in (
        cast.ada.get(path),
        cast.ada.get("/wiki/pages/setup"),
        cast.ada.patch(path, {"title": "x"}),
        cast.ada.delete(path),
        cast.ada.get(f"{path}/revisions"),
        cast.ada.get(f"{path}/backlinks"),
    ):
        refused(answer, 410, "resource.gone", resource="wiki_page")
    for reading in (path, "/wiki/pages/setup", f"{path}/revisions", f"{path}/backlinks"):
        ok(cast.ada.get(f"{reading}?include_deleted=true"))
        refused(cast.smith.get(f"{reading}?include_deleted=true"), 403, "auth.forbidden")
    assert ok(cast.ada.get("/wiki/pages"))["data"] == []
    assert len(ok(cast.ada.get("/wiki/pages?include_deleted=true"))["data"]) == 1
    assert [event.payload["slug"] for event in events(app, event_type="wiki.deleted")] == ["setup"]


def test_lists_leave_bodies_out(cast: Cast) -> None:
    common = make_page(cast.ada, "Common", body="x")
    own = make_page(cast.ada, "Own", project_id=cast.open_project)
    hidden = make_page(cast.ada, "Hidden", project_id=cast.fenced_project)
    rows = walk(cast.ada, "/wiki/pages", 2)
    assert [row["id"] for row in rows] == [hidden["id"], own["id"], common["id"]]
    assert all("body" not in row for row in rows)
    assert [row["id"] for row in walk(cast.fenced, "/wiki/pages", 2)] == [
        hidden["id"],
        common["id"],
    ]
    assert [row["id"] for row in walk(cast.ada, "/wiki/pages?project_id=null", 2)] == [common["id"]]
    path = f"/wiki/pages?project_id={cast.open_project}"
    assert [row["id"] for row in walk(cast.ada, path, 2)] == [own["id"]]
    assert walk(cast.fenced, path, 2) == []


def test_saving_makes_revisions(cast: Cast, app) -> None:
    page = make_page(cast.ada, body="one", project_id=cast.open_project)
    path = f"/wiki/pages/{page['id']}"
    saved = ok(cast.smith.patch(path, {"title": "New", "body": "two", "summary": " why "}))
    assert (saved["revision_number"], saved["updated_by_user_id"]) == (2, cast.smith.user_id)
    same = ok(cast.smith.patch(path, {"title": "New", "body": "two", "summary": "nothing"}))
    assert same["revision_number"] == 2
    rows = walk(cast.scout, f"{path}/revisions", 1)
    assert [(row["revision_number"], row["summary"]) for row in rows] == [(2, " why "), (1, "")]
    assert all("body" not in row for row in rows)
    assert rows[0]["author"]["username"] == "smith"
    first = ok(cast.scout.get(f"{path}/revisions/{rows[1]['id']}"))
    assert (first["body"], first["title"]) == ("one", "A page")
    (event,) = events(app, event_type="wiki.updated")
    assert event.payload["changes"] == {"title": {"from": "A page", "to": "New"}}
    assert event.payload["body_changed"] is True
    assert event.payload["revision_id"] == rows[0]["id"]
    for missing in (NOWHERE, "x"):
        answer = cast.ada.get(f"{path}/revisions/{missing}")
        refused(answer, 404, "resource.not_found", resource="revision", id=missing)


def test_if_match(cast: Cast) -> None:
    page = make_page(cast.ada)
    path = f"/wiki/pages/{page['id']}"
    seen = cast.ada.get(path).headers["ETag"]
    ok(cast.bo.patch(path, {"body": "x"}, headers={"If-Match": seen}))
    late = cast.ada.patch(path, {"body": "y"}, headers={"If-Match": seen})
    refused(late, 409, "resource.conflict", reason="etag_mismatch")
    refused(cast.ada.delete(path, headers={"If-Match": seen}), 409, "resource.conflict")
    assert cast.ada.get(path, headers={"If-None-Match": seen}).status_code == 200


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"title": " "}, "title"),
        ({"title": "x" * 201}, "title"),
        ({"body": "x" * 1_048_577}, "body"),
        ({"body": "a\x00"}, "body"),
        ({"project_id": NOWHERE}, "project_id"),
    ],
)
def test_refused_contents(cast: Cast, fields: dict, field: str) -> None:
    invalid(cast.ada.post("/wiki/pages", {"title": "x", **fields}), field)


def test_what_a_save_may_not_change(cast: Cast) -> None:
    path = f"/wiki/pages/{make_page(cast.ada)['id']}"
    for field in ("slug", "project_id", "revision_number", "id"):
        invalid(cast.ada.patch(path, {field: "x"}), field, "immutable")
    invalid(cast.ada.patch(path, {"summary": "s" * 201}), "summary", "too_long")
    malformed(cast.ada.patch(path, {"nope": 1}), ["body", "nope"], "unknown_field")


def test_who_may_write_where(cast: Cast) -> None:
    common = make_page(cast.ada)
    own = make_page(cast.ada, project_id=cast.open_project)
    new = {"title": "x"}
    refused(cast.nobody.post("/wiki/pages", new), 401, "auth.unauthenticated")
    refused(cast.scout.post("/wiki/pages", new), 403, "auth.read_only_bot")
    for answer in (
        cast.smith.post("/wiki/pages", new),
        cast.smith.patch(f"/wiki/pages/{common['id']}", new),
        cast.smith.delete(f"/wiki/pages/{common['id']}"),
    ):
        refused(answer, 403, "auth.forbidden", reason="bot_cannot_edit_global_wiki")
    make_page(cast.smith, project_id=cast.open_project)
    for answer in (
        cast.fenced.post("/wiki/pages", {**new, "project_id": cast.open_project}),
        cast.fenced.patch(f"/wiki/pages/{own['id']}", new),
    ):
        refused(answer, 403, "auth.forbidden", reason="project_not_in_allowlist")
    refused(cast.fenced.get(f"/wiki/pages/{own['id']}"), 404, "resource.not_found")
    refused(cast.ada.patch("/wiki/pages/a-page", new), 404, "resource.not_found", id="a-page")


def test_a_bot_that_may_edit_global_pages(cast: Cast) -> None:
    ok(cast.ada.patch(f"/bots/{cast.smith.user_id}", {"can_edit_global_wiki": True}))
    page = make_page(cast.smith)
    ok(cast.smith.patch(f"/wiki/pages/{page['id']}", {"body": "x"}))


def test_pages_of_a_deleted_project(cast: Cast) -> None:
    page = make_page(cast.ada, slug="setup", project_id=cast.open_project)
    ok(cast.ada.delete(f"/projects/{cast.open_project}"), 204)
    path = f"/wiki/pages/{page['id']}"
    refused(cast.ada.get(path), 410, "resource.gone", resource="project")
    refused(cast.ada.patch(path, {"title": "x"}), 410, "resource.gone", resource="project")
    refused(cast.ada.get("/wiki/pages/setup"), 410, "resource.gone", resource="project")
    assert ok(cast.ada.get("/wiki/pages"))["data"] == []
