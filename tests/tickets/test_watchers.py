"""/tickets/{id}/watchers."""

from tests.support.cast import Cast
from tests.support.story import events, invalid, make_ticket, malformed, ok, refused


def test_watching_and_unwatching(cast: Cast, app) -> None:
    make_ticket(cast.ada, cast.open_project)
    answer = cast.smith.post("/tickets/OPEN-1/watchers")
    made = ok(answer, 201)
    assert made["user"]["username"] == "smith"
    assert answer.headers["Location"].endswith(f"/watchers/{cast.smith.user_id}")
    assert ok(cast.smith.post("/tickets/OPEN-1/watchers"), 200) == made
    ok(cast.ada.post("/tickets/OPEN-1/watchers", {"user_id": cast.bo.user_id}), 201)
    rows = ok(cast.scout.get("/tickets/OPEN-1/watchers"))["data"]
    assert {row["user_id"] for row in rows} == {cast.smith.user_id, cast.bo.user_id}
    ok(cast.ada.delete(f"/tickets/OPEN-1/watchers/{cast.smith.user_id}"), 204)
    refused(
        cast.ada.delete(f"/tickets/OPEN-1/watchers/{cast.smith.user_id}"),
        404,
        "resource.not_found",
        resource="watcher",
    )
    assert [
        event.payload["username"] for event in events(app, event_type="ticket.watcher_added")
    ] == [
        "smith",
        "bo",
    ]
    assert len(events(app, event_type="ticket.watcher_removed")) == 1


def test_bots_speak_for_themselves_alone(cast: Cast) -> None:
    make_ticket(cast.ada, cast.open_project)
    path = "/tickets/OPEN-1/watchers"
    refused(
        cast.smith.post(path, {"user_id": cast.bo.user_id}),
        403,
        "auth.forbidden",
        reason="humans_only",
    )
    ok(cast.ada.post(path), 201)
    refused(cast.smith.delete(f"{path}/{cast.ada.user_id}"), 403, "auth.forbidden")
    ok(cast.smith.post(path, {"user_id": cast.smith.user_id}), 201)
    ok(cast.smith.delete(f"{path}/{cast.smith.user_id}"), 204)


def test_unfit_watchers(cast: Cast) -> None:
    make_ticket(cast.ada, cast.open_project)
    path = "/tickets/OPEN-1/watchers"
    invalid(cast.ada.post(path, {"user_id": cast.fenced.user_id}), "user_id")
    invalid(cast.ada.post(path, {"user_id": "01900000-0000-7000-8000-000000000000"}), "user_id")
    malformed(cast.ada.post(path, {"user_id": "bo"}), ["body", "user_id"], "invalid_value")


def test_who_may_watch(cast: Cast) -> None:
    make_ticket(cast.ada, cast.open_project)
    refused(cast.scout.post("/tickets/OPEN-1/watchers"), 403, "auth.read_only_bot")
    refused(cast.fenced.post("/tickets/OPEN-1/watchers"), 403, "auth.forbidden")
    refused(cast.fenced.get("/tickets/OPEN-1/watchers"), 404, "resource.not_found")
