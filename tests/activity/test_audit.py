"""audit.list and audit.get: the log as humans read it."""

from datetime import UTC, datetime, timedelta
from urllib.parse import quote

import pytest

from app.activity.service import matching
from app.core import ids
from tests.support.statements import statements
from tests.support.story import (
    event_types,
    events,
    invalid,
    make_ticket,
    malformed,
    ok,
    refused,
    walk,
)

FIELDS = {
    "id",
    "workspace_id",
    "category",
    "event_type",
    "actor_user_id",
    "actor_kind",
    "actor",
    "target_kind",
    "target_id",
    "project_id",
    "ticket_id",
    "payload",
    "request_id",
    "tool_invocation_log_id",
    "created_at",
}


def listed(caller, query=""):
    return ok(caller.get(f"/audit{query}"))["data"]


def test_it_shows_every_column_and_the_actor(cast):
    response = cast.smith.post(f"/projects/{cast.open_project}/tickets", {"title": "New"})
    ticket = ok(response, 201)
    made = next(one for one in listed(cast.ada) if one["event_type"] == "ticket.created")
    assert set(made) == FIELDS
    assert made["category"] == "activity"
    assert (made["target_kind"], made["target_id"]) == ("ticket", ticket["id"])
    assert (made["project_id"], made["ticket_id"]) == (cast.open_project, ticket["id"])
    assert made["actor_kind"] == "bot"
    assert made["actor"] == {
        "id": cast.smith.user_id,
        "type": "bot",
        "username": "smith",
        "display_name": "Smith",
    }
    assert made["request_id"] == response.headers["X-Request-Id"]
    assert made["payload"]["display_id"] == "OPEN-1"
    assert ok(cast.ada.get(f"/audit/{made['id']}")) == made | {"receipt": None, "proof": None}
    assert ok(cast.ada.get(f"/audit/{made['id'].upper()}")) == made | {
        "receipt": None,
        "proof": None,
    }


def test_it_is_newest_first_without_a_default_window(app, cast):
    for number in range(3):
        make_ticket(cast.ada, cast.open_project, str(number))
    found = [event["event_type"] for event in listed(cast.ada)]
    assert found == event_types(app)[::-1]
    assert [event["id"] for event in walk(cast.ada, "/audit", 2)] == [
        event["id"] for event in listed(cast.ada)
    ]


def test_a_system_event_has_no_actor(app, cast):
    ok(cast.nobody.post("/auth/login", {"username": "none", "password": "x" * 12}), 401)
    failure = listed(cast.ada, "?event_type=auth.login.failure")[0]
    assert (failure["actor"], failure["actor_user_id"], failure["actor_kind"]) == (
        None,
        None,
        "system",
    )


def test_an_unknown_event_is_not_found(cast):
    for name in (ids.new_id(), "none", "%00"):
        response = cast.ada.get(f"/audit/{name}")
        refused(response, 404, "resource.not_found", resource="audit_event")


@pytest.fixture(name="log")
def _log(cast):
    first = make_ticket(cast.ada, cast.open_project)
    make_ticket(cast.smith, cast.fenced_project)
    answer = cast.bo.patch(f"/tickets/{first['id']}", {"title": "Changed"})
    ok(answer)
    return first, answer.headers["X-Request-Id"]


def test_each_filter_narrows_by_equality(cast, log):
    ticket, request_id = log
    wanted = {
        "actor_user_id": cast.smith.user_id,
        "event_type": "ticket.updated",
        "category": "activity",
        "project_id": cast.fenced_project,
        "ticket_id": ticket["id"],
        "request_id": request_id,
    }
    everything = listed(cast.ada)
    for name, value in wanted.items():
        found = listed(cast.ada, f"?{name}={value}")
        assert found == [event for event in everything if event[name] == value], name
        assert 0 < len(found) < len(everything), name
    both = listed(cast.ada, f"?ticket_id={ticket['id']}&event_type=ticket.created")
    assert [event["event_type"] for event in both] == ["ticket.created"]
    assert listed(cast.ada, f"?ticket_id={ids.new_id()}") == []
    assert listed(cast.ada, f"?ticket_id={ticket['id'].upper()}&no_such=1") == listed(
        cast.ada, f"?ticket_id={ticket['id']}"
    )


def at(milliseconds, hours=0):
    moment = datetime.fromtimestamp(milliseconds / 1000, UTC) + timedelta(hours=hours)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{milliseconds % 1000:03d}"


def test_since_and_until_are_both_inclusive(app, cast, log):
    moment = events(app, event_type="ticket.updated")[0].created_at
    alone = f"?event_type=ticket.updated&since={at(moment)}Z&until={at(moment)}Z"
    assert len(listed(cast.ada, alone)) == 1
    assert listed(cast.ada, f"?event_type=ticket.updated&since={at(moment + 1)}Z") == []
    assert listed(cast.ada, f"?event_type=ticket.updated&until={at(moment - 1)}Z") == []


def test_a_part_of_a_millisecond_excludes_what_came_before_it(app, cast, log):
    moment = events(app, event_type="ticket.updated")[0].created_at
    assert listed(cast.ada, f"?event_type=ticket.updated&since={at(moment)}5Z") == []
    assert len(listed(cast.ada, f"?event_type=ticket.updated&until={at(moment)}5Z")) == 1


@pytest.mark.parametrize("plus", ["%2B", "+"])
def test_an_offset_counts_however_its_plus_is_sent(app, cast, log, plus):
    moment = events(app, event_type="ticket.updated")[0].created_at
    query = "?event_type=ticket.updated&{}={}" + plus + "02:00"
    assert len(listed(cast.ada, query.format("since", at(moment, 2)))) == 1
    assert listed(cast.ada, query.format("since", at(moment + 1, 2))) == []
    assert len(listed(cast.ada, query.format("until", at(moment, 2)))) == 1
    west = f"?event_type=ticket.updated&since={at(moment, -3)}-03:00"
    assert len(listed(cast.ada, west)) == 1


@pytest.mark.one_database
@pytest.mark.parametrize(
    "text",
    [
        "",
        "now",
        "2026-11-20",
        "1795202638",
        "2026-11-20T19:23:58",
        "2026-11-20 19:23:58Z",
        "2026-11-20T19:23Z",
        "2026-11-20T24:00:00Z",
        "2026-02-30T00:00:00Z",
        "2026-11-20T19:23:58.Z",
        "2026-11-20T19:23:58+0200",
        "2026-11-20T19:23:58+24:00",
        "2026-11-20T19:23:58+01:60",
        "２０２６-11-20T19:23:58Z",
        "2026-11-20T19:23:58Z\n",
        "0000-01-01T00:00:00Z",
        "2026-W47-5T00:00:00Z",
    ],
)
def test_a_time_that_is_none_is_refused(cast, text):
    for name in ("since", "until"):
        response = cast.ada.get(f"/audit?{name}={quote(text)}")
        malformed(response, ["query", name], "invalid_value")


def test_times_at_the_ends_of_the_calendar_are_times(cast):
    assert listed(cast.ada, "?since=9999-12-31T23:59:59.999999999-23:59") == []
    assert listed(cast.ada, "?until=0001-01-01T00:00:00%2B23:59") == []
    assert listed(cast.ada, "?since=0001-01-01t00:00:00z&until=9999-12-31T23:59:59Z") != []


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("ticket_id=OPEN-1", "ticket_id"),
        ("project_id=OPEN", "project_id"),
        ("actor_user_id=ada", "actor_user_id"),
        ("request_id=1", "request_id"),
        ("event_type=ticket.exploded", "event_type"),
        ("category=secret", "category"),
    ],
)
def test_a_filter_of_the_wrong_form_is_refused(cast, query, name):
    malformed(cast.ada.get(f"/audit?{query}"), ["query", name], "invalid_value")


def test_paging_is_checked(cast):
    invalid(cast.ada.get("/audit?limit=0"), "limit")
    invalid(cast.ada.get("/audit?limit=201"), "limit")
    error = refused(cast.ada.get("/audit?cursor=x"), 400, "validation.invalid_field")
    assert error["details"]["field"] == "cursor"


def test_the_log_is_for_humans_only(cast):
    for bot in (cast.scout, cast.smith, cast.fenced):
        for path in ("/audit", f"/audit/{ids.new_id()}", "/audit?ticket_id=OPEN-1"):
            refused(bot.get(path), 403, "auth.forbidden", reason="humans_only")


def test_no_method_changes_the_log(cast):
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        response = cast.ada.call(method, "/audit")
        refused(response, 405, "request.method_not_allowed")
        assert response.headers["Allow"] == "GET"


def test_a_page_costs_the_same_queries_however_long_it_is(app, cast):
    for number in range(10):
        make_ticket(cast.ada if number % 2 else cast.smith, cast.open_project, str(number))
    with statements(app) as seen:
        ok(cast.ada.get("/audit?limit=1"))
        short = len(seen)
        ok(cast.ada.get("/audit?limit=20"))
    assert 0 < short == len(seen) - short


def test_a_misspelled_filter_does_not_show_the_whole_log():
    with pytest.raises(TypeError):
        matching(actor="0")
