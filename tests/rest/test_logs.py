"""No log line, response or event shows a secret: canaries are sent everywhere and searched for."""

import io
import logging
from contextlib import contextmanager

import pytest

from app.accounts import credentials
from app.core import logs
from app.core.ids import on_behalf_of
from app.core.logs import JsonFormatter, JsonLinesHandler
from tests.support.story import events, make_ticket, ok

PASSWORD = "canary-password-1234"
NEW_PASSWORD = "canary-password-5678"


@pytest.fixture(name="lines")
def _lines():
    """Collect everything that is logged during the test, as it would be printed."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter())
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    yield stream
    root.removeHandler(handler)
    root.setLevel(level)


def speak_of_secrets(cast):
    """Use every kind of secret, rightly and wrongly; return all of them."""
    made = ok(cast.ada.post("/bots", {"username": "bot-canary-1", "mode": "write"}), 201)
    token, dead = made["plaintext_token"], credentials.new_bot_token()
    key = {"X-API-Key": token}
    ok(cast.nobody.get("/auth/me", headers=key))
    ok(cast.nobody.get("/auth/me", headers={"X-API-Key": dead}), 401)
    ok(cast.nobody.get(f"/auth/me?token={token}&password={PASSWORD}"), 401)
    for path, status in (
        (f"//mcp/bot/{token}/mcp", 400),
        (f"//mcp/bot/{dead}/mcp", 401),
        (f"///mcp//bot/{token}/mcp", 404),
        (f"//mcp/bot/{token}", 404),
    ):
        # After two slashes the test client would expect the host.
        answer = cast.nobody.post(path, headers={"Host": "localhost"})
        assert answer.status_code == status
    call = {"name": "search", "arguments": {"q": token, "password": PASSWORD}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    ok(cast.nobody.post(f"//mcp/bot/{token}/mcp", message))
    ok(cast.ada.post("/users", {"username": "bird", "password": PASSWORD}), 201)
    login = {"username": "bird", "password": PASSWORD}
    session = cast.nobody.post("/auth/login", login).headers["Set-Cookie"].split("=")[1]
    cookie = session.split(";")[0]
    ok(cast.nobody.post("/auth/login", login | {"password": NEW_PASSWORD}), 401)
    change = {"current_password": PASSWORD, "new_password": NEW_PASSWORD}
    headers = {"Cookie": f"app_session={cookie}", "X-Requested-By": "web"}
    ok(cast.nobody.post("/auth/change-password", change, headers=headers), 204)
    ok(cast.ada.post("/users", {"username": "x y", "password": PASSWORD}), 422)
    ok(cast.nobody.get("/auth/me", headers={**headers, **key}), 401)
    return [token, token[4:], dead, PASSWORD, NEW_PASSWORD, cookie]


def test_no_log_line_holds_a_secret(cast, lines):
    secrets = speak_of_secrets(cast)
    printed = lines.getvalue()
    assert printed.count('"message":"request"') >= 12
    for secret in secrets:
        assert secret not in printed


def test_not_even_the_line_of_a_crash(app, cast, lines, monkeypatch):
    def fail(*args, **kwargs):
        raise RuntimeError(f"it was {PASSWORD} with app_{'a' * 32} and Cookie: app_session=xyz")

    monkeypatch.setattr("app.projects.service.visible", fail)
    monkeypatch.setattr(app, "testing", False)
    monkeypatch.setitem(app.config, "PROPAGATE_EXCEPTIONS", False)
    response = cast.smith.get(f"/projects/{cast.open_project}")
    assert response.status_code == 500
    printed = lines.getvalue()
    assert '"exception":' in printed
    assert "RuntimeError" in printed
    assert "app_" + "a" * 32 not in printed
    assert "xyz" not in printed
    assert cast.smith.token not in printed


def test_no_event_holds_a_secret(app, cast):
    secrets = speak_of_secrets(cast)
    written = " ".join(str(event.payload) for event in events(app))
    assert "token_prefix" in written
    for secret in secrets:
        assert secret not in written


def test_an_mcp_address_is_known_by_no_token(client):
    response = client.get(f"/mcp/bot/{credentials.new_bot_token()}/more")
    assert response.get_json()["error"]["details"]["id"] == "/mcp/bot/<redacted>/more"


def test_a_request_is_one_line_that_says_who_and_what(cast, lines):
    response = cast.smith.post(f"/projects/{cast.open_project}/tickets", {"title": "New"})
    line = next(line for line in lines.getvalue().splitlines() if '"message":"request"' in line)
    for part in (
        '"method":"POST"',
        '"status":201',
        '"operation":"tickets.create"',
        f'"actor_user_id":"{cast.smith.user_id}"',
        f'"request_id":"{response.headers["X-Request-Id"]}"',
    ):
        assert part in line
    assert "New" not in line


def test_a_query_is_not_logged(cast, lines):
    make_ticket(cast.ada, cast.open_project)
    ok(cast.ada.get("/tickets?limit=1&note=canary-in-the-query"))
    assert "canary-in-the-query" not in lines.getvalue()


@contextmanager
def own_lines(level=logging.INFO):
    """Capture this process's own log lines, without any other handlers, also those of pytest."""
    stream = io.StringIO()
    root = logging.getLogger()
    before, level_before = root.handlers[:], root.level
    root.handlers[:] = [JsonLinesHandler(stream)]
    root.setLevel(level)
    try:
        yield stream
    finally:
        root.handlers[:] = before
        root.setLevel(level_before)


SAID = {"path": '/a "quoted" \\ path', "status": 200, "duration_ms": 1.5, "actor_user_id": None}
SECRET = {"path": "/x?cookie=app_session=canary", "status": 404}


@pytest.mark.parametrize("said", [SAID, SECRET])
@pytest.mark.parametrize("asked", [None, "0199-request"])
def test_a_line_told_briefly_is_the_one_that_its_logger_would_write(said, asked, monkeypatch):
    monkeypatch.setattr(logs, "now_ms", lambda: 1_700_000_000_000)
    logger = logging.getLogger("docket.access")
    with on_behalf_of(asked), own_lines() as written:
        logger.info("request", extra=said)
        monkeypatch.setattr(logger, "info", None)
        logs.info(logger, "request", said)
    first, second = written.getvalue().splitlines()
    assert first == second
    assert "canary" not in first


def test_what_nobody_wants_to_know_is_not_told():
    with own_lines(logging.WARNING) as written:
        logs.info(logging.getLogger("docket.access"), "request", SAID)
    assert written.getvalue() == ""


def test_others_hear_of_it_as_always(lines):
    with own_lines() as written:
        logging.getLogger().addHandler(logging.StreamHandler(lines))
        logs.info(logging.getLogger("docket.access"), "request", SAID)
    assert written.getvalue().count("\n") == lines.getvalue().count("\n") == 1


def test_a_log_that_cannot_be_written_fails_no_request(cast, monkeypatch):
    monkeypatch.setattr(logging, "raiseExceptions", False)
    with own_lines() as written:
        written.close()
        ok(cast.ada.get("/auth/me"))
