"""tickets.activity.list and projects.activity.list: what happened, for callers who may see it."""

from app.audit.service import Target, record
from app.core.actor import SYSTEM
from tests.support.cast import in_app
from tests.support.story import events, make_label, make_ticket, ok, refused, walk


def types(caller, path):
    return [event["event_type"] for event in ok(caller.get(path))["data"]]


def test_a_ticket_shows_what_happened_to_it_newest_first(cast):
    ticket = make_ticket(cast.ada, cast.open_project)
    make_ticket(cast.ada, cast.open_project, "Another")
    path = f"/tickets/{ticket['id']}"
    ok(cast.bo.post(f"{path}/comments", {"body": "Words"}), 201)
    ok(cast.ada.patch(path, {"title": "Changed"}))
    ok(cast.smith.post(f"{path}/watchers"), 201)
    expected = ["ticket.watcher_added", "ticket.updated", "comment.created", "ticket.created"]
    for caller in (cast.ada, cast.scout):
        assert types(caller, f"{path}/activity") == expected
    assert types(cast.ada, f"/tickets/{ticket['display_id']}/activity") == expected
    assert [row["event_type"] for row in walk(cast.ada, f"{path}/activity", 1)] == expected


def test_a_project_shows_the_activity_in_it_and_nothing_administrative(cast):
    make_label(cast.ada, cast.open_project, "odd")
    ticket = make_ticket(cast.ada, cast.open_project)
    make_ticket(cast.ada, cast.fenced_project)
    ok(cast.ada.patch(f"/projects/{cast.open_project}", {"name": "Renamed"}))
    ok(cast.ada.delete(f"/tickets/{ticket['id']}"), 204)
    path = f"/projects/{cast.open_project}/activity"
    assert types(cast.scout, path) == ["ticket.deleted", "ticket.created"]


def test_what_is_for_the_audit_log_alone_is_in_no_feed(app, cast):
    ticket = make_ticket(cast.ada, cast.open_project)
    target = Target("ticket", ticket["id"], cast.open_project, ticket["id"])
    in_app(app, lambda: record(SYSTEM, "audit.orphaned", target, event_type="x", reason="y"))
    assert len(ok(cast.ada.get(f"/audit?ticket_id={ticket['id']}"))["data"]) == 2
    for path in (f"/tickets/{ticket['id']}/activity", f"/projects/{cast.open_project}/activity"):
        assert types(cast.ada, path) == ["ticket.created"]


def test_feeds_lie_behind_the_allowlist(cast):
    ticket = make_ticket(cast.ada, cast.open_project)
    path = f"/tickets/{ticket['id']}/activity"
    refused(cast.fenced.get(path), 404, "resource.not_found", resource="ticket")
    path = f"/projects/{cast.open_project}/activity"
    refused(cast.fenced.get(path), 404, "resource.not_found", resource="project")
    make_ticket(cast.ada, cast.fenced_project)
    assert types(cast.fenced, f"/projects/{cast.fenced_project}/activity") == ["ticket.created"]


def test_feeds_of_deleted_things_are_gone(cast):
    ticket = make_ticket(cast.ada, cast.open_project)
    ok(cast.ada.delete(f"/tickets/{ticket['id']}"), 204)
    refused(cast.ada.get(f"/tickets/{ticket['id']}/activity"), 410, "resource.gone")
    ok(cast.ada.delete(f"/projects/{cast.open_project}"), 204)
    refused(cast.ada.get(f"/projects/{cast.open_project}/activity"), 410, "resource.gone")


def test_a_relation_tells_a_fenced_bot_nothing_of_the_other_project(app, cast):
    inside = make_ticket(cast.ada, cast.fenced_project)
    outside = make_ticket(cast.ada, cast.open_project)
    body = {"type": "blocks", "target_ticket_id": outside["id"]}
    ok(cast.ada.post(f"/tickets/{inside['id']}/relations", body), 201)
    path = f"/tickets/{inside['id']}/activity"
    for caller, shown in ((cast.fenced, None), (cast.scout, "OPEN-1"), (cast.ada, "OPEN-1")):
        payload = ok(caller.get(path))["data"][0]["payload"]
        assert payload["target_display_id"] == shown
        assert payload["target_ticket_id"] == (shown and outside["id"])
        assert payload["source_display_id"] == "FENCED-1"
    # The stored event remains complete.
    assert events(app, event_type="ticket.relation_added")[0].payload["target_ticket_id"]


def test_a_cursor_of_one_feed_serves_another(cast):
    for number in range(3):
        make_ticket(cast.ada, cast.open_project, str(number))
    path = f"/projects/{cast.open_project}/activity"
    page = ok(cast.ada.get(f"{path}?limit=1"))
    cursor = page["page"]["next_cursor"]
    rest = ok(cast.ada.get(f"{path}?cursor={cursor}"))["data"]
    assert rest == ok(cast.ada.get(f"/audit?category=activity&cursor={cursor}"))["data"]
    assert len(rest) == 2
