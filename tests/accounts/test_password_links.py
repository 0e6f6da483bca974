"""One-time links to choose a password: what they do, when they end, and attacks on them."""

import re

import pytest
from sqlalchemy import select, update
from werkzeug.test import Client

from app.accounts.models import PasswordLink, User
from app.core.clock import DAY_MS, now_ms
from app.database.session import reading, session
from app.http.flask_app import FAILED
from app.jobs.sweeping import sweep
from tests.accounts.helpers import (
    API,
    PASSWORD,
    at_once,
    cookie_of,
    error,
    events,
    logged_in,
    new_bot,
    new_human,
    only,
    try_login,
    write,
)
from tests.support.cases import cases

HTML = {"Accept": "text/html"}
NEW = "a sentence of their own"
ME = f"{API}/auth/me"


def path_in(page):
    """The path of the link that the page shows."""
    assert page.status_code == 200, page.text
    return re.search(r'value="http://[^/"]+(/password/[^"]+)"', page.text)[1]


def invited(admin, name="Grace Hopper", **fields):
    return path_in(admin.post("/people", data={"display_name": name, **fields}, headers=HTML))


def reset(admin, person):
    return admin.post(f"/people/{person['id']}/link", headers=HTML)


def opened(client, path, address="127.0.0.1", **headers):
    return client.get(path, headers=HTML | headers, environ_base={"REMOTE_ADDR": address})


def use(client, path, password=NEW, address="127.0.0.1", **headers):
    return client.post(
        path,
        data={"password": password},
        headers=HTML | headers,
        environ_base={"REMOTE_ADDR": address},
    )


def succeeded(answer):
    return (answer.status_code, answer.headers.get("Location")) == (303, "/")


def test_a_person_is_invited_by_name_and_chooses_the_password(app, admin):
    path = invited(admin)
    browser = app.test_client()
    asked = opened(browser, path)
    assert "Welcome, Grace Hopper" in asked.text
    assert succeeded(use(browser, path))
    assert browser.get(ME).json["username"] == "grace.hopper"
    assert try_login(app.test_client(), "grace.hopper", NEW).status_code == 200
    assert "Invited" not in admin.get("/people", headers=HTML).text


def test_until_then_nobody_logs_in_as_them(app, admin):
    invited(admin)
    assert "Invited" in admin.get("/people", headers=HTML).text
    for password in ("", PASSWORD):
        refused = try_login(app.test_client(), "grace.hopper", password)
        assert error(refused) == (401, "auth.invalid_credentials")
    assert {one.payload["reason"] for one in events(app, "auth.login.failure")} == {
        "wrong_password"
    }


def test_who_was_only_invited_does_not_count_as_the_one_who_stays(app, admin):
    invited(admin)
    me = admin.get(ME).json["id"]
    refused = admin.patch(f"{API}/users/{me}", json={"is_active": False})
    assert error(refused) == (409, "resource.conflict")


@pytest.mark.parametrize(
    ("name", "username"),
    [("Zoë O’Hara", "zoe.ohara"), ("  Ada   B. Lovelace ", "ada.b.lovelace"), ("x" * 90, "x" * 64)],
)
def test_the_username_is_made_of_the_name(app, admin, name, username):
    invited(admin, name)
    assert username in [one["username"] for one in admin.get(f"{API}/users").json["data"]]


@cases(
    "fields, said",
    [
        ({"display_name": "小野"}, "Enter a username"),
        ({"display_name": "Me"}, "reserved"),
        ({"display_name": "Ada"}, "is already taken"),
        ({"display_name": "Ada L", "username": "ada"}, "is already taken"),
        ({"display_name": "Ada L", "username": "A B"}, "a-z"),
        ({"display_name": ""}, "problem"),
    ],
)
def test_what_makes_no_username_is_said(app, admin, fields, said):
    refused = admin.post("/people", data=fields, headers=HTML)
    assert (refused.status_code, said in refused.text) == (422, True)
    assert "/password/" not in refused.text


def test_a_reset_changes_nothing_until_the_link_is_used(app, admin):
    grace = new_human(admin, "grace")
    browser = logged_in(app, "grace")
    path = path_in(reset(admin, grace))
    assert browser.get(ME).status_code == 200
    assert "new password" in opened(app.test_client(), path).text
    other = app.test_client()
    assert succeeded(use(other, path))
    assert other.get(ME).json["username"] == "grace"
    assert error(browser.get(ME)) == (401, "auth.unauthenticated")
    assert try_login(app.test_client(), "grace").status_code == 401
    assert admin.get(ME).status_code == 200


def test_it_is_recorded_by_whom_for_whom_and_without_a_token(app, admin):
    grace = new_human(admin, "grace")
    path = path_in(reset(admin, grace))
    issued = only(app, "user.updated")
    assert issued.payload == {"password_link_issued": True}
    assert (issued.actor_user_id, issued.target_id) == (admin.get(ME).json["id"], grace["id"])
    use(app.test_client(), path)
    used = events(app, "user.updated")[-1]
    assert used.payload == {"password_changed": True}
    assert used.actor_user_id == used.target_id == grace["id"]
    assert events(app)[-1].event_type == "auth.login.success"
    token = path.rpartition("/")[2]
    assert token not in str([event.payload for event in events(app)])


def test_the_token_is_kept_as_a_hash_alone(app, admin):
    token = invited(admin).rpartition("/")[2]
    with app.app_context(), reading():
        (row,) = session.scalars(select(PasswordLink)).all()
        assert token not in str(vars(row))
        assert len(row.token_hash) == 64
    assert token not in admin.get("/people", headers=HTML).text


def test_the_page_that_shows_it_is_kept_and_packed_by_nobody(admin):
    page = admin.post(
        "/people",
        data={"display_name": "Grace Hopper"},
        headers=HTML | {"Accept-Encoding": "gzip"},
    )
    assert path_in(page)
    assert page.headers["Cache-Control"] == "no-store, no-transform"
    assert "Content-Encoding" not in page.headers


def test_it_names_the_address_of_the_settings_whatever_the_host_header(app, admin):
    grace = new_human(admin, "grace")
    cookie = f"app_session={cookie_of(admin)}"
    for host in ("127.0.0.1:9", "[::1]"):
        page = app.test_client(use_cookies=False).post(
            f"/people/{grace['id']}/link",
            headers=HTML | {"Cookie": cookie, "Host": host, "X-Forwarded-Host": "evil.example"},
        )
        assert f'value="{app.config["SETTINGS"].base_url}/password/' in page.text
        assert "evil.example" not in page.text


def test_its_address_is_in_no_referrer_and_its_page_holds_no_token(app, admin):
    path = invited(admin)
    page = opened(app.test_client(), path)
    # No other site learns the address, and the page requests nothing from other sites.
    assert page.headers["Referrer-Policy"] == "same-origin"
    assert not re.search(r'(href|src|action)="(?!/(?!/)|#)', page.text)
    # Nor does the log of a proxy keep it with the requests for what the page needs.
    assert '<meta name="referrer" content="origin">' in page.text.partition("<link")[0]
    assert page.headers["Cache-Control"] == "no-store"
    assert path.rpartition("/")[2] not in page.text
    short = use(app.test_client(), path, "short")
    assert (short.status_code, short.headers["Referrer-Policy"]) == (422, "same-origin")
    assert path.rpartition("/")[2] not in short.text


def test_looking_at_it_uses_nothing_up(app, admin):
    path = invited(admin)
    for _ in range(8):
        assert opened(app.test_client(), path).status_code == 200
    assert succeeded(use(app.test_client(), path))


def test_it_works_once(app, admin):
    path = invited(admin)
    assert succeeded(use(app.test_client(), path))
    again = use(app.test_client(), path, "another of their own")
    assert again.status_code == 404
    assert "This link doesn’t work" in again.text
    assert opened(app.test_client(), path).status_code == 404
    assert try_login(app.test_client(), "grace.hopper", NEW).status_code == 200


def test_of_uses_at_once_one_wins(app, admin):
    path = invited(admin)
    browsers = [app.test_client() for _ in range(4)]
    answers = at_once(4, lambda number: use(browsers[number], path, f"{NEW} {number}"))
    won = [number for number, answer in enumerate(answers) if succeeded(answer)]
    assert len(won) == 1
    assert {one.status_code for one in answers} == {303, 404}
    assert try_login(app.test_client(), "grace.hopper", f"{NEW} {won[0]}").status_code == 200
    assert browsers[won[0]].get(ME).status_code == 200


@pytest.mark.parametrize("way", ["late", "newer", "deactivated", "set", "changed"])
def test_what_ends_it(app, admin, way):
    grace = new_human(admin, "grace")
    path = path_in(reset(admin, grace))
    person = f"{API}/users/{grace['id']}"
    if way == "late":
        write(app, update(PasswordLink).values(expires_at=now_ms()))
    elif way == "newer":
        newer = path_in(reset(admin, grace))
    elif way == "deactivated":
        for active in (False, True):
            assert admin.patch(person, json={"is_active": active}).status_code == 200
    elif way == "set":
        assert admin.patch(person, json={"password": "set by someone else"}).status_code == 200
    else:
        body = {"current_password": PASSWORD, "new_password": "changed by herself"}
        headers = {"X-Requested-By": "web"}
        browser = logged_in(app, "grace")
        changed = browser.post(f"{API}/auth/change-password", json=body, headers=headers)
        assert changed.status_code == 204
    assert opened(app.test_client(), path).status_code == 404
    assert use(app.test_client(), path).status_code == 404
    if way == "newer":
        assert succeeded(use(app.test_client(), newer))


def test_a_deactivated_person_cannot_use_it_and_gets_none(app, admin):
    grace = new_human(admin, "grace")
    path = path_in(reset(admin, grace))
    # Written directly, so that the rule that ends the link does not apply.
    write(app, update(User).where(User.username == "grace").values(is_active=False))
    assert use(app.test_client(), path).status_code == 404
    refused = reset(admin, grace)
    assert (refused.status_code, "Activate" in refused.text) == (409, True)


def test_nobody_resets_their_own_without_knowing_it(admin):
    refused = reset(admin, admin.get(ME).json)
    assert (refused.status_code, "in your profile" in refused.text) == (409, True)
    assert "/password/" not in refused.text


def test_a_bot_has_none_and_makes_none(app, admin):
    bot, token = new_bot(admin)
    assert reset(admin, bot).status_code == 404
    grace = new_human(admin, "grace")
    client = app.test_client(use_cookies=False)
    answer = client.post(f"/people/{grace['id']}/link", headers=HTML | {"X-API-Key": token})
    assert answer.status_code in (303, 401)
    with app.app_context(), reading():
        assert session.scalars(select(PasswordLink)).all() == []


def test_links_that_do_not_work_lock_nobody_out(app, admin):
    """Any web page can have its visitors request one, and a used link is often opened again."""
    path, used = invited(admin), invited(admin, "Bo Peep")
    address = "192.0.2.7"
    assert succeeded(use(app.test_client(), used))
    recorded = len(events(app))
    for number in range(12):
        guess = opened if number % 2 else use
        tried = used if number % 3 else f"/password/{'x' * 43}"
        assert guess(app.test_client(), tried, address=address).status_code == 404
    # Strangers cannot flood the log.
    assert len(events(app)) == recorded
    assert try_login(app.test_client(), "ada", address=address).status_code == 200
    assert succeeded(use(app.test_client(), path, address=address))


def test_links_that_do_not_work_are_answered_ever_more_slowly(app, admin):
    failed = []

    def watched(environ, start_response):
        answer = app.wsgi_app(environ, start_response)
        failed.append(FAILED in environ)
        return answer

    client = Client(watched)
    assert client.get(f"/password/{'x' * 43}").status_code == 404
    assert client.get(invited(admin)).status_code == 200
    assert failed == [True, False]


@pytest.mark.parametrize("tail", ["", "/x", "?x", "%00", "\u00fc", "." * 500])
def test_nothing_but_the_token_opens_it(app, admin, tail):
    path = invited(admin)
    for guess in (f"/password/{tail}", f"{path[:-1]}{tail}", path.upper()):
        assert opened(app.test_client(), guess).status_code in (404, 405)


def test_a_refused_password_leaves_the_link(app, admin):
    path = invited(admin)
    browser = app.test_client()
    for password, said in (
        ("short", "at least 12"),
        ("password1234", "easy to guess"),
        ("i am grace.hopper", "easy to guess"),
        ("", "problem"),
        ("a" * 1025, "at most 1024"),
    ):
        refused = use(browser, path, password)
        assert (refused.status_code, said in refused.text) == (422, True)
    assert browser.get(ME).status_code == 401
    assert succeeded(use(browser, path))


def test_another_site_cannot_use_it(app, admin):
    path = invited(admin)
    browser = app.test_client()
    for headers in ({"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://evil.example"}):
        assert use(browser, path, **headers).status_code == 403
    assert succeeded(use(browser, path))


def test_no_session_outlives_it_whoever_used_the_browser(app, admin):
    before = cookie_of(admin)
    path = invited(admin)
    assert succeeded(use(admin, path))
    assert cookie_of(admin) != before
    assert admin.get(ME).json["username"] == "grace.hopper"
    thief = app.test_client()
    thief.set_cookie("app_session", before)
    assert error(thief.get(ME)) == (401, "auth.unauthenticated")


def test_links_past_their_end_are_swept(app, admin):
    invited(admin)
    settings = app.config["SETTINGS"]
    with app.app_context():
        assert sweep("password-links", settings, now=True).deleted == 0
    write(app, update(PasswordLink).values(expires_at=now_ms() - DAY_MS))
    with app.app_context():
        assert sweep("password-links", settings, now=True).deleted == 1
