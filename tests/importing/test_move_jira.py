"""``flask import jira`` against servers that respond like Jira Cloud and Data Center."""

import pytest

from app.importing.trackers import adf
from tests.importing.jira_server import JiraServer, document, person
from tests.importing.reading import comments, relations
from tests.importing.tracker_server import Reply


@pytest.fixture
def serving(move, monkeypatch):
    """Start a server and run the command against it."""
    servers = []
    monkeypatch.setenv("JIRA_TOKEN", "t0ken")

    def started(*, is_cloud):
        server = JiraServer(is_cloud=is_cloud)
        servers.append(server)
        account = ["--account", "me@example.com"] if is_cloud else []

        def running(*options, project="lamp", **wanted):
            return move("jira", project, "--url", server.url, *account, *options, **wanted)

        return server, running

    yield started
    for server in servers:
        server.close()


def said(text, author="Eve", **fields):
    when = {"created": "2024-03-01T13:00:00.000+0100"}
    return {"id": "1", "author": author and person(author), "body": text, **when, **fields}


def changed(field, old, new):
    return {
        "id": "7",
        "author": person("Root"),
        "created": "2024-03-01T14:00:00.000+0100",
        "items": [{"field": field, "fromString": old, "toString": new}],
    }


def link(kind, side, number):
    return {"type": {"name": kind}, f"{side}Issue": {"key": f"LAMP-{number}"}}


@pytest.mark.parametrize("is_cloud", [True, False])
def test_issues_with_all_that_belongs_to_them(cast, serving, tickets, is_cloud):
    jira, run = serving(is_cloud=is_cloud)
    text = document if is_cloud else str
    jira.issue(1, summary="Light", issuetype={"name": "Epic", "hierarchyLevel": 1})
    jira.issue(
        2,
        summary="Lamp is dark 💡",
        description=text("As LAMP-3 says"),
        status={"name": "Done", "statusCategory": {"key": "done", "name": "Done"}},
        priority={"name": "Highest"},
        issuetype={"name": "Bug", "hierarchyLevel": 0},
        assignee=person("bo"),
        labels=["old"],
        components=[{"name": "desk"}],
        issuelinks=[link("Blocks", "inward", 3), link("Duplicate", "outward", 4)],
        resolutiondate="2024-03-02T10:00:00.000+0100",
        duedate="2024-06-01",
        resolution={"name": "Won't Do"},
        attachment=[{"filename": "a.png", "content": "https://jira/a.png"}],
        fixVersions=[{"name": "1.0"}],
        comments=[
            said(text("One")),
            said(text("Two"), visibility={"type": "role", "value": "Admins"}),
            said(text("Three"), None),
            said(text("Four"), "bo"),
        ],
        changes=[
            changed("status", "To Do", "Done"),
            changed("Rank", "", "Ranked higher"),
            changed("assignee", None, "bo"),
        ],
        **({"parent": {"key": "LAMP-1"}} if is_cloud else {"customfield_10008": "LAMP-1"}),
        customfield_10020=[{"id": 1, "name": "S1"}]
        if is_cloud
        else ["com.atlassian.greenhopper.service.sprint.Sprint@1[id=1,state=CLOSED,name=S1,goal=]"],
    )
    jira.issue(3, summary="Three", issuelinks=[link("Blocks", "outward", 2)])
    jira.issue(4, summary="Four", issuelinks=[link("Duplicate", "inward", 2)], reporter=None)
    report = run()
    assert report["made"] == {
        "labels": 3,
        "epics": 1,
        "stories": 3,
        "comments": 5,
        "relations (blocks)": 1,
        "relations (duplicates)": 1,
    }
    assert [one["issue"] for one in report["notes"] if "restricted" in one["reason"]] == ["LAMP-2"]
    found = tickets()
    lamp = found["Lamp is dark 💡"]
    assert lamp["body"] == (
        f"As [LAMP-3]({jira.url}/browse/LAMP-3) says\n\n## Attachments\n\n"
        f"- [a.png](https://jira/a.png)\n\n---\n\nImported from "
        f"[LAMP-2]({jira.url}/browse/LAMP-2), created by Root, closed 2024-03-02: Won't Do, "
        "Fix version 1.0, Sprint S1"
    )
    assert (lamp["priority"], lamp["parent"]["title"]) == ("urgent", "Light")
    assert (lamp["due_date"], lamp["created_at"]) == ("2024-06-01", "2024-03-01T09:00:00.000Z")
    assert [one["body"] for one in comments(cast, lamp)] == [
        "**Eve** wrote:\n\nOne",
        "**Eve** wrote:\n\nTwo",
        "**Former user** wrote:\n\nThree",
        "Four",
        "**History in Jira**: 2 changes, 2024-03-01\n\n"
        "- 2024-03-01 13:00 Root changed status from To Do to Done\n"
        "- 2024-03-01 13:00 Root set assignee to bo",
    ]
    assert relations(cast, lamp) == {
        ("blocks", "incoming", "Three"),
        ("duplicates", "outgoing", "Four"),
    }
    assert run()["made"] == {}


@pytest.mark.parametrize("is_cloud", [True, False])
def test_pages_and_limits(serving, tickets, waits, is_cloud):
    jira, run = serving(is_cloud=is_cloud)
    jira.page = 20
    for number in range(1, 51):
        jira.issue(number)
    limit = Reply(None, 429, {"Retry-After": "11", "X-RateLimit-Reset": "2030-01-01T00:00Z"})
    jira.faults.extend([None, limit, Reply({}, 500), None, Reply(raw=b'{"issues": [')])
    assert run("--since", "2024-02-01")["made"] == {"stories": 50}
    assert len(tickets()) == 50
    assert waits[0] == 11
    searches = [one.query["jql"] for one in jira.asked if "jql" in one.query]
    assert "updated >= -" in searches[0]


def test_what_cannot_be_imported_is_said(serving, move, monkeypatch):
    _, run = serving(is_cloud=True)
    assert "'GONE' does not exist" in run(project="GONE", code=1)
    assert "by its key" in run(project='X" OR 1=1', code=1)
    monkeypatch.setenv("JIRA_TOKEN", "other")
    assert "does not accept the token" in run(code=1)
    output = move("jira", "LAMP", "--url", "https://acme.atlassian.net", code=2)
    assert "needs --account" in output


def node(kind, *content, **attributes):
    return {"type": kind, "content": list(content), "attrs": attributes}


def text(words, *marks):
    return {
        "type": "text",
        "text": words,
        "marks": [one if isinstance(one, dict) else {"type": one} for one in marks],
    }


@pytest.mark.parametrize(
    ("nodes", "markdown"),
    [
        ([node("heading", text("Hi *x*"), level=2)], "## Hi \\*x\\*"),
        (
            [
                node(
                    "paragraph",
                    text("a "),
                    text("b ", "strong"),
                    text("c", "code"),
                    text(" "),
                    text("`", "code"),
                )
            ],
            "a **b** `c` `` ` ``",
        ),
        (
            [node("paragraph", text("at", {"type": "link", "attrs": {"href": "https://x/(y)"}}))],
            "[at](https://x/%28y%29)",
        ),
        (
            [
                node(
                    "bulletList",
                    node(
                        "listItem",
                        node("paragraph", text("one")),
                        node("orderedList", node("listItem", node("paragraph", text("in")))),
                    ),
                    node("listItem", node("paragraph", text("two"))),
                )
            ],
            "- one\n  1. in\n- two",
        ),
        ([node("taskList", node("taskItem", text("t"), state="DONE"))], "- [x] t"),
        ([node("taskList", node("taskItem", text("t")))], "- [ ] t"),
        (
            [node("panel", node("paragraph", text("w")), panelType="warning")],
            "> **Warning**\n>\n> w",
        ),
        ([node("codeBlock", text("a```"), language="python")], "````python\na```\n````"),
        (
            [
                node(
                    "table",
                    node("tableRow", node("tableHeader", node("paragraph", text("h|1")))),
                    node("tableRow", node("tableCell", node("paragraph", text("x")))),
                )
            ],
            "| h\\|1 |\n|---|\n| x |",
        ),
        ([node("mediaSingle", node("media", alt="p.png"))], "![p.png](https://files/p.png)"),
        (
            [
                node(
                    "paragraph",
                    node("mention", text="@Ann"),
                    node("emoji", shortName=":x:", text="😀"),
                    node("date", timestamp="1700000000000"),
                    node("date", timestamp="x"),
                    node("status", text="DONE"),
                    node("inlineCard", url="https://x/y"),
                )
            ],
            "@Ann😀2023-11-14`DONE`<https://x/y>",
        ),
        ([node("unknown", node("paragraph", text("kept")))], "kept"),
        ([{"type": "table", "content": [{"content": None}]}, {"type": "text", "marks": 3}], ""),
    ],
)
def test_documents_become_markdown(nodes, markdown):
    document = {"type": "doc", "version": 1, "content": nodes}
    assert adf.as_markdown(document, lambda name: f"https://files/{name}") == markdown


def test_any_depth_is_read():
    deep = node("paragraph", text("deep"))
    for _ in range(900):
        deep = node("blockquote", deep)
    assert adf.as_markdown({"content": [deep]}).endswith("deep")
    assert [adf.as_markdown(one) for one in (None, 1, [], {"content": 1}, "plain")][-1] == "plain"
