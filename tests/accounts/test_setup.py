import re

import pytest
from sqlalchemy import delete, func, insert, select

from app.accounts import passwords
from app.accounts.models import User, UserSession
from app.core import ids
from app.database.session import reading, session
from tests.accounts.helpers import (
    API,
    PASSWORD,
    at_once,
    details,
    error,
    event_types,
    events,
    new_human,
    only,
    set_up,
    write,
)

SETUP = f"{API}/setup/admin"
STATUS = f"{API}/setup/status"
BODY = {"username": "ada", "password": PASSWORD}
LONG = "too_long"
NUL = "nul_character"
ECHO = "client_request_id"


def humans(app):
    with app.app_context(), reading():
        return session.scalar(select(func.count()).select_from(User))


def test_setup_is_needed_until_a_human_exists(app, client):
    assert client.get(STATUS).json == {"needs_setup": True, "needs_code": False}
    set_up(app)
    assert client.get(STATUS).json == {"needs_setup": False, "needs_code": False}


ELSEWHERE = [
    ({"REMOTE_ADDR": "192.0.2.7"}, {}),
    ({"REMOTE_ADDR": "::ffff:192.0.2.7"}, {}),
    ({}, {"X-Forwarded-For": "127.0.0.1"}),
    ({}, {"Forwarded": "for=127.0.0.1"}),
    ({}, {"X-Real-Ip": "127.0.0.1"}),
    ({}, {"X-Forwarded-Proto": "https"}),
]


def test_from_elsewhere_the_setup_takes_the_code(app, client):
    code = app.test_cli_runner().invoke(args=["setup-code"]).output.strip()
    assert re.fullmatch(r"([a-z2-7]{4}-){3}[a-z2-7]{4}", code)
    for environ, headers in ELSEWHERE:
        asked = {"environ_base": environ, "headers": headers}
        assert client.get(STATUS, **asked).json == {"needs_setup": True, "needs_code": True}, asked
        for wrong in (None, "", code[:-1], "é" * 16, "x" * 10_000):
            body = BODY if wrong is None else {**BODY, "setup_code": wrong}
            answer = client.post(SETUP, json=body, **asked)
            assert error(answer) == (403, "auth.forbidden"), asked
            assert details(answer) == {"reason": "setup_code_required"}, asked
        page = client.get("/setup", **asked).text
        assert 'name="setup_code"' in page, asked
        refused = client.post("/setup", data={**BODY, "setup_code": "x"}, **asked)
        assert refused.status_code == 422, asked
        assert "setup code" in refused.text, asked
    assert humans(app) == 0
    spaced = code.upper().replace("-", " ")
    assert client.post(SETUP, json={**BODY, "setup_code": spaced}, **asked).status_code == 201
    assert client.get(STATUS, **asked).json == {"needs_setup": False, "needs_code": False}
    assert app.test_cli_runner().invoke(args=["setup-code"]).exit_code == 1


def test_on_this_machine_the_page_asks_for_no_code(client):
    assert "setup_code" not in client.get("/setup").text


@pytest.mark.parametrize("username", ["me", "none", "next", "unassigned"])
def test_words_that_stand_for_somebody_else_are_no_usernames(client, admin, username):
    made = {"username": username, "password": PASSWORD}
    answers = [
        admin.post(f"{API}/users", json=made),
        admin.post(f"{API}/bots", json={"username": username, "mode": "read"}),
    ]
    for answer in answers:
        assert error(answer) == (422, "validation.invalid_field")
        assert details(answer) == {"field": "username", "reason": "reserved"}


def test_bots_do_not_count_as_humans(app, client):
    row = {
        "id": ids.new_id(), "type": "bot", "username": "bot-test-1", "display_name": "Bot",
        "is_active": True, "bot_mode": "read", "project_ids": [], "can_edit_global_wiki": False,
        "rate_limit_per_minute": 60, "created_at": 1, "updated_at": 1,
    }  # fmt: skip
    write(app, insert(User).values(**row))
    assert client.get(STATUS).json == {"needs_setup": True, "needs_code": False}
    answer = client.post(SETUP, json={**BODY, "username": "bot-test-1"})
    assert error(answer) == (409, "resource.conflict")
    assert details(answer) == {"reason": "duplicate_key", "field": "username"}
    assert client.post(SETUP, json=BODY).status_code == 201


def test_setup_makes_the_admin_and_logs_in(app, client):
    answer = client.post(SETUP, json={**BODY, "display_name": " Ada L. "})
    assert answer.status_code == 201
    user = answer.json["user"]
    assert user == {
        **user,
        "username": "ada",
        "display_name": "Ada L.",
        "type": "human",
        "is_active": True,
    }
    assert answer.json["session"].keys() == {"expires_at"}
    assert answer.headers["Location"] == f"http://localhost/api/v1/users/{user['id']}"
    assert client.get(f"{API}/auth/me").json == user
    assert event_types(app) == ["user.created", "auth.login.success"]
    for event in events(app):
        assert (event.actor_kind, event.actor_user_id) == ("human", user["id"])
        assert event.request_id == answer.headers["X-Request-Id"]
        assert PASSWORD not in str(event.payload)
    assert events(app)[0].payload == {"username": "ada", "display_name": "Ada L."}


def test_display_name_is_the_username_if_absent(client):
    assert client.post(SETUP, json=BODY).json["user"]["display_name"] == "ada"


def test_client_request_id_is_echoed(client):
    answer = client.post(SETUP, json={**BODY, "client_request_id": "mine"})
    assert answer.json["client_request_id"] == "mine"


@pytest.mark.parametrize("body", [BODY, {**BODY, "password": "x"}, {**BODY, "username": "!"}])
def test_setup_is_over_once_a_human_exists(app, client, body):
    set_up(app)
    answer = client.post(SETUP, json=body)
    assert error(answer) == (409, "resource.conflict")
    assert details(answer) == {"reason": "invariant_violation"}
    assert "Set-Cookie" not in answer.headers
    assert humans(app) == 1


def test_deactivated_human_counts(app, client):
    admin = set_up(app)
    new_human(admin, "grace")
    write(app, delete(UserSession))
    write(app, User.__table__.update().values(is_active=False))
    assert client.get(STATUS).json == {"needs_setup": False, "needs_code": False}
    assert error(client.post(SETUP, json=BODY)) == (409, "resource.conflict")


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("fields", "status", "code", "found"),
    [
        ({"password": "a" * 11}, 400, "validation.password_too_short", None),
        ({"password": "a" * 1025}, 422, "validation.invalid_field", ("password", "too_long")),
        ({"password": "a\x00" * 12}, 422, "validation.invalid_field", ("password", NUL)),
        ({"username": "A"}, 422, "validation.invalid_field", ("username", "pattern")),
        ({"username": "a"}, 422, "validation.invalid_field", ("username", "pattern")),
        ({"username": "ada\n"}, 422, "validation.invalid_field", ("username", "pattern")),
        ({"username": "-ada"}, 422, "validation.invalid_field", ("username", "pattern")),
        ({"username": "adä"}, 422, "validation.invalid_field", ("username", "pattern")),
        ({"username": "a" * 65}, 422, "validation.invalid_field", ("username", "too_long")),
        ({"display_name": " "}, 422, "validation.invalid_field", ("display_name", "blank")),
        ({"display_name": "a" * 201}, 422, "validation.invalid_field", ("display_name", LONG)),
        ({"client_request_id": "a" * 129}, 422, "validation.invalid_field", (ECHO, LONG)),
        ({"display_name": None}, 422, "request.validation_error", None),
        ({"username": 1}, 422, "request.validation_error", None),
        ({"role": "admin"}, 422, "request.validation_error", None),
    ],
)  # fmt: skip
def test_setup_checks_its_fields(app, client, fields, status, code, found):
    answer = client.post(SETUP, json={**BODY, **fields})
    assert error(answer) == (status, code)
    if found:
        assert (details(answer)["field"], details(answer)["reason"]) == found
    assert humans(app) == 0
    assert event_types(app) == []


@pytest.mark.parametrize("username", ["a1", "0", "a" * 64, "a.b_c-d"])
def test_usernames_at_the_bounds(client, username):
    expected = 201 if len(username) > 1 else 422
    assert client.post(SETUP, json={**BODY, "username": username}).status_code == expected


def test_refused_setup_hashes_nothing(app, client, monkeypatch):
    set_up(app)
    monkeypatch.setattr(passwords, "hash_new", lambda *_: pytest.fail("hashed"))
    assert client.post(SETUP, json=BODY).status_code == 409


def by_rest(app, number):
    answer = app.test_client().post(SETUP, json={**BODY, "username": f"rest-{number}"})
    return answer.status_code


def by_command(app, number):
    arguments = ["setup-admin", "--username", f"command-{number}", "--password", PASSWORD]
    result = app.test_cli_runner().invoke(args=arguments)
    return {0: 201, 1: 409}.get(result.exit_code, result.exit_code)


@pytest.mark.parametrize("_round", range(2))
def test_of_32_setups_at_once_by_rest_and_command_one_makes_the_admin(app, _round):
    answers = at_once(32, lambda number: (by_command if number % 4 == 0 else by_rest)(app, number))
    assert (answers.count(201), answers.count(409)) == (1, 31)
    assert humans(app) == 1
    only(app, "user.created")


def test_command_makes_the_admin_without_a_session(app):
    arguments = [
        "setup-admin",
        "--username",
        "ada",
        "--display-name",
        "Ada",
        "--password",
        PASSWORD,
    ]
    result = app.test_cli_runner().invoke(args=arguments)
    assert (result.exit_code, result.output) == (0, "Created ada. Log in at http://localhost/\n")
    event = only(app, "user.created")
    assert (event.actor_kind, event.actor_user_id) == ("system", None)
    assert event.request_id is not None
    assert event_types(app) == ["user.created"]
    answer = app.test_client().post(f"{API}/auth/login", json=BODY)
    assert answer.status_code == 200
    assert answer.json["user"]["display_name"] == "Ada"


def test_command_asks_for_what_is_missing_and_hides_the_password(app):
    result = app.test_cli_runner().invoke(
        args=["setup-admin"], input=f"ada\n{PASSWORD}\n{PASSWORD}\n"
    )
    assert result.exit_code == 0, result.output
    assert PASSWORD not in result.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--username", "ada", "--password", "short"],
            "The password must be at least 12 characters long.",
        ),
        (["--username", "Ada!", "--password", PASSWORD], "username must be 2 to 64"),
    ],
)
def test_command_names_what_is_wrong_and_exits_1(app, arguments, message):
    result = app.test_cli_runner().invoke(args=["setup-admin", *arguments])
    assert result.exit_code == 1
    assert message in result.output
    assert humans(app) == 0


def test_command_is_refused_once_a_human_exists(app):
    set_up(app)
    # The refusal comes before any prompt.
    result = app.test_cli_runner().invoke(args=["setup-admin"], input="eve\n")
    assert (result.exit_code, result.output) == (
        1,
        "Error: Setup is already complete. Log in instead.\n",
    )


def test_command_exits_2_on_wrong_usage(app):
    assert app.test_cli_runner().invoke(args=["setup-admin", "--nonsense"]).exit_code == 2
