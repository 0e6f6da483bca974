"""What arrives over HTTP, and with which status it is answered (mcp.md, section 1 and 5)."""

import pytest

from tests.support.agent import MODERN, envelope
from tests.support.story import events

pytestmark = pytest.mark.at_the_door

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


def error_of(response, status, code):
    assert response.status_code == status, response.get_data(as_text=True)
    assert response.content_type == "application/json"
    body = response.get_json()
    assert body["error"]["code"] == code, body
    return body


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
        ("http://127.0.0.1:8000", 200),
        ("http://localhost:3000", 200),
        ("https://[::1]:1", 200),
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
    assert len(events(app, event_type="auth.bot.failure")) == 3


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
    # The cast's tokens were audited when they were made; what counts is that no read writes.
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


# --- the handshake era


@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        ("2024-11-05", "2024-11-05"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ],
)
def test_the_handshake_settles_a_version(smith, asked, answered):
    found = smith.result("initialize", {"protocolVersion": asked, "capabilities": {}})
    assert found["protocolVersion"] == answered
    assert found["capabilities"] == {"tools": {}, "resources": {}}
    assert found["serverInfo"]["name"] == "docket"
    assert 100 < len(found["instructions"]) < 1100


def test_a_handshake_without_a_version_is_refused(smith):
    error_of(smith.send("initialize", {}), 200, -32602)


@pytest.mark.parametrize(
    "method", ["prompts/list", "completion/complete", "server/discover", "tasks/get", "no such"]
)
def test_unknown_methods_of_the_handshake_era(smith, method):
    body = error_of(smith.send(method), 200, -32601)
    assert body["id"] == 0


def test_a_version_header_that_nobody_knows(smith):
    response = smith.post(LIST, headers={"MCP-Protocol-Version": "2030-01-01"})
    body = error_of(response, 400, -32022)
    assert body["error"]["data"]["requested"] == "2030-01-01"
    assert body["error"]["data"]["supported"][0] == MODERN
    assert "2025-11-25" in body["error"]["data"]["supported"]


def test_known_versions_are_taken_as_they_come(smith):
    for version in ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"):
        response = smith.post(LIST, headers={"MCP-Protocol-Version": version})
        assert response.status_code == 200
        assert "resultType" not in response.get_json()["result"]


# --- the stateless era


def modern(smith, **changes):
    """A request of the stateless era with something changed or, where None, left out."""
    message = {**LIST, "params": {"_meta": envelope()}}
    headers = {"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/list"}
    for name, value in changes.items():
        if name in ("version", "method"):
            header = {"version": "MCP-Protocol-Version", "method": "Mcp-Method"}[name]
            headers[header] = value
        else:
            message["params"]["_meta"][f"io.modelcontextprotocol/{name}"] = value
    headers = {name: value for name, value in headers.items() if value is not None}
    meta = {name: value for name, value in message["params"]["_meta"].items() if value is not None}
    message["params"]["_meta"] = meta
    return smith.post(message, headers=headers)


def test_every_result_of_the_stateless_era_says_that_it_is_complete(smith):
    smith.modern = True
    discovered = smith.result("server/discover")
    assert discovered["supportedVersions"][0] == MODERN
    assert discovered["capabilities"] == {"tools": {}, "resources": {}}
    for method, ttl in (
        ("server/discover", 300_000),
        ("tools/list", 300_000),
        ("resources/templates/list", 300_000),
        ("resources/list", 0),
    ):
        found = smith.result(method)
        assert found["resultType"] == "complete"
        assert (found["ttlMs"], found["cacheScope"]) == (ttl, "private")
        assert found["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "docket"
    called = smith.result("tools/call", {"name": "get_self", "arguments": {}})
    assert called["resultType"] == "complete"
    assert "ttlMs" not in called


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"clientCapabilities": None}, -32602),
        ({"protocolVersion": None}, -32602),
        ({"protocolVersion": 7}, -32602),
        ({"version": None}, -32020),
        ({"version": "2025-11-25"}, -32020),
        ({"method": None}, -32020),
        ({"method": "tools/call"}, -32020),
        ({"method": "TOOLS/LIST"}, -32020),
        ({"protocolVersion": "2030-01-01", "version": "2030-01-01"}, -32022),
        ({"protocolVersion": "2025-11-25", "version": "2025-11-25"}, -32022),
    ],
)
def test_the_ladder_of_the_stateless_era(smith, changes, code):
    body = error_of(modern(smith, **changes), 400, code)
    assert body["id"] == 1


def test_client_info_is_never_required(smith):
    assert modern(smith, clientInfo=None).status_code == 200


@pytest.mark.parametrize("method", ["initialize", "ping", "subscriptions/listen", "prompts/list"])
def test_methods_that_the_stateless_era_has_not(smith, method):
    smith.modern = True
    error_of(smith.send(method, {}), 404, -32601)


def test_names_in_headers_may_be_encoded(smith):
    params = {"name": "get_self", "arguments": {}, "_meta": envelope()}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    headers = {"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/call"}
    for name, status in (
        ("get_self", 200),
        ("=?base64?Z2V0X3NlbGY=?=", 200),
        ("=?base64?Z2V0X3NlbG?=", 400),
        ("=?base64?\u00e9?=", 400),
        ("GET_SELF", 400),
    ):
        response = smith.post(message, headers={**headers, "Mcp-Name": name})
        assert response.status_code == status, name


def test_both_eras_serve_a_whole_session(smith):
    for era in (False, True):
        smith.modern = era
        made = smith.call("create_ticket", project="OPEN", title="Mend the gate")
        assert smith.call("get_ticket", ticket=made["display_id"])["title"] == "Mend the gate"
        text = smith.result("resources/read", {"uri": f"ticket://{made['display_id']}"})
        assert "Mend the gate" in text["contents"][0]["text"]


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
