"""Requests over HTTP, and the statuses of their responses."""

import pytest

from tests.support.agent import error_of
from tests.support.story import events

pytestmark = pytest.mark.one_database

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


def test_a_bare_request_without_any_header_is_answered(smith):
    response = smith.post(LIST)
    assert response.status_code == 200
    assert len(response.get_json()["result"]["tools"]) == 29
    assert response.headers["Cache-Control"] == "no-store"
    assert response.headers["X-Request-Id"]


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "PATCH", "OPTIONS"])
def test_only_post_is_served(smith, method):
    response = smith.caller.client.open(smith.address, method=method)
    error_of(response, 405, -32600)
    assert response.headers["Allow"] == "POST"


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        (None, 200),
        ("http://localhost", 200),
        ("http://localhost:3000", 403),
        ("http://127.0.0.1:8000", 403),
        ("https://evil.example", 403),
        ("null", 403),
        ("http://", 403),
        ("http://localhost.evil.example", 403),
        ("file://localhost", 403),
        ("http://localhost:99999", 403),
    ],
)
def test_pages_of_other_origins_may_not_call(smith, origin, status):
    headers = {} if origin is None else {"Origin": origin}
    response = smith.post(PING, headers=headers)
    assert response.status_code == status
    if status == 403:
        error_of(response, 403, -32600)


@pytest.mark.parametrize("token", ["app_" + "a" * 32, "app_short", "x", "%00", "app_" + "é" * 32])
def test_a_bad_token_reads_the_envelope_of_rest(smith, app, token):
    for message in (PING, {"not": "a request"}, []):
        response = smith.caller.client.post(f"/mcp/bot/{token}/mcp", json=message)
        assert response.status_code == 401
        assert response.get_json()["error"]["code"] == "auth.invalid_credentials"
    # Further failures of the same minute are recorded later, in one row.
    assert len(events(app, event_type="auth.bot.failure")) == 1


def test_a_revoked_token_and_an_inactive_bot_are_refused_at_once(cast, smith):
    cast.ada.post(f"/bots/{smith.caller.user_id}/tokens/revoke")
    assert smith.post(PING).status_code == 401


def test_an_inactive_bot_is_refused(cast, smith):
    cast.ada.delete(f"/bots/{smith.caller.user_id}")
    assert smith.post(LIST).status_code == 401
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "get_self"}}
    assert smith.post(call).status_code == 401


def test_first_use_is_audited_as_success(app, smith, database):
    smith.send("ping")
    smith.send("ping")
    # The fixture's tokens were audited when they were created; here no read may write.
    assert events(app, event_type="auth.bot.success") == []


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (b"", -32700),
        (b"{", -32700),
        (b"\xff", -32700),
        (b"[" * 5000, -32700),
        (b'{"a":' + b"1" * 5000 + b"}", -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"\\ud800"}}', -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":NaN}}', -32700),
        (b"[]", -32600),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600),
        (b"1", -32600),
        (b"null", -32600),
        (b'{"id":1,"method":"ping"}', -32600),
        (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":7}', -32600),
        (b'{"jsonrpc":"2.0","id":1}', -32600),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32602),
    ],
)
def test_what_is_no_request_is_refused(smith, raw, code):
    response = smith.caller.client.post(smith.address, data=raw, content_type="application/json")
    body = error_of(response, 400, code)
    assert body["id"] == (1 if code == -32602 else None)


@pytest.mark.parametrize("identifier", [0, -1, "", "server-discover-probe-1", 2**53])
def test_an_id_comes_back_as_it_was(smith, identifier):
    body = smith.post({**PING, "id": identifier}).get_json()
    assert body["id"] == identifier
    assert type(body["id"]) is type(identifier)
    assert body["result"] == {}


def test_types_of_content(smith):
    client, address = smith.caller.client, smith.address
    response = client.post(address, data=b"{}", content_type="text/plain")
    error_of(response, 415, -32600)
    response = client.post(address, json=PING, headers={"Accept": "text/event-stream"})
    error_of(response, 406, -32600)
    for accept in ("*/*", "application/json", "application/json, text/event-stream"):
        assert client.post(address, json=PING, headers={"Accept": accept}).status_code == 200
    typed = client.post(address, json=PING, content_type="application/json; charset=utf-8")
    assert typed.status_code == 200


def test_a_body_over_the_limit_is_refused(smith, database):
    raw = b'"' + b"x" * database.settings.max_request_bytes + b'"'
    response = smith.caller.client.post(smith.address, data=raw, content_type="application/json")
    error_of(response, 413, -32600)


@pytest.mark.parametrize(
    "message",
    [
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "method": "notifications/whatever", "params": {"a": 1}},
        {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "get_self"}},
        {"jsonrpc": "2.0", "id": 1, "result": {}},
        {"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "no"}},
    ],
)
def test_notifications_and_answers_are_taken_in_silence(smith, message):
    response = smith.post(message)
    assert (response.status_code, response.data) == (202, b"")


def test_the_address_is_exact(smith):
    for suffix in ("/", "/x"):
        response = smith.caller.client.post(smith.address + suffix, json=PING)
        assert response.status_code == 404
        assert smith.caller.token not in response.get_data(as_text=True)


@pytest.mark.parametrize("path", ["/.well-known/oauth-protected-resource", "/register"])
def test_what_clients_look_up_after_a_401_is_plain_json(client, path):
    response = client.get(path, headers={"Accept": "application/json"})
    assert (response.status_code, response.mimetype) == (404, "application/json")


@pytest.mark.parametrize(("era", "status"), [(False, 200), (True, 400)])
def test_calls_that_name_no_tool(smith, era, status):
    smith.modern = era
    for params in (
        {},
        {"name": 7},
        {"name": "get_self", "arguments": []},
        {"name": "get_self", "arguments": "x"},
        {"name": "no_such_tool"},
    ):
        body = error_of(smith.send("tools/call", params), status, -32602)
        assert body["id"] is not None
    assert "no_such_tool" in body["error"]["message"]
