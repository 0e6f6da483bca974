"""The pages of docs/: complete, consistent with the code, and usable as a wiki."""

import json
import re
import tomllib
from pathlib import Path

import click

from app import registry
from app.audit.event_types import EVENTS
from app.bots.clients import CLIENTS
from app.exporting import layout
from app.tools.catalog import catalog
from app.webhooks.snippets import NODE, PYTHON
from tests.contract.tables import read as contract
from tests.support.story import ok, walk

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
LINK = re.compile(r"(?<!!)\[[^\[\]\n]+\]\(([^()\s]+)\)")


def text(name):
    return (DOCS / name).read_text()


def first_cells(name):
    """Return the names in the first cells of a page's tables."""
    return re.findall(r"^\| `([^`]+)` \|", text(name), re.M)


def blocks(name, language):
    """Return a page's fenced blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text(name), re.M | re.S)


def test_the_export_format_lists_every_file_and_field():
    rows = re.findall(r"^\| `(\w+)\.jsonl` \| .+ \| (.+) \|$", text("export-format.md"), re.M)
    told = {name: re.findall(r"`(\w+)`", fields) for name, fields in rows}
    assert told == {
        table.name: [column.name for column in table.columns] for table in layout.exported()
    }


def named(command, path):
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            yield from named(inner, f"{path} {name}")
    else:
        yield path


def test_every_command_has_its_line():
    commands = [path for one in registry.commands() for path in named(one, one.name)]
    assert sorted(first_cells("commands.md")) == sorted(["demo", "serve", *commands])


def test_every_operation_has_its_line(client):
    paths = client.get("/api/v1/openapi.json").get_json()["paths"]
    operations = [f"{method.upper()} {path}" for path in paths for method in paths[path]]
    told = [cell for cell in first_cells("api-guide.md") if " /" in cell]
    assert sorted(told) == sorted(operations)


def test_every_tool_has_its_line():
    told = re.findall(r"^\| `(\w+)` \|", text("bot-guide.md").partition("## The tools")[2], re.M)
    assert sorted(told) == sorted(tool["name"] for tool in catalog("Docket").tools_listing)


def test_every_event_has_its_line_and_payload():
    rows = re.findall(r"^\| `([\w.]+)` \| (\w+) \| (.+) \|$", text("webhooks.md"), re.M)
    told = {name: (kind, re.findall(r"`(\w+)`", payload)) for name, kind, payload in rows}
    assert told == {kind.name: (str(kind.category), list(kind.payload)) for kind in EVENTS.values()}


def test_every_error_code_has_its_line():
    due, _ = contract("errors.txt")
    rows = re.findall(r"^\| (`[a-z_`., ]+`) \| ([\d, ]+) \|", text("api-guide.md"), re.M)
    told = {
        (code, statuses.replace(" ", ""))
        for codes, statuses in rows
        for code in re.findall(r"`([^`]+)`", codes)
    }
    assert told == due


def leads_somewhere(page, target):
    """Return whether a page's relative link names a file and, after ``#``, one of its headings."""
    name, _, anchor = target.partition("#")
    path = page.parent / name if name else page
    if not path.exists():
        return False
    headings = re.findall(r"^#+ (.+)$", path.read_text(), re.M) if anchor else []
    slugs = {re.sub(r"[^\w -]", "", one).lower().replace(" ", "-") for one in headings}
    return not anchor or anchor in slugs


def test_every_link_leads_somewhere():
    pages = [*DOCS.rglob("*.md"), ROOT / "README.md"]
    assert len(pages) > 10
    dead = [
        (page.name, target)
        for page in pages
        for target in LINK.findall(page.read_text())
        if ":" not in target and not leads_somewhere(page, target)
    ]
    assert dead == []
    listed = set(LINK.findall(text("index.md")))
    assert listed == {path.name for path in DOCS.glob("*.md")} - {"index.md"}


def test_the_pages_are_a_wiki_without_broken_links(app, cast):
    runner = app.test_cli_runner()
    done = runner.invoke(args=["import-wiki", str(DOCS), "--as", "ada"])
    assert f"{len(list(DOCS.glob('*.md')))} pages created" in done.output
    assert [line for line in done.output.splitlines() if "links to" in line] == [
        line for line in done.output.splitlines() if "not a page (" in line
    ]
    assert walk(cast.ada, "/wiki/broken-links", 200) == []
    index = ok(cast.ada.get("/wiki/pages/index"))
    assert "[[user-guide|User guide]]" in index["body"]
    for path in DOCS.glob("*.md"):
        body = ok(cast.ada.get(f"/wiki/pages/{path.stem}"))["body"]
        assert not [target for target in LINK.findall(body) if ":" not in target], path.name


def test_the_configurations_of_clients_are_those_of_the_pages():
    address = "http://127.0.0.1:8000/mcp/bot/TOKEN/mcp"
    told = [block for kind in ("text", "json", "toml") for block in blocks("bot-guide.md", kind)]
    assert sorted(told) == sorted(one.text(address, "docket") + "\n" for one in CLIENTS)
    plain = text("bot-guide.md").replace("`", "").replace("*", "")
    for one in CLIENTS:
        assert plain.index(one.place, plain.index(f"\n{one.name}")) < plain.index(
            one.text(address, "docket")
        )


def test_the_configurations_of_clients_are_well_formed():
    found = [json.loads(block) for block in blocks("bot-guide.md", "json")]
    found += [tomllib.loads(block) for block in blocks("bot-guide.md", "toml")]
    codex = next(one for one in CLIENTS if one.key == "mcp-codex")
    assert "a.b" in tomllib.loads(codex.text("http://x/", "a.b"))["mcp_servers"]
    assert len(found) == 7
    for one in found:
        ((name, servers),) = one.items()
        assert set(servers) == {"docket"}, name
        assert "http://127.0.0.1:8000/mcp/bot/TOKEN/mcp" in str(servers)


def test_the_code_that_verifies_is_the_one_of_the_page():
    assert blocks("webhooks.md", "python")[0] == PYTHON
    assert blocks("webhooks.md", "js") == [NODE]
