"""One's own account: preferences shared by all browsers, sessions, the password."""

import re

import pytest
from sqlalchemy import select, update

from app.accounts.models import UserSession
from app.core.clock import MINUTE_MS, now_ms
from app.database.session import run_write, session
from tests.support.story import event_types, ok
from tests.web.conftest import Reader

PASSWORD = "a calm sentence"
CHOSEN = {"theme": "dark", "density": "tight", "times": "exact"}


def browser(app, **known):
    """Another browser in which cleo is logged in."""
    opened = Reader(app.test_client(), app)
    opened.post("/login", username="cleo", password=known.get("password", PASSWORD))
    return opened


def newcomer(app, cast):
    """Create cleo, who has a password; return her browser."""
    ok(cast.ada.post("/users", {"username": "cleo", "password": PASSWORD}), 201)
    return browser(app)


def test_choices_go_along_to_the_next_browser(app, cast):
    first = newcomer(app, cast)
    assert "data-density" not in first.get("/profile").text
    assert first.post("/profile/preferences", **CHOSEN).location == "/profile"
    for reader in (first, browser(app)):
        for path in ("/profile", "/projects/OPEN/board", "/tickets", "/audit", "/search"):
            head = reader.get(path).text
            for name, value in (*CHOSEN.items(), ("keys", "off")):
                assert f'data-{name}="{value}"' in head, path
        assert (
            re.search(r">\d+ \w{3} \d{4}, \d\d:\d\d UTC</time>", reader.get("/inbox").text) is None
        )
        sessions = reader.get("/profile/sessions").text
        assert re.search(r">\d+ \w{3} \d{4}, \d\d:\d\d UTC</time>", sessions)
    # Unknown values become the default; another browser keeps its own.
    first.post("/profile/preferences", theme="<b>", density="9", times="", keys="on")
    assert 'data-theme="auto"' in browser(app).get("/profile").text
    assert "data-density" not in first.get("/profile").text
    assert 'data-theme="auto"' in Reader(cast.ada.client, app).get("/profile").text


def test_a_default_project_is_where_new_tickets_go(app, cast, ada):
    assert "Create ticket" not in ada.get("/tickets/new").text
    assert ada.post("/projects/OPEN/default").location == "/projects/OPEN"
    assert 'data-home="OPEN"' in ada.get("/profile").text
    assert ada.get("/tickets/new").location == "/tickets/new?project=OPEN"
    assert "Fenced project" in ada.get("/tickets/new?choose").text
    # A deleted project is no default.
    ok(cast.ada.delete(f"/projects/{cast.open_project}"), 204)
    assert ada.get("/tickets/new").location == "/tickets/new?project=FENCED"
    ada.post("/profile/preferences", keys="on", forget_project="on")
    assert "data-home" not in ada.get("/profile").text
    assert ada.post("/projects/NONE/default").status_code == 404


def test_the_columns_of_lists_are_chosen_for_all_browsers_of_a_person(app, cast):
    first = newcomer(app, cast)
    table = re.compile(r'<table class="table ticket-table([^"]*)"')
    cast.ada.post(f"/projects/{cast.open_project}/tickets", {"title": "One"})
    assert table.search(first.get("/tickets").text).group(1) == ""
    form = {"shown": ["state", "due", "priority", "nonsense"], "back": "/tickets", "query": "q=one"}
    assert first.post("/tickets/columns", **form).location == "/tickets?q=one"
    # Saving other preferences does not change the columns.
    first.post("/profile/preferences", theme="dark")
    for reader in (first, browser(app)):
        for path in ("/tickets", "/projects/OPEN/tickets?view=tree"):
            text = reader.get(path).text
            assert table.search(text).group(1) == (
                " no-labels no-assignee no-parent no-created no-updated"
            )
            assert re.search(r'value="due" checked', text)
            assert re.search(r'value="parent">', text)
    elsewhere = first.post("/tickets/columns", shown="state", back="//evil.example/")
    assert elsewhere.location == "/"
    # Unknown column names are ignored, so they cannot become class names.
    first.client.set_cookie("hidden_columns", "due.x<b>")
    assert table.search(first.get("/tickets").text).group(1) == " no-due"


@pytest.mark.parametrize(("minutes_left", "listed"), [(1, 2), (0, 1)])
def test_a_session_that_ended_by_idleness_is_not_listed(app, cast, minutes_left, listed):
    """Its row stays until it is used or swept."""
    here, there = newcomer(app, cast), browser(app)
    limit = app.config["SETTINGS"].session_idle_minutes
    newest = select(UserSession.id).order_by(UserSession.id.desc()).limit(1).scalar_subquery()
    seen_at = now_ms() - (limit - minutes_left) * MINUTE_MS
    unseen = update(UserSession).where(UserSession.id == newest).values(last_seen_at=seen_at)
    with app.app_context():
        run_write(lambda: session.execute(unseen))
    assert here.get("/profile/sessions").text.count("session-agent") == listed
    assert there.get("/inbox").status_code == (200 if listed == 2 else 303)


def test_sessions_are_seen_and_ended_from_afar(app, cast):
    here, there, elsewhere = newcomer(app, cast), browser(app), browser(app)
    page = here.get("/profile/sessions")
    ends = re.findall(r'action="(/profile/sessions/[^"]+/end)"', page.text)
    assert len(ends) == 2
    assert page.text.count("This browser") == 1
    assert here.post(ends[0]).location == "/profile/sessions?ended"
    assert here.post(ends[0]).location == "/profile/sessions"
    alive = [one.get("/inbox").status_code for one in (there, elsewhere)]
    assert sorted(alive) == [200, 303]
    assert here.post("/profile/sessions/end-others").status_code == 303
    assert {one.get("/inbox").status_code for one in (there, elsewhere)} == {303}
    assert "Log out all other browsers" not in here.get("/profile/sessions").text
    assert event_types(app).count("auth.logout") == 2
    # Nobody ends the session of another person.
    other = browser(app)
    mine = re.search(r"/profile/sessions/[^\"]+/end", here.get("/profile/sessions").text)[0]
    Reader(cast.ada.client, app).post(mine)
    assert other.get("/inbox").status_code == 200


def test_a_new_password_says_how_many_it_signed_out(app, cast):
    here = newcomer(app, cast)
    for many, said in ((2, "Your 2 other sessions were"), (0, "no other sessions")):
        for _ in range(many):
            browser(app)
        old, new = (PASSWORD, PASSWORD + "!") if many else (PASSWORD + "!", PASSWORD)
        done = here.post("/profile/password", current_password=old, new_password=new)
        assert done.location == f"/profile?saved=password&ended={many}"
        assert said in here.get(done.location).text
    assert here.get("/profile/password").location == "/profile"
    assert here.get("/profile?saved=password&ended=%C2%B2").status_code == 200
