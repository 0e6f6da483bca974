"""Help for people and agents, and the page of the design system."""

import re

import pytest
from markupsafe import escape

from app.bots.clients import CLIENTS
from app.config import VERSION
from app.web.assets import STATIC

pytestmark = pytest.mark.one_database

# Fields of results that the text for agents names, and the metadata of a call.
ANSWERED = {
    *("retry_after_seconds", "similar", "matched", "event_ids", "unread", "news", "news_cursor"),
    *("waited", "broken_links"),
}
META = {"_meta", "traceparent", "usage", "input_tokens", "output_tokens", "cost_usd"}
PAGES = ("/help", "/help/shortcuts", "/help/agents")


@pytest.mark.parametrize("path", PAGES)
def test_help_is_for_those_who_are_logged_in(ada, stranger, path):
    assert ada.get(path).status_code == 200
    assert stranger.get(path).location == f"/login?next={path}"


def test_the_help_names_the_version(ada):
    assert f"Docket {VERSION}</p>" in ada.get("/help").text


def test_every_page_of_the_help_is_found_from_the_menu(ada):
    assert 'class="menu-item" href="/help"' in ada.get("/projects").text
    text = ada.get("/help").text
    assert all(f'href="{path}"' in text for path in PAGES)
    for address in set(re.findall(r'class="stretched" href="([^"]+)"', text)):
        assert ada.get(address).status_code == 200, address


def test_the_keys_that_the_script_knows_are_in_the_one_table(ada):
    text = ada.get("/help/shortcuts").text
    table = re.search(r'<div class="pair">.*?</div>', text, re.DOTALL)
    # The sheet that `?` opens, and the page.
    assert text.count(table.group()) == 2
    shown = {tuple(re.findall(r"<kbd>(.+?)</kbd>", row)) for row in table.group().split("</tr>")}
    script = (STATIC / "js" / "keys.js").read_text()
    going = re.findall(r"(\w): \"", "".join(re.findall(r"GO\w* = \{(.+?)\};", script)))
    assert len(going) == 8
    assert {("g", key) for key in going} <= shown
    here = set(re.findall(r'^  "?([a-z/?])"?: ', script.split("HERE = {")[1], re.MULTILINE))
    assert here <= {key for keys in shown for key in keys}


def test_agents_read_which_tools_there_are(ada, stranger, app):
    tools = app.config["TOOLS"].tools_listing
    base_url = app.config["SETTINGS"].base_url
    page = ada.get("/help/agents").text
    answer = stranger.get("/llms.txt")
    assert answer.status_code == 200
    assert answer.mimetype == "text/plain"
    for tool in tools:
        assert f"<code>{tool['name']}</code>" in page
        assert f"- {tool['name']}(" in answer.text
        assert tool["description"] in answer.text
    assert f"{base_url}/mcp/bot/<TOKEN>/mcp" in answer.text
    assert f"{base_url}/mcp/bot/&lt;TOKEN&gt;/mcp" in page
    for client in CLIENTS:
        form = client.text(f"{base_url}/mcp/bot/<TOKEN>/mcp", "docket")
        assert str(escape(form)) in page
        assert f"\n{client.label}:\n" in answer.text
        assert all(f"    {line}\n" in answer.text for line in form.splitlines())
    for prompt in app.config["TOOLS"].prompts.values():
        assert f"- {prompt.name}(" in answer.text
        assert prompt.description in answer.text
    assert "- plan-epic(goal*, project): " in answer.text
    # The arguments that a tool requires are marked.
    assert "get_ticket(display_id*" in answer.text or "get_ticket(ticket*" in answer.text


def test_the_public_text_names_arguments_that_exist(stranger, app):
    text = stranger.get("/llms.txt").text.partition("## Details")[2].partition("\n## ")[0]
    assert len(text) > 1000
    schemas = [tool["inputSchema"]["properties"] for tool in app.config["TOOLS"].tools_listing]
    arguments = {name for schema in schemas for name in schema}
    named = {name for name in re.findall(r"`([^`]+)`", text) if name.isidentifier()}
    assert named <= arguments | ANSWERED | META | {"next"}
    listing = next(schema for schema in schemas if "count_by" in schema)
    for name in ("sort", "count_by"):
        told = re.search(rf"`{name}`([^.`]*)", text)[1]
        assert set(listing[name]["enum"]) <= set(re.findall("[a-z]+", told)), name


def test_the_public_text_holds_nothing_of_what_is_kept(cast, stranger, make):
    make("A secret plan")
    text = stranger.get("/llms.txt").text
    known = ("A secret plan", "OPEN", "FENCED", "smith", "scout", cast.open_project)
    assert [one for one in known if one in text] == []
    assert "app_" not in text


def test_the_page_of_the_design_system_is_for_development(ada, app):
    app.testing = False
    assert ada.get("/design").status_code == 404
    app.testing = True
    text = ada.get("/design").text
    for name in ("--ink-faint", "--accent-soft", "--s4"):
        assert f"<code>{name}</code>" in text
    sprite = (STATIC / "icons.svg").read_text()
    assert all(f">{name}</code>" in text for name in re.findall(r'symbol id="([\w-]+)"', sprite))
