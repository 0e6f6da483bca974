"""The order in which credentials are resolved, and sessions that expire."""

from dataclasses import replace

import pytest
from sqlalchemy import select, update

from app.accounts.models import UserSession
from app.core.clock import DAY_MS, MINUTE_MS, now_ms
from app.database.session import reading, session
from tests.accounts.helpers import (
    API,
    at_once,
    cookie_of,
    error,
    key_of,
    logged_in,
    new_bot,
    new_human,
    only,
    try_login,
    write,
)
from tests.support.cases import cases

ME = f"{API}/auth/me"
STATUS = f"{API}/setup/status"


def age(app, **values):
    """Change the columns of every session, to make it look older."""
    write(app, update(UserSession).values(**values))


def idle_too_long(app):
    age(app, last_seen_at=now_ms() - 10_080 * MINUTE_MS)


def sessions(app):
    with app.app_context(), reading():
        return list(session.scalars(select(UserSession)))


def is_cleared(answer):
    """Whether the answer tells the browser to forget the session cookie."""
    lines = answer.headers.getlist("Set-Cookie")
    return any(line.startswith("app_session=;") and "Max-Age=0" in line for line in lines)


# Each state of a credential; TABLE has the response to each combination.
COOKIES = ("none", "valid", "expired", "garbage")
KEYS = ("none", "valid", "revoked", "garbage")
TABLE = {
    ("none", "none"): (401, "auth.unauthenticated"),
    ("valid", "none"): (200, "human"),
    ("expired", "none"): (401, "auth.unauthenticated"),
    ("garbage", "none"): (401, "auth.unauthenticated"),
    ("none", "valid"): (200, "bot"),
    ("none", "revoked"): (401, "auth.invalid_credentials"),
    ("none", "garbage"): (401, "auth.invalid_credentials"),
}


@pytest.fixture
def carrying(app, admin):
    """A function that returns a caller with these credentials: its client and its headers."""

    _, valid = new_bot(admin, "bot-test-1")
    bot, revoked = new_bot(admin, "bot-test-2")
    assert admin.post(f"{API}/bots/{bot['id']}/tokens/revoke").status_code == 204

    def make(cookie, key):
        browser = app.test_client()
        if cookie == "garbage":
            browser.set_cookie("app_session", "garbage")
        elif cookie != "none":
            try_login(browser, "ada")
        if cookie == "expired":
            idle_too_long(app)
        tokens = {"valid": valid, "revoked": revoked, "garbage": "app_" + "a" * 32}
        return browser, key_of(tokens[key]) if key != "none" else {}

    return make


@cases("key", KEYS)
@cases("cookie", COOKIES)
def test_every_pair_of_credentials_on_a_protected_route(carrying, cookie, key):
    browser, headers = carrying(cookie, key)
    answer = browser.get(ME, headers=headers)
    status, word = TABLE.get((cookie, key), (401, "auth.ambiguous_credentials"))
    assert answer.status_code == status
    found = answer.json["type"] if status == 200 else answer.json["error"]["code"]
    assert found == word
    assert is_cleared(answer) is (cookie in ("expired", "garbage") and key == "none")


@cases("key", KEYS)
@cases("cookie", COOKIES)
def test_every_pair_of_credentials_on_a_public_route(carrying, cookie, key):
    browser, headers = carrying(cookie, key)
    answer = browser.get(STATUS, headers=headers)
    status, word = TABLE.get((cookie, key), (401, "auth.ambiguous_credentials"))
    if word in ("auth.unauthenticated", "human", "bot"):
        assert (answer.status_code, answer.json) == (
            200,
            {"needs_setup": False, "needs_code": False},
        )
    else:
        assert error(answer) == (status, word)
    assert is_cleared(answer) is (cookie in ("expired", "garbage") and key == "none")


@pytest.mark.parametrize("cookie", ["expired", "garbage"])
def test_login_with_a_stale_cookie_sets_the_fresh_one_and_clears_nothing(carrying, cookie):
    browser, _ = carrying(cookie, "none")
    answer = try_login(browser, "ada")
    assert answer.status_code == 200
    assert len(answer.headers.getlist("Set-Cookie")) == 1
    assert not is_cleared(answer)
    assert browser.get(ME).status_code == 200


def test_failed_login_with_a_stale_cookie_clears_it(carrying):
    browser, _ = carrying("garbage", "none")
    answer = try_login(browser, "ada", "wrong horse battery")
    assert error(answer) == (401, "auth.invalid_credentials")
    assert is_cleared(answer)


def test_empty_key_header_is_a_credential_that_is_invalid(app, admin, client):
    answer = client.get(ME, headers={"X-API-Key": ""})
    assert error(answer) == (401, "auth.invalid_credentials")
    assert error(admin.get(ME, headers={"X-API-Key": ""})) == (401, "auth.ambiguous_credentials")


def test_health_looks_at_no_credential(admin):
    headers = key_of("app_" + "a" * 32)
    assert admin.get("/healthz", headers=headers).status_code == 200


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"last_seen_at": -10_080 * MINUTE_MS}, "idle"),
        ({"expires_at": 0}, "absolute"),
        ({"expires_at": 0, "last_seen_at": -40 * DAY_MS}, "absolute"),
    ],
)
def test_session_over_is_recorded_once_removed_and_anonymous(app, admin, values, reason):
    age(app, **{name: now_ms() + offset for name, offset in values.items()})
    answer = admin.get(ME)
    assert error(answer) == (401, "auth.unauthenticated")
    assert is_cleared(answer)
    assert sessions(app) == []
    event = only(app, "auth.session.expired")
    assert event.payload == {"reason": reason}
    assert event.actor_kind == "human"
    assert event.actor_user_id == event.target_id
    assert event.request_id == answer.headers["X-Request-Id"]


def test_session_over_is_recorded_once_however_many_ask(app, admin):
    token = cookie_of(admin)
    idle_too_long(app)

    def ask(_number):
        browser = app.test_client()
        browser.set_cookie("app_session", token)
        return browser.get(ME).status_code

    assert at_once(8, ask) == [401] * 8
    only(app, "auth.session.expired")


def test_session_in_use_lives_on_and_its_use_is_at_most_a_minute_late(app, admin):
    almost = now_ms() - 10_080 * MINUTE_MS + 5_000
    age(app, last_seen_at=almost)
    assert admin.get(ME).status_code == 200
    seen = sessions(app)[0].last_seen_at
    assert now_ms() - seen < MINUTE_MS
    recent = now_ms() - MINUTE_MS + 5_000
    age(app, last_seen_at=recent)
    assert admin.get(ME).status_code == 200
    assert sessions(app)[0].last_seen_at == recent


def test_a_session_in_use_lives_on_however_short_it_may_be_idle(app, admin, monkeypatch):
    settings = replace(app.config["SETTINGS"], session_idle_minutes=1)
    monkeypatch.setitem(app.config, "SETTINGS", settings)
    age(app, last_seen_at=now_ms() - 10_000)
    assert admin.get(ME).status_code == 200
    assert now_ms() - sessions(app)[0].last_seen_at < 5_000
    age(app, last_seen_at=now_ms() - MINUTE_MS)
    assert admin.get(ME).status_code == 401


def test_use_does_not_prolong_the_absolute_end(app, admin):
    before = sessions(app)[0].expires_at
    age(app, last_seen_at=now_ms() - 2 * MINUTE_MS)
    admin.get(ME)
    assert sessions(app)[0].expires_at == before


def test_session_of_a_deactivated_human_is_dead_at_once(app, admin):
    grace = new_human(admin, "grace")
    browser = logged_in(app, "grace")
    answer = admin.patch(f"{API}/users/{grace['id']}", json={"is_active": False})
    assert answer.status_code == 200
    assert error(browser.get(ME)) == (401, "auth.unauthenticated")
    admin.patch(f"{API}/users/{grace['id']}", json={"is_active": True})
    assert error(browser.get(ME)) == (401, "auth.unauthenticated")
