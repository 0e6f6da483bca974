"""The two eras of the protocol: the handshake, and the stateless one."""

import pytest

from tests.support.agent import MODERN, envelope, error_of

LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
pytestmark = pytest.mark.one_database


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
    assert found["capabilities"] == {"tools": {}, "resources": {}, "prompts": {}}
    assert found["serverInfo"]["name"] == "docket"
    assert 100 < len(found["instructions"]) <= 2_000


def test_a_handshake_without_a_version_is_refused(smith):
    error_of(smith.send("initialize", {}), 200, -32602)


@pytest.mark.parametrize(
    "method", ["prompts/none", "completion/complete", "server/discover", "tasks/get", "no such"]
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


def modern(smith, **changes):
    """Send a request of the stateless era, with parts changed or, if None, left out."""
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
    assert discovered["capabilities"] == {"tools": {}, "resources": {}, "prompts": {}}
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


@pytest.mark.parametrize("method", ["initialize", "ping", "subscriptions/listen", "prompts/none"])
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
