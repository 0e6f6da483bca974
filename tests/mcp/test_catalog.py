"""The list of tools as clients read it: small, portable, and the same for everyone."""

import json
import re

import orjson
import pytest

from tests.support.story import make_ticket

pytestmark = pytest.mark.one_database

NAMES = [
    "get_self",
    "list_projects",
    "get_project",
    "list_tickets",
    "get_ticket",
    "create_ticket",
    "update_ticket",
    "transition_ticket",
    "delete_ticket",
    "add_ticket_relation",
    "remove_ticket_relation",
    "watch_ticket",
    "unwatch_ticket",
    "list_comments",
    "add_comment",
    "update_comment",
    "delete_comment",
    "list_wiki_pages",
    "get_wiki_page",
    "create_wiki_page",
    "update_wiki_page",
    "delete_wiki_page",
    "list_wiki_revisions",
    "list_sticky_notes",
    "create_sticky_note",
    "update_sticky_note",
    "delete_sticky_note",
    "convert_sticky_note",
    "search",
]
# Fields of results that descriptions name.
ANSWERED = {
    *("next_cursor", "next_body_offset", "news_cursor", "event_ids", "edit_history"),
    *("workflow_states", "sign_off", "review_state"),
}
BYTES_PER_TOKEN = 4.37
READS = {name for name in NAMES if name.startswith(("get_", "list_"))} | {"search"}


def tools(agent):
    return agent.result("tools/list")["tools"]


def test_all_tools_are_listed_in_their_order_for_every_bot(smith, scout, fenced):
    assert [tool["name"] for tool in tools(smith)] == NAMES
    assert tools(smith) == tools(scout) == tools(fenced)
    assert "nextCursor" not in smith.result("tools/list")


def test_the_list_is_small(smith):
    """At most 5,000 tokens of o200k; the bytes per token were measured once on this list."""
    assert len(orjson.dumps(tools(smith))) / BYTES_PER_TOKEN <= 5_000


def test_every_argument_that_a_description_names_exists(smith):
    listed = tools(smith)
    everywhere = {name for tool in listed for name in tool["inputSchema"]["properties"]}
    for tool in listed:
        arguments = tool["inputSchema"]["properties"]
        told = [tool["description"], *(one["description"] for one in arguments.values())]
        named = set(re.findall(r"\b[a-z]+(?:_[a-z]+)+\b", " ".join(told)))
        assert named <= {*NAMES, *arguments, *ANSWERED}, tool["name"]
    instructions = smith.result("initialize", {"protocolVersion": "2025-11-25"})["instructions"]
    named = set(re.findall(r"\b[a-z]+(?:_[a-z]+)+\b", instructions))
    assert named <= {*NAMES, *everywhere, *ANSWERED}


def test_every_tool_takes_detail_and_few_list_it(smith):
    listing = {
        tool["name"] for tool in tools(smith) if "detail" in tool["inputSchema"]["properties"]
    }
    assert listing == {"list_tickets", "get_ticket"}
    for name in NAMES:
        error = smith.refused(name, detail="most")
        told = {tuple(one["loc"]): one["type"] for one in error["details"]["errors"]}
        assert told["arguments", "detail"] == "invalid_value", name


def test_every_tool_says_all_that_clients_need(smith):
    for tool in tools(smith):
        assert set(tool) == {"name", "title", "description", "inputSchema", "annotations"}
        assert 20 < len(tool["description"]) < 400, tool["name"]
        hints = tool["annotations"]
        assert hints["openWorldHint"] is False
        assert hints["readOnlyHint"] == (tool["name"] in READS)
        assert hints["destructiveHint"] == tool["name"].startswith(
            ("update_", "delete_", "remove_", "unwatch_")
        )
        assert isinstance(hints["idempotentHint"], bool)
        assert tool["title"]


def test_schemas_are_portable(smith):
    allowed = {
        *("type", "description", "enum", "items", "minimum", "maximum", "default"),
        *("properties", "required", "additionalProperties"),
    }

    def check(schema, *, top):
        assert set(schema) <= allowed, schema
        assert isinstance(schema["type"], str)
        assert ("additionalProperties" in schema) == top
        for name, inner in schema.get("properties", {}).items():
            assert re.fullmatch(r"[a-z_]+", name)
            assert name != "properties"
            assert not top or inner["description"]
            check(inner, top=False)
        if "items" in schema:
            check(schema["items"], top=False)

    for tool in tools(smith):
        check(tool["inputSchema"], top=True)
        known = tool["inputSchema"]["properties"]
        assert set(tool["inputSchema"].get("required", [])) <= set(known)
        assert "null" not in json.dumps(tool["inputSchema"]["properties"]).replace("or null", "")


def test_what_a_call_cannot_do_without_is_required(smith):
    required = {tool["name"]: tool["inputSchema"].get("required", []) for tool in tools(smith)}
    assert required["create_sticky_note"] == ["project", "body"]
    assert required["list_sticky_notes"] == ["project"]
    # It needs either body or undo.
    for name in set(NAMES) - {"update_comment"}:
        given = dict.fromkeys(required[name], "1")
        answer = smith.result("tools/call", {"name": name, "arguments": given})
        assert '"missing"' not in answer["content"][0]["text"], name


def test_whom_a_bot_cannot_name_is_not_asked_for(smith, cast, ada):
    for tool in tools(smith):
        assert "user" not in tool["inputSchema"]["properties"]
    make_ticket(ada, cast.open_project)
    smith.call("watch_ticket", ticket="OPEN-1", user="me")
    smith.call("unwatch_ticket", ticket="OPEN-1", user_id=cast.smith.user_id)


def test_what_is_absent_by_design(smith):
    for name in NAMES:
        for word in ("bot", "token", "webhook", "audit", "user"):
            assert word not in name


def test_a_cursor_is_never_one_of_these_lists(smith):
    for method in ("tools/list", "resources/list", "resources/templates/list"):
        body = smith.send(method, {"cursor": "abc"}).get_json()
        assert body["error"]["code"] == -32602
        assert body["error"]["data"]["details"]["field"] == "cursor"
