"""The official client against the running server, as a bot connects: one URL, in every mode."""

import json

import pytest
from mcp import Client, MCPError

from tests.support.event_loop import run_async
from tests.support.forking import FORKED
from tests.support.serving import serving
from tests.support.workspace import first_bot

pytestmark = pytest.mark.slow

MODES = {"auto": "2026-07-28", "legacy": "2025-11-25", "2026-07-28": "2026-07-28"}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """The MCP address of the first bot of a server."""
    with serving(tmp_path_factory.mktemp("sdk") / "instance", command=FORKED) as served:
        bot = first_bot(served)
        yield f"{served.url}/mcp/bot/{bot.token}/mcp"


async def session(address, mode):
    """The first steps of a bot: look around, create, find, read; and one mistake."""
    async with Client(address, mode=mode, cache=None) as client:
        assert client.protocol_version == MODES[mode]
        # A client that is pinned to a version sends nothing before its first call.
        assert client.instructions is None or "get_self" in client.instructions
        tools = (await client.list_tools()).tools
        assert len(tools) == 29
        me = await client.call_tool("get_self", {})
        assert me.structured_content["mode"] == "write"
        # Programs get both forms, which say the same.
        assert [json.loads(block.text) for block in me.content] == [me.structured_content]
        made = await client.call_tool("create_ticket", {"project": "OPS", "title": f"By {mode}"})
        assert not made.is_error
        name = made.structured_content["display_id"]
        prompts = (await client.list_prompts()).prompts
        assert "work-next" in [prompt.name for prompt in prompts]
        written = await client.get_prompt("work-next", {})
        assert "ticket next" in written.messages[0].content.text
        listed = (await client.list_resources()).resources
        assert f"ticket://{name}" in [str(resource.uri) for resource in listed]
        assert len((await client.list_resource_templates()).resource_templates) == 3
        read = await client.read_resource(f"ticket://{name}")
        assert f"By {mode}" in read.contents[0].text
        wrong = await client.call_tool("transition_ticket", {"ticket": name, "state": "Doing"})
        assert wrong.is_error
        assert "In progress" in wrong.content[0].text
        with pytest.raises(MCPError, match="Unknown tool"):
            await client.call_tool("no_such_tool", {})
        with pytest.raises(MCPError):
            await client.read_resource("ticket://OPS-9999")


@pytest.mark.parametrize("mode", MODES)
def test_a_whole_session(server, mode):
    run_async(session(server, mode))


def test_a_dead_token_is_told_as_such(server):
    async def connect():
        async with Client(server.replace("app_", "app_x"), mode="2026-07-28", cache=None) as client:
            with pytest.raises(MCPError) as caught:
                await client.list_tools()
            return caught.value

    assert "app_x" not in str(run_async(connect()))
