import pytest
from argon2 import PasswordHasher, extract_parameters
from sqlalchemy import select, update

from app.accounts import passwords
from app.accounts.models import User, UserSession
from app.core.clock import DAY_MS
from app.database.session import reading, session
from tests.accounts.helpers import (
    API,
    PASSWORD,
    cookie_of,
    details,
    error,
    event_types,
    events,
    key_of,
    logged_in,
    new_bot,
    new_human,
    only,
    try_login,
    write,
)
from tests.support.cases import cases

LOGIN = f"{API}/auth/login"


def sessions(app):
    with app.app_context(), reading():
        return list(session.scalars(select(UserSession).order_by(UserSession.id)))


def stored_hash(app, username):
    with app.app_context(), reading():
        return session.scalar(select(User.password_hash).where(User.username == username))


def test_login_answers_user_and_end_of_session_and_sets_the_cookie(app, admin, client):
    grace = new_human(admin, "grace", display_name="Grace H.")
    answer = try_login(client, "grace")
    assert answer.status_code == 200
    assert answer.json["user"] == grace
    assert answer.json.keys() == {"user", "session"}
    assert answer.json["session"].keys() == {"expires_at"}
    assert client.get(f"{API}/auth/me").json == grace
    attributes = set(answer.headers["Set-Cookie"].split("; ")[1:])
    assert attributes == {f"Max-Age={30 * 86400}", "HttpOnly", "Path=/", "SameSite=Lax"} | {
        part for part in attributes if part.startswith("Expires=")
    }
    row = sessions(app)[-1]
    assert row.expires_at - row.created_at == 30 * DAY_MS
    assert row.user_id == grace["id"]


def test_cookie_is_secure_behind_https(app, admin, monkeypatch):
    monkeypatch.setattr(type(app.config["SETTINGS"]), "cookie_secure", True)
    answer = try_login(app.test_client(), "ada")
    assert "; Secure;" in answer.headers["Set-Cookie"]


def test_cookie_token_is_256_random_bits_and_stored_only_hashed(app, admin):
    token = cookie_of(admin)
    assert len(token) == 43
    row = sessions(app)[0]
    assert token not in str(vars(row))
    assert len(row.token_hash) == 64


def test_login_is_recorded(app, admin, client):
    grace = new_human(admin, "grace")
    answer = try_login(client, "grace")
    event = events(app, "auth.login.success")[-1]
    assert (event.actor_kind, event.actor_user_id) == ("human", grace["id"])
    assert (event.target_kind, event.target_id) == ("user", grace["id"])
    assert event.payload == {"username": "grace", "way": "password"}
    assert event.request_id == answer.headers["X-Request-Id"]


def test_each_login_makes_a_new_session_whatever_the_browser_sent(app, admin):
    browser = app.test_client()
    browser.set_cookie("app_session", "chosen-by-an-attacker")
    assert try_login(browser, "ada").status_code == 200
    first = cookie_of(browser)
    assert first != "chosen-by-an-attacker"
    assert try_login(browser, "ada").status_code == 200
    assert cookie_of(browser) != first
    thief = app.test_client()
    thief.set_cookie("app_session", first)
    assert error(thief.get(f"{API}/auth/me")) == (401, "auth.unauthenticated")
    assert len(sessions(app)) == 2


def test_two_browsers_have_two_sessions(app, admin):
    other = logged_in(app, "ada")
    assert cookie_of(other) != cookie_of(admin)
    assert other.get(f"{API}/auth/me").status_code == 200
    assert admin.get(f"{API}/auth/me").status_code == 200


@pytest.fixture
def failures(app, admin):
    """Each way to fail: username, password, recorded reason, whether the user is recorded."""
    new_human(admin, "grace")
    gone = new_human(admin, "gone")
    admin.patch(f"{API}/users/{gone['id']}", json={"is_active": False})
    new_bot(admin, "bot-test-1")
    return {
        "unknown": ("nobody", PASSWORD, "user_not_found", False),
        "wrong": ("grace", "wrong horse battery", "wrong_password", True),
        "short": ("grace", "x", "wrong_password", True),
        "inactive": ("gone", PASSWORD, "inactive", True),
        "bot": ("bot-test-1", PASSWORD, "user_not_found", False),
    }


@pytest.mark.parametrize("kind", ["unknown", "wrong", "short", "inactive", "bot"])
def test_all_failures_look_the_same_and_only_the_log_tells_them_apart(app, client, failures, kind):
    username, password, reason, named = failures[kind]
    answer = try_login(client, username, password)
    assert error(answer) == (401, "auth.invalid_credentials")
    assert answer.json == {
        "error": {
            "code": "auth.invalid_credentials",
            "message": "Incorrect username or password.",
        }
    }
    assert "Set-Cookie" not in answer.headers
    event = only(app, "auth.login.failure")
    assert event.payload == {"username": username, "reason": reason}
    assert (event.actor_user_id is not None) is named
    assert event.actor_kind == ("human" if named else "system")
    assert event.actor_user_id == event.target_id


@cases("kind", ["unknown", "wrong", "short", "inactive", "bot"])
def test_all_failures_cost_one_verification_at_full_cost(app, client, failures, kind, monkeypatch):
    seen = []
    verify = PasswordHasher.verify

    def spy(self, stored, password):
        seen.append(extract_parameters(stored))
        return verify(self, stored, password)

    monkeypatch.setattr(PasswordHasher, "verify", spy)
    try_login(client, *failures[kind][:2])
    assert seen == [extract_parameters(stored_hash(app, "grace"))]


def test_bot_has_no_password_hash(app, admin):
    new_bot(admin, "bot-test-1")
    assert stored_hash(app, "bot-test-1") is None


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ({}, (["body", "username"], "missing")),
        ({"username": "ada"}, (["body", "password"], "missing")),
        ({"username": 5, "password": "x"}, (["body", "username"], "invalid_type")),
        ({"username": "ada", "password": None}, (["body", "password"], "invalid_type")),
        (
            {"username": "ada", "password": "x", "remember": True},
            (["body", "remember"], "unknown_field"),
        ),
    ],
)
def test_form_of_the_body_is_checked(app, client, body, problem):
    answer = client.post(LOGIN, json=body)
    assert error(answer) == (422, "request.validation_error")
    found = details(answer)["errors"]
    assert problem in [(entry["loc"], entry["type"]) for entry in found]
    assert event_types(app) == []


@pytest.mark.parametrize(
    ("body", "wrong"),
    [
        ({"username": "a" * 65, "password": "x"}, {"field": "username", "reason": "too_long"}),
        ({"username": "a\x00", "password": "x"}, {"field": "username", "reason": "nul_character"}),
        ({"username": "a", "password": "x" * 1025}, {"field": "password", "reason": "too_long"}),
        ({"username": "a", "password": "\x00"}, {"field": "password", "reason": "nul_character"}),
    ],
)
def test_what_can_be_no_credential_is_an_invalid_field(client, body, wrong):
    answer = client.post(LOGIN, json=body)
    assert error(answer) == (422, "validation.invalid_field")
    assert details(answer) == wrong


@pytest.mark.parametrize(
    ("content_type", "raw", "kind"),
    [
        ("text/plain", b'{"username":"ada","password":"x"}', "content_type"),
        ("application/json", b"{", "json_invalid"),
        ("application/json", b"[]", "json_invalid"),
    ],
)
def test_login_takes_json_alone(client, content_type, raw, kind):
    answer = client.post(LOGIN, data=raw, content_type=content_type)
    assert error(answer) == (422, "request.validation_error")
    assert details(answer)["errors"][0]["type"] == kind


def test_hash_of_another_cost_is_renewed_at_login_and_sessions_stay(app, admin, client):
    dear = passwords.Cost(time=2, memory_kib=128, parallelism=1)
    write(app, update(User).values(password_hash=passwords.hash_new(PASSWORD, dear)))
    before = admin.get(f"{API}/auth/me").json
    assert try_login(client, "ada").status_code == 200
    parameters = extract_parameters(stored_hash(app, "ada"))
    cost = passwords.cost_of(app.config["SETTINGS"])
    assert (parameters.time_cost, parameters.memory_cost) == (cost.time, cost.memory_kib)
    assert admin.get(f"{API}/auth/me").json == before
    assert try_login(client, "ada").status_code == 200


def test_wrong_password_renews_nothing(app, admin, client):
    dear = passwords.hash_new(PASSWORD, passwords.Cost(time=2, memory_kib=128, parallelism=1))
    write(app, update(User).values(password_hash=dear))
    try_login(client, "ada", "wrong horse battery")
    assert stored_hash(app, "ada") == dear


@pytest.mark.parametrize("change", [{"is_active": False}, {"password_hash": "$argon2id$changed"}])
def test_user_changed_while_the_password_was_judged_does_not_get_in(
    app, admin, client, monkeypatch, change
):
    new_human(admin, "grace")
    real = passwords.verify

    def changing(stored, password, cost):
        verdict = real(stored, password, cost)
        write(app, update(User).where(User.username == "grace").values(**change))
        return verdict

    monkeypatch.setattr(passwords, "verify", changing)
    assert error(try_login(client, "grace")) == (401, "auth.invalid_credentials")
    assert len(sessions(app)) == 1


def test_logout_ends_the_session_and_clears_the_cookie(app, admin):
    token = cookie_of(admin)
    other = logged_in(app, "ada")
    answer = admin.post(f"{API}/auth/logout")
    assert (answer.status_code, answer.data) == (204, b"")
    assert admin.get_cookie("app_session") is None
    cookies = answer.headers.getlist("Set-Cookie")
    assert len(cookies) == 1
    assert "Max-Age=0" in cookies[0]
    assert "HttpOnly" in cookies[0]
    thief = app.test_client()
    thief.set_cookie("app_session", token)
    assert error(thief.get(f"{API}/auth/me")) == (401, "auth.unauthenticated")
    assert other.get(f"{API}/auth/me").status_code == 200
    event = only(app, "auth.logout")
    assert event.payload == {"username": "ada"}
    assert event.actor_kind == "human"
    assert event.category == "audit_only"


def test_logout_is_for_humans(app, admin, client):
    assert error(client.post(f"{API}/auth/logout")) == (401, "auth.unauthenticated")
    _, token = new_bot(admin)
    answer = client.post(f"{API}/auth/logout", headers=key_of(token))
    assert error(answer) == (403, "auth.forbidden")
    assert details(answer) == {"reason": "humans_only"}


def test_logout_takes_no_fields(admin):
    answer = admin.post(f"{API}/auth/logout", json={"all": True})
    assert error(answer) == (422, "request.validation_error")
    assert admin.get(f"{API}/auth/me").status_code == 200


@pytest.mark.parametrize("path", ["/auth/me", "/users/me"])
def test_me_shows_the_actor_of_either_kind(app, admin, client, path):
    mine = admin.get(API + path)
    assert mine.status_code == 200
    assert list(mine.json) == [
        "id", "type", "username", "display_name", "email", "email_confirmed", "is_active",
        "created_at", "updated_at",
    ]  # fmt: skip
    bot, token = new_bot(admin)
    answer = client.get(API + path, headers=key_of(token))
    assert answer.status_code == 200
    assert answer.json == bot
    assert error(app.test_client().get(API + path)) == (401, "auth.unauthenticated")


@pytest.mark.parametrize(
    ("typed", "kept"),
    [("grace", "grace"), ("correct horse", "<redacted>"), ("P4ss!word", "<redacted>")],
)
def test_what_is_no_username_is_not_written_down(app, admin, typed, kept):
    """People sometimes type their password into this field."""
    for _ in range(6):
        try_login(app.test_client(), typed)
    told = {
        event.payload["username"]
        for event in events(app)
        if event.event_type in ("auth.login.failure", "auth.login.rate_limited")
    }
    assert told == {kept}
