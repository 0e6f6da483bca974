"""The tool log, its events, and that neither contains a secret."""

import logging

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import text as sql

from app.database.session import reading, session
from app.mcp import tool_log
from app.mcp.tool_log import ARGUMENTS_BYTES, shown
from tests.support.agent import MODERN, Agent, envelope, error_of
from tests.support.cases import cases
from tests.support.sizes import IS_LONG
from tests.support.story import events, invalid, malformed, ok, refused, walk


def rows(cast, query=""):
    return ok(cast.ada.get(f"/audit/tools{query}"))["data"]


def test_one_call_leaves_three_rows_with_one_request_id(app, cast, smith):
    response = smith.send(
        "tools/call", {"name": "create_ticket", "arguments": {"project": "OPEN", "title": "T"}}
    )
    request_id = response.headers["X-Request-Id"]
    (row,) = rows(cast)
    (domain,) = events(app, event_type="ticket.created")
    (pointer,) = events(app, event_type="bot.tool_invoked")
    assert row["request_id"] == domain.request_id == pointer.request_id == request_id
    assert pointer.tool_invocation_log_id == row["id"]
    assert (domain.category, pointer.category) == ("activity", "audit_only")
    assert row["bot_user_id"] == pointer.actor_user_id == cast.smith.user_id
    assert (row["tool_name"], row["status"], row["result_status"]) == ("create_ticket", "ok", "ok")
    assert row["arguments"] == {"project": "OPEN", "title": "T"}
    assert row["error_message"] is None
    assert 0 <= row["duration_ms"] < 10_000


def test_failed_calls_are_logged_with_their_code(cast, smith):
    smith.refused("get_ticket", ticket="OPEN-99")
    smith.refused("get_ticket")
    smith.send("tools/call", {"name": "no_such_tool" * 20})
    unknown, form, missing = rows(cast)
    assert (missing["status"], missing["result_status"]) == ("error", "resource.not_found")
    assert "Ticket not found" in missing["error_message"]
    assert form["result_status"] == "request.validation_error"
    assert unknown["status"] == "error"
    assert len(unknown["tool_name"]) == 128


@cases("modern", [False, True])
@cases(
    "params, name",
    [
        ({"arguments": []}, ""),
        ({"name": 5}, ""),
        ({}, ""),
        (None, ""),
        ({"name": "get_self", "arguments": [1]}, "get_self"),
        ({"name": "get_self", "arguments": "x"}, "get_self"),
        ({"name": "x" * 5000, "arguments": 1}, "x" * 128),
    ],
)
def test_calls_with_bad_params_are_logged_too(app, cast, params, name, modern):
    agent = Agent(cast.smith, modern=modern)
    answer = agent.send("tools/call", params)
    assert answer.json["error"]["code"] == -32602
    row, *before = rows(cast)
    assert (row["tool_name"], row["result_status"]) == (name, "invalid_params")
    *earlier, event = events(app, event_type="bot.tool_invoked")
    assert len(earlier) == len(before)
    assert event.payload["tool_name"] == name
    assert event.tool_invocation_log_id == row["id"]


def test_a_call_whose_params_are_no_object_is_logged_too(cast, smith):
    answer = smith.post({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": []})
    assert (answer.json["id"], answer.json["error"]["code"]) == (7, -32602)
    assert [row["tool_name"] for row in rows(cast)] == [""]


@cases(
    "header, meta, code, status",
    [
        ({"Mcp-Name": "search"}, {}, -32020, "header_mismatch"),
        ({"Mcp-Method": "tools/list"}, {}, -32020, "header_mismatch"),
        ({}, {"clientCapabilities": 7}, -32602, "invalid_params"),
        ({}, {"protocolVersion": 7}, -32602, "invalid_params"),
        ({"MCP-Protocol-Version": "2030-01-01"}, {}, -32020, "header_mismatch"),
        (
            {"MCP-Protocol-Version": "2030-01-01"},
            {"protocolVersion": "2030-01-01"},
            -32022,
            "unsupported_version",
        ),
    ],
)
def test_calls_with_a_bad_envelope_are_logged_too(app, cast, header, meta, code, status):
    changed = {f"io.modelcontextprotocol/{name}": value for name, value in meta.items()}
    params = {"name": "get_self", "arguments": {"a": 1}, "_meta": envelope() | changed}
    headers = {"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/call", "Mcp-Name": "get_self"}
    message = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}
    body = error_of(Agent(cast.smith).post(message, headers=headers | header), 400, code)
    assert body["id"] == 7
    row, *before = rows(cast)
    assert (row["tool_name"], row["result_status"]) == ("get_self", status)
    assert row["arguments"] == {"a": 1}
    *earlier, event = events(app, event_type="bot.tool_invoked")
    assert len(earlier) == len(before)
    assert event.tool_invocation_log_id == row["id"]


@pytest.mark.parametrize("path", ["/audit/tools", "/bots/smith", "/audit"])
def test_a_call_without_a_name_is_shown_as_such(cast, path):
    Agent(cast.smith).send("tools/call", {})
    shown = cast.ada.get(f"/{path}", headers={"Accept": "text/html"})
    assert shown.status_code == 200
    assert "<code></code>" not in shown.text
    assert "(no name)" in shown.text


def test_reading_a_resource_is_audited(app, smith):
    smith.call("create_ticket", project="OPEN", title="T")
    smith.result("resources/read", {"uri": "ticket://OPEN-1"})
    smith.send("resources/read", {"uri": "ticket://OPEN-2"})
    read, missing = events(app, event_type="bot.resource_read")
    assert read.payload == {"uri": "ticket://OPEN-1", "result_status": "ok"}
    assert missing.payload["result_status"] == "resource.not_found"


def test_listing_writes_nothing(app, smith):
    before = len(events(app))
    for method in ("ping", "tools/list", "resources/list", "resources/templates/list"):
        smith.result(method)
    assert len(events(app)) == before


def test_the_log_is_filtered(cast, smith, scout):
    smith.call("get_self")
    scout.call("list_projects")
    smith.refused("get_ticket", ticket="OPEN-9")
    newest, middle, oldest = rows(cast)

    def names(query):
        return [row["tool_name"] for row in rows(cast, query)]

    assert names(f"?bot_id={cast.smith.user_id}") == ["get_ticket", "get_self"]
    assert names("?tool_name=list_projects") == ["list_projects"]
    assert names("?status=error") == ["get_ticket"]
    assert names("?status=ok") == ["list_projects", "get_self"]
    assert names(f"?request_id={middle['request_id']}") == ["list_projects"]
    assert names(f"?from={newest['created_at']}")[0] == "get_ticket"
    assert names(f"?to={oldest['created_at']}")[-1] == "get_self"
    assert names("?from=2030-01-01T00:00:00Z") == []
    assert [row["id"] for row in walk(cast.ada, "/audit/tools", 1)] == [
        row["id"] for row in (newest, middle, oldest)
    ]


def test_bad_filters_of_the_log(cast):
    malformed(cast.ada.get("/audit/tools?status=maybe"), ["query", "status"], "invalid_value")
    malformed(cast.ada.get("/audit/tools?bot_id=smith"), ["query", "bot_id"], "invalid_value")
    malformed(cast.ada.get("/audit/tools?from=now"), ["query", "from"], "invalid_value")
    invalid(cast.ada.get("/audit/tools?limit=0"), "limit")
    refused(cast.smith.get("/audit/tools"), 403, "auth.forbidden", reason="humans_only")


# --- secrets


def test_secrets_are_taken_out_of_arguments():
    logged = shown(
        {
            "Password": "canary",
            "nested": [{"api_key": "canary", "TOKEN": {"deep": "canary"}}],
            "private_key": "canary",
            "secret": ["canary"],
            "body": "see /mcp/bot/canary/mcp and app_" + "a" * 32,
        }
    )
    assert "canary" not in str(logged)
    assert "a" * 32 not in str(logged)
    assert logged["Password"] == "<redacted>"


def test_long_texts_give_way_to_a_marker():
    logged = shown({"title": "Kept", "body": "x" * 10_000})
    assert logged == {"title": "Kept", "body": "<truncated>"}


@pytest.mark.slow
@settings(max_examples=100 if IS_LONG else 12)
@given(
    st.dictionaries(
        st.text(max_size=300),
        st.recursive(
            st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=6000),
            lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=300), inner),
            max_leaves=60,
        ),
    )
)
def test_arguments_never_exceed_4_kib(arguments):
    assert len(orjson.dumps(shown(arguments))) <= ARGUMENTS_BYTES


@pytest.mark.parametrize("arguments", [{"x": 1}, {"title": "\x00", "project": "OPEN"}])
def test_what_a_database_cannot_hold_is_logged_all_the_same(cast, smith, arguments):
    smith.refused("create_ticket", **arguments)
    (row,) = rows(cast)
    assert row["status"] == "error"


def test_a_nul_in_a_name_is_refused_and_logged(cast, smith):
    given = (
        ("list_tickets", {"project": "a\x00"}, "resource.not_found"),
        ("list_tickets", {"assignee": "a\x00"}, "validation.invalid_field"),
        ("list_tickets", {"state": "a\x00"}, "validation.invalid_field"),
        ("list_tickets", {"label": "a\x00"}, "validation.invalid_field"),
        ("get_wiki_page", {"page": "a\x00"}, "resource.not_found"),
        ("search", {"q": "a\x00"}, "validation.invalid_field"),
        ("get_ticket", {"ticket\x00": "OPEN-1"}, "request.validation_error"),
    )
    for tool, arguments, _ in given:
        smith.refused(tool, **arguments)
    found = [(row["tool_name"], row["result_status"]) for row in reversed(rows(cast))]
    assert found == [(tool, status) for tool, _, status in given]


def test_a_nul_in_the_name_of_a_tool_and_in_the_filter_of_the_log(cast, smith):
    smith.send("tools/call", {"name": "no\x00tool", "arguments": {}})
    (row,) = rows(cast)
    assert (row["tool_name"], row["status"]) == ("notool", "error")
    invalid(cast.ada.get("/audit/tools?tool_name=no%00tool"), "tool_name", "nul_character")


def test_no_token_is_in_any_log_or_table(app, cast, smith, caplog, database):
    caplog.set_level(logging.DEBUG)
    token = smith.caller.token
    smith.call("create_ticket", project="OPEN", title="T", body=f"my token is {token}")
    smith.refused("get_ticket", ticket=token)
    smith.send("tools/call", {"name": token})
    smith.send("resources/read", {"uri": f"ticket://{token}"})
    smith.caller.client.get(smith.address)
    smith.caller.client.post(smith.address + "/more", json={})
    assert token not in caplog.text
    assert token[4:] not in caplog.text
    with app.app_context(), reading():
        for table in ("tool_invocations", "audit_events"):
            stored = session.execute(sql(f"SELECT * FROM {table}")).all()
            assert token not in str(stored)


def test_a_log_that_cannot_be_written_leaves_an_orphan(app, cast, smith, monkeypatch):
    def broken(_):
        raise RuntimeError("no space")

    monkeypatch.setattr(tool_log, "shown", broken)
    smith.call("create_ticket", project="OPEN", title="T")
    (orphan,) = events(app, event_type="audit.orphaned")
    assert orphan.payload["event_type"] == "bot.tool_invoked"
    assert orphan.actor_kind == "system"
    assert rows(cast) == []
