"""Feeds: made and revoked by their owners, read by whoever has the token, and well-formed."""

import logging
import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import text as sql
from werkzeug.test import Client

from app.database.session import reading, session
from app.feeds import pages, service
from app.feeds.writing import folded
from tests.support.story import events, make_ticket, ok
from tests.web.conftest import ada

__all__ = ["ada"]

ATOM = "{http://www.w3.org/2005/Atom}"


def parsed(content):
    return ElementTree.fromstring(content)  # noqa: S314 - our own


@pytest.fixture
def subscribe(ada):
    """Make a feed on the page; its path."""

    def run(about):
        page = ada.post("/profile/feeds", about=about)
        assert page.status_code == 200, page.text
        (address,) = re.findall(r'id="address" value="http://localhost([^"]+)"', page.text)
        return address

    return run


def unfolded(content):
    """The lines of a calendar, as RFC 5545 has a reader put them together."""
    assert content.endswith(b"\r\n")
    assert b"\n" not in content.replace(b"\r\n", b"")
    assert all(len(line) <= 75 for line in content.split(b"\r\n"))
    return content.replace(b"\r\n ", b"").decode().split("\r\n")[:-1]


def summaries(response):
    assert response.status_code == 200, response.text
    assert response.content_type == "text/calendar; charset=utf-8"
    lines = unfolded(response.data)
    assert (lines[0], lines[1], lines[-1]) == ("BEGIN:VCALENDAR", "VERSION:2.0", "END:VCALENDAR")
    return [line.removeprefix("SUMMARY:") for line in lines if line.startswith("SUMMARY:")]


def due(cast, title, day, project=None, **fields):
    return make_ticket(cast.ada, project or cast.open_project, title, due_date=day, **fields)


def test_my_calendar_has_my_open_tickets_by_their_days(cast, client, subscribe):
    path = subscribe("calendar")
    mine = {"assignee_user_id": cast.ada.user_id}
    due(cast, "Later", "2027-02-01", **mine)
    due(cast, "Sooner", "2027-01-31", cast.fenced_project, **mine)
    due(cast, "Of nobody", "2027-01-30")
    due(cast, "No day", None, **mine)
    gone = due(cast, "Gone", "2027-01-01", **mine)
    cast.ada.delete(f"/tickets/{gone['id']}")
    done = due(cast, "Done", "2027-01-01", **mine)
    states = ok(cast.ada.get(f"/projects/{cast.open_project}/workflow-states"))["data"]
    ok(cast.ada.post(f"/tickets/{done['id']}/transition", {"state_id": states[-1]["id"]}))
    assert summaries(client.get(path)) == ["FENCED-1 Sooner", "OPEN-1 Later"]
    lines = unfolded(client.get(path).data)
    assert "DTSTART;VALUE=DATE:20270131" in lines
    assert "URL:http://localhost/tickets/FENCED-1" in lines
    assert "X-WR-CALNAME:Docket: ada" in lines
    assert cast.ada.delete(f"/projects/{cast.fenced_project}").status_code == 204
    assert summaries(client.get(path)) == ["OPEN-1 Later"]


def test_a_calendar_without_tickets_has_a_component(client, subscribe):
    lines = unfolded(client.get(subscribe("calendar")).data)
    assert lines.count("BEGIN:VTIMEZONE") == lines.count("END:VTIMEZONE") == 1
    assert "BEGIN:VEVENT" not in lines


def test_the_calendar_of_a_project_has_everybodys(cast, client, subscribe):
    path = subscribe("calendar:OPEN")
    due(cast, "Of nobody", "2027-01-30")
    due(cast, "Elsewhere", "2027-01-30", cast.fenced_project)
    assert summaries(client.get(path)) == ["OPEN-1 Of nobody"]


def test_titles_are_text(cast, client, subscribe):
    path = subscribe("calendar:OPEN")
    title = "One; two, three\\four \x0b END:VEVENT " + "né😀" * 40
    due(cast, title, "2027-01-30")
    (line,) = summaries(client.get(path))
    assert line == ("OPEN-1 One\\; two\\, three\\\\four  END:VEVENT " + "né😀" * 40)
    assert unfolded(client.get(path).data).count("END:VEVENT") == 1


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=300))
def test_folding_splits_no_character_and_loses_none(line):
    pieces = list(folded(line))
    assert all(len(piece) <= 75 for piece in pieces)
    assert all(piece.startswith(b" ") for piece in pieces[1:])
    first, *rest = (piece.decode() for piece in pieces)
    assert first + "".join(piece[1:] for piece in rest) == line


def test_the_activity_of_a_project(cast, client, subscribe):
    path = subscribe("activity:OPEN")
    empty = parsed(client.get(path).data)
    assert empty.findall(f"{ATOM}entry") == []
    ticket = make_ticket(cast.ada, cast.open_project, 'A <b> & "c" \x07')
    cast.smith.post(f"/tickets/{ticket['id']}/comments", {"body": "It <squeaks> ]]> & so on"})
    make_ticket(cast.ada, cast.fenced_project, "Elsewhere")
    response = client.get(path)
    assert response.content_type == "application/atom+xml; charset=utf-8"
    feed = parsed(response.data)
    assert feed.findtext(f"{ATOM}title") == "Docket: Open project"
    comment, created = feed.findall(f"{ATOM}entry")
    assert created.findtext(f"{ATOM}title").startswith('Ada created OPEN-1, A <b> & "c"')
    assert comment.findtext(f"{ATOM}title") == "Smith (bot) commented on OPEN-1"
    assert comment.findtext(f"{ATOM}content") == "It <squeaks> ]]> & so on"
    assert comment.find(f"{ATOM}link").get("href") == "http://localhost/tickets/OPEN-1"
    assert comment.findtext(f"{ATOM}author/{ATOM}name") == "Smith (bot)"
    assert feed.findtext(f"{ATOM}updated") == comment.findtext(f"{ATOM}updated")
    assert path.split("/")[2] not in response.text


def test_a_comment_is_told_as_it_is_now(cast, client, subscribe):
    path = subscribe("activity:OPEN")
    ticket = make_ticket(cast.ada, cast.open_project)
    comments = f"/tickets/{ticket['id']}/comments"
    gone, edited = (cast.bo.post(comments, {"body": "Secret"}).json["id"] for _ in range(2))
    cast.bo.patch(f"/comments/{edited}", {"body": "Never mind"})
    cast.bo.delete(f"/comments/{gone}")
    response = client.get(path)
    assert "Secret" not in response.text
    assert response.text.count("Never mind") == 1
    assert response.text.count("Bo commented") == 2


def test_the_number_of_entries_is_bounded(cast, client, subscribe, monkeypatch):
    for number in range(4):
        due(cast, f"No {number}", f"2027-01-0{number + 1}")
    monkeypatch.setattr(service, "MAX_EVENTS", 2)
    monkeypatch.setattr(service, "_DUE", service._DUE.limit(3))
    assert len(summaries(client.get(subscribe("calendar:OPEN")))) == 3
    feed = parsed(client.get(subscribe("activity:OPEN")).data)
    assert len(feed.findall(f"{ATOM}entry")) == 2


def test_what_has_not_changed_is_not_sent_again(cast, client, subscribe):
    for about in ("calendar:OPEN", "activity:OPEN"):
        path = subscribe(about)
        due(cast, "One", "2027-01-01")
        tag = client.get(path).headers["ETag"]
        again = client.get(path, headers={"If-None-Match": tag})
        assert (again.status_code, again.data, again.headers["ETag"]) == (304, b"", tag)
        due(cast, "Two", "2027-01-02")
        fresh = client.get(path, headers={"If-None-Match": tag})
        assert fresh.status_code == 200
        assert fresh.headers["ETag"] != tag
        assert fresh.headers["Cache-Control"] == "private, no-cache"


def test_the_address_is_shown_once_and_replaced_by_the_next(app, cast, ada, client, subscribe):
    first = subscribe("calendar")
    token = first.split("/")[2]
    assert token not in ada.get("/profile/feeds").text
    assert "Due dates of my tickets" in ada.get("/profile/feeds").text
    second = subscribe("calendar")
    assert client.get(first).status_code == 404
    assert client.get(second).status_code == 200
    assert len(re.findall("/revoke", ada.get("/profile/feeds").text)) == 1
    kinds = [event.event_type for event in events(app) if event.event_type.startswith("feed.")]
    assert kinds == ["feed.created", "feed.revoked", "feed.created"]
    assert token not in str([event.payload for event in events(app)])


def test_the_list_has_pages(ada, subscribe, monkeypatch):
    monkeypatch.setattr(pages, "PAGE_SIZE", 2)
    for about in ("calendar", "calendar:OPEN", "activity:OPEN"):
        subscribe(about)
    first = ada.get("/profile/feeds").text
    (newer,) = re.findall(r'href="([^"]+)">Newer<', first)
    last = ada.get(newer).text
    assert [len(re.findall("/revoke", page)) for page in (first, last)] == [2, 1]
    assert ">Newer<" not in last
    assert '<a class="button tiny" href="/profile/feeds">Oldest<' in last
    assert ada.get("/profile/feeds?cursor=broken").location == "/profile/feeds"


def test_the_token_is_kept_as_a_hash_alone(app, subscribe):
    token = subscribe("calendar").split("/")[2]
    assert len(token) == 43
    with app.app_context(), reading():
        for table in ("feeds", "audit_events", "idempotency_records"):
            assert token not in str(session.execute(sql(f"SELECT * FROM {table}")).all())


def revoked(ada, cast):
    (revoke,) = re.findall(r'action="([^"]+/revoke)"', ada.get("/profile/feeds").text)
    assert ada.post(revoke).status_code == 303
    assert ada.post(revoke).status_code == 404


def deactivated(ada, cast):
    ok(cast.bo.patch(f"/users/{cast.ada.user_id}", {"is_active": False}))


def project_deleted(ada, cast):
    assert cast.ada.delete(f"/projects/{cast.open_project}").status_code == 204


@pytest.mark.parametrize("end", [revoked, deactivated, project_deleted])
def test_what_ends_a_feed(cast, ada, client, subscribe, end):
    path = subscribe("activity:OPEN")
    assert client.get(path).status_code == 200
    end(ada, cast)
    assert client.get(path).status_code == 404


def test_nobody_ends_the_feed_of_another(cast, ada, client, subscribe):
    path = subscribe("calendar")
    (revoke,) = re.findall(r'action="([^"]+/revoke)"', ada.get("/profile/feeds").text)
    assert cast.bo.client.post(revoke).status_code == 404
    assert "/revoke" not in cast.bo.client.get("/profile/feeds").text
    assert client.get(path).status_code == 200


def test_a_token_opens_its_own_feed_alone(cast, client, subscribe):
    calendar, activity = subscribe("calendar"), subscribe("activity:OPEN")
    for path in (
        calendar.replace("calendar.ics", "activity.atom"),
        activity.replace("activity.atom", "calendar.ics"),
        "/feed/nothing/calendar.ics",
        "/feed/%00/calendar.ics",
        f"/feed/{'x' * 5000}/activity.atom",
    ):
        assert client.get(path).status_code == 404
    token = calendar.split("/")[2]
    assert client.get("/api/v1/auth/me", headers={"X-API-Key": token}).status_code == 401
    for method in ("POST", "PUT", "DELETE"):
        assert client.open(calendar, method=method).status_code == 405


def test_a_wrong_token_counts_as_a_failure(app, subscribe):
    seen = []

    def judge(environ, start_response):
        answer = app.wsgi_app(environ, start_response)
        seen.append("docket.failed" in environ)
        return answer

    good = subscribe("calendar")
    Client(judge).get(good, base_url="http://localhost")
    Client(judge).get("/feed/wrong/calendar.ics", base_url="http://localhost")
    assert seen == [False, True]


@pytest.mark.parametrize(
    ("about", "status"),
    [
        ("", 422),
        ("nothing", 422),
        ("activity", 422),
        ("calendar:NOPE", 404),
        ("calendar:\x00", 422),
    ],
)
def test_what_a_feed_may_not_be(ada, about, status):
    assert ada.post("/profile/feeds", about=about).status_code == status


def test_the_token_is_in_no_log(client, subscribe, caplog):
    path = subscribe("calendar")
    with caplog.at_level(logging.DEBUG):
        client.get(path)
        client.get(path.replace("/feed/", "//feed//"))
        client.get(f"{path}/more")
    token = path.split("/")[2]
    assert token not in str([vars(record) for record in caplog.records])


def test_a_feed_is_made_listed_and_revoked_over_rest(cast, client):
    """By the verbs of the page: its address is shown once, and others cannot see or end it."""
    given = {"kind": "activity", "project_id": cast.open_project}
    made = ok(cast.ada.post("/users/me/feeds", given), 201)
    path = made.pop("address").removeprefix("http://localhost")
    assert path.startswith("/feed/")
    assert path.endswith("/activity.atom")
    assert client.get(path).status_code == 200
    assert made | {"project_key": "OPEN"} == made
    mine = ok(cast.ada.post("/users/me/feeds", {"kind": "calendar", "project_id": None}), 201)
    assert (mine["project_id"], mine["project_key"]) == (None, None)
    listed = ok(cast.ada.get("/users/me/feeds"))
    assert listed["data"][0] == made
    assert "feed/" not in str(listed)
    first = ok(cast.ada.get("/users/me/feeds?limit=1"))
    then = ok(cast.ada.get(f"/users/me/feeds?limit=1&cursor={first['page']['next_cursor']}"))
    assert first["data"] + then["data"] == listed["data"]
    assert not then["page"]["has_more"]
    assert ok(cast.bo.get("/users/me/feeds"))["data"] == []
    assert cast.bo.delete(f"/users/me/feeds/{made['id']}").status_code == 404
    again = ok(cast.ada.post("/users/me/feeds", given), 201)
    assert client.get(path).status_code == 404
    assert ok(cast.ada.delete(f"/users/me/feeds/{again['id']}"), 204) is None
    path = again["address"].removeprefix("http://localhost")
    assert client.get(path).status_code == 404
    ok(cast.ada.delete(f"/projects/{cast.fenced_project}"), 204)
    for body, status in (
        ({"kind": "activity"}, 422),
        ({"kind": "mail"}, 422),
        ({"kind": "calendar", "project_id": "OPEN"}, 422),
        ({"kind": "calendar", "project_id": mine["id"]}, 404),
        ({"kind": "calendar", "project_id": cast.fenced_project}, 410),
    ):
        assert cast.ada.post("/users/me/feeds", body).status_code == status, body
