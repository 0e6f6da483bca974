import pytest

from tests.accounts.helpers import (
    API,
    PASSWORD,
    at_once,
    cookie_of,
    details,
    error,
    events,
    key_of,
    logged_in,
    new_bot,
    new_human,
)

USERS = f"{API}/users"
ME = f"{API}/auth/me"
BODY = {"username": "grace", "password": PASSWORD}
NUL = "nul_character"


def whole_list(client, limit, path=USERS):
    """All rows, page by page."""
    rows, cursor = [], None
    while True:
        query = {"limit": limit} | ({"cursor": cursor} if cursor else {})
        page = client.get(path, query_string=query).json
        assert len(page["data"]) <= limit
        rows += page["data"]
        cursor = page["page"]["next_cursor"]
        assert page["page"]["has_more"] is (cursor is not None)
        if cursor is None:
            return rows


def test_list_shows_humans_and_bots_newest_first(admin):
    bot, _ = new_bot(admin)
    grace = new_human(admin, "grace")
    ada = admin.get(ME).json
    assert admin.get(USERS).json == {
        "data": [grace, bot, ada],
        "page": {"next_cursor": None, "has_more": False},
    }


def test_list_goes_page_by_page(admin):
    for number in range(5):
        new_human(admin, f"human-{number}")
        new_bot(admin, f"bot-{number}")
    everyone = admin.get(USERS).json["data"]
    assert len(everyone) == 11
    for limit in (1, 2, 3, 11):
        assert whole_list(admin, limit) == everyone


def test_cursor_of_another_list_is_refused(admin):
    for number in range(2):
        new_bot(admin, f"bot-{number}")
    cursor = admin.get(f"{API}/bots?limit=1").json["page"]["next_cursor"]
    answer = admin.get(USERS, query_string={"cursor": cursor})
    assert error(answer) == (400, "validation.invalid_field")
    assert details(answer)["field"] == "cursor"


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/users"), ("POST", "/users"), ("PATCH", "/users/x")]
)
def test_users_are_managed_by_humans_alone(app, admin, method, path):
    anonymous = app.test_client().open(API + path, method=method, json={})
    assert error(anonymous) == (401, "auth.unauthenticated")
    for mode in ("read", "write"):
        _, token = new_bot(admin, f"bot-{mode}", mode=mode)
        answer = app.test_client().open(
            API + path, method=method, json={"x": 1}, headers=key_of(token)
        )
        assert error(answer) == (403, "auth.forbidden")
        assert details(answer) == {"reason": "humans_only"}


def test_create_makes_a_human_who_can_log_in(app, admin):
    answer = admin.post(USERS, json={**BODY, "display_name": " Grace H. "})
    assert answer.status_code == 201
    grace = answer.json
    assert grace.keys() == {
        "id", "type", "username", "display_name", "email", "email_confirmed", "is_active",
        "created_at", "updated_at",
    }  # fmt: skip
    assert (grace["type"], grace["display_name"], grace["is_active"]) == ("human", "Grace H.", True)
    assert grace["created_at"] == grace["updated_at"]
    assert answer.headers["Location"] == f"http://localhost/api/v1/users/{grace['id']}"
    assert "Set-Cookie" not in answer.headers
    event = events(app, "user.created")[-1]
    assert event.payload == {"username": "grace", "display_name": "Grace H."}
    assert (event.target_kind, event.target_id) == ("user", grace["id"])
    assert event.actor_user_id == admin.get(ME).json["id"]
    assert event.category == "audit_only"
    assert logged_in(app, "grace").get(ME).json == grace


def test_client_request_id_is_echoed_and_display_name_defaults(admin):
    answer = admin.post(USERS, json={**BODY, "client_request_id": "mine"})
    assert answer.json["client_request_id"] == "mine"
    assert answer.json["display_name"] == "grace"


@pytest.mark.parametrize("taken", ["ada", "bot-test-1"])
def test_usernames_are_unique_over_both_kinds(app, admin, taken):
    bot, _ = new_bot(admin, "bot-test-1")
    admin.delete(f"{API}/bots/{bot['id']}")
    before = len(events(app))
    answer = admin.post(USERS, json={**BODY, "username": taken})
    assert error(answer) == (409, "resource.conflict")
    assert details(answer) == {"reason": "duplicate_key", "field": "username"}
    assert len(events(app)) == before


def test_of_many_who_take_one_username_at_once_one_gets_it(app, admin):
    token = cookie_of(admin)

    def create(_number):
        browser = app.test_client()
        browser.set_cookie("app_session", token)
        return browser.post(USERS, json=BODY).status_code

    answers = at_once(8, create)
    assert (answers.count(201), answers.count(409)) == (1, 7)


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("fields", "status", "code", "found"),
    [
        ({"password": "a" * 11}, 400, "validation.password_too_short", None),
        ({"password": "a" * 1025}, 422, "validation.invalid_field", ("password", "too_long")),
        ({"username": "Grace"}, 422, "validation.invalid_field", ("username", "pattern")),
        ({"username": "g" * 65}, 422, "validation.invalid_field", ("username", "too_long")),
        ({"display_name": "\t"}, 422, "validation.invalid_field", ("display_name", "blank")),
        ({"display_name": "\x00"}, 422, "validation.invalid_field", ("display_name", NUL)),
        ({"type": "human"}, 422, "request.validation_error", None),
    ],
)  # fmt: skip
def test_create_checks_its_fields(app, admin, fields, status, code, found):
    answer = admin.post(USERS, json={**BODY, **fields})
    assert error(answer) == (status, code)
    if found:
        assert (details(answer)["field"], details(answer)["reason"]) == found
    assert len(events(app, "user.created")) == 1


@pytest.mark.parametrize("missing", ["username", "password"])
def test_create_needs_username_and_password(admin, missing):
    body = {name: value for name, value in BODY.items() if name != missing}
    answer = admin.post(USERS, json=body)
    assert error(answer) == (422, "request.validation_error")
    assert details(answer)["errors"][0]["loc"] == ["body", missing]
    assert details(answer)["errors"][0]["type"] == "missing"
