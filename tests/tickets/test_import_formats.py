"""``flask import-issues`` of what other trackers export, in the shapes in which they do."""

import json
from typing import Any

import pytest

from app.tickets.importing.jira_markup import as_markdown
from tests.support.story import ok, walk


@pytest.fixture
def run(app, cast, tmp_path):
    """Import files into OPEN as ada; the report, or the whole result for another exit code."""

    def importing(*contents: str | bytes, options=(), code=0, text=None) -> Any:
        names = []
        for number, content in enumerate(contents):
            path = tmp_path / f"file-{number}"
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
            names.append(str(path))
        args = ["import-issues", *names, "--project", "OPEN", "--as", "ada", *options]
        json_wanted = code == 0 and "--dry-run" not in options
        result = app.test_cli_runner().invoke(
            args=[*args, *(["--json"] if json_wanted else [])], input=text
        )
        assert result.exit_code == code, (result.output, result.exception)
        return json.loads(result.stdout) if json_wanted else result.output

    return importing


@pytest.fixture
def tickets(cast):
    """All tickets of OPEN by title."""

    def listed():
        rows = walk(cast.ada, f"/projects/{cast.open_project}/tickets", 200)
        return {row["title"]: row for row in rows}

    return listed


def comments(cast, ticket):
    return ok(cast.ada.get(f"/tickets/{ticket['id']}/comments"))["data"]


def relations(cast, ticket):
    rows = ok(cast.ada.get(f"/tickets/{ticket['id']}/relations"))["data"]
    return {(row["type"], row["direction"], row["ticket"]["title"]) for row in rows}


REPO = "https://api.github.com/repos/octo/lamp"


def github_issue(number, **fields):
    return {
        "url": f"{REPO}/issues/{number}",
        "repository_url": REPO,
        "comments_url": f"{REPO}/issues/{number}/comments",
        "html_url": f"https://github.com/octo/lamp/issues/{number}",
        "id": 2_000_000_000 + number,
        "node_id": "I_kw",
        "number": number,
        "title": f"Issue {number}",
        "user": {"login": "octocat", "id": 1, "type": "User"},
        "labels": [],
        "state": "open",
        "locked": False,
        "assignee": None,
        "assignees": [],
        "milestone": None,
        "comments": 0,
        "created_at": "2024-03-01T10:00:00Z",
        "updated_at": "2024-03-02T10:00:00Z",
        "closed_at": None,
        "author_association": "NONE",
        "body": None,
        "reactions": {"total_count": 0},
        "state_reason": None,
        **fields,
    }


def github_comment(number, body, login="hubot"):
    return {
        "url": f"{REPO}/issues/comments/9{number}",
        "issue_url": f"{REPO}/issues/{number}",
        "html_url": f"https://github.com/octo/lamp/issues/{number}#issuecomment-9{number}",
        "user": {"login": login},
        "created_at": "2024-03-01T12:00:00Z",
        "updated_at": "2024-03-01T12:00:00Z",
        "body": body,
    }


MILESTONE = {
    "url": f"{REPO}/milestones/3",
    "number": 3,
    "title": "v1.0",
    "description": "The first one",
    "state": "open",
    "creator": {"login": "octocat"},
    "created_at": "2024-01-01T00:00:00Z",
    "updated_at": "2024-01-02T00:00:00Z",
    "due_on": "2024-06-01T07:00:00Z",
    "closed_at": None,
}


def test_github_as_its_rest_api_returns_it(cast, run, tickets):
    first = github_issue(
        1,
        title="Lamp is dark",
        body="It is.\r\nSince today.",
        labels=[{"id": 5, "name": "bug", "color": "f29513"}, "help wanted"],
        assignee={"login": "bo"},
        assignees=[{"login": "bo"}, {"login": "stranger"}],
        milestone=MILESTONE,
        comments=1,
        state="closed",
        state_reason="not_planned",
        closed_at="2024-03-02T10:00:00Z",
    )
    second = github_issue(2, user={"login": "Ada"}, parent_issue_url=f"{REPO}/issues/3")
    third = github_issue(3, milestone=MILESTONE, type={"name": "Bug"})
    pull = github_issue(4, pull_request={"url": f"{REPO}/pulls/4"})
    # As `gh api --paginate` writes them: one page after another; and the comments in a second file.
    pages = json.dumps([first, second], indent=2) + "\n" + json.dumps([third, pull])
    said = json.dumps([[github_comment(1, "Same here")], [github_comment(2, "")]])
    report = run(pages, said)
    assert report["made"] == {
        "labels": 2,
        "tickets of type epic": 1,
        "tickets of type story": 2,
        "tickets of type subtask": 1,
        "comments": 1,
    }
    found = tickets()
    lamp = found["Lamp is dark"]
    assert lamp["body"] == (
        "It is.\nSince today.\n\n---\n\nImported from octo/lamp#1, created by octocat, "
        "closed 2024-03-02: not planned, also assigned to stranger"
    )
    assert (lamp["state"]["category"], lamp["assignee"]["username"]) == ("done", "bo")
    assert [label["name"] for label in lamp["labels"]] == ["bug", "help wanted"]
    assert lamp["created_at"] == "2024-03-01T10:00:00.000Z"
    assert lamp["parent"]["title"] == "v1.0"
    (comment,) = comments(cast, lamp)
    assert comment["body"] == "**hubot** wrote:\n\nSame here"
    assert comment["created_at"] == "2024-03-01T12:00:00.000Z"
    epic = found["v1.0"]
    assert (epic["type"], epic["due_date"]) == ("epic", "2024-06-01")
    assert found["Issue 2"]["parent"]["title"] == "Issue 3"
    # Whoever is a user here is one there as well.
    assert found["Issue 2"]["reporter"]["username"] == "ada"
    assert "created by" not in found["Issue 2"]["body"]
    reasons = {note["reason"] for note in report["notes"]}
    assert "is a pull request; left out" in reasons
    again = run(pages, said)
    assert again["made"] == {}
    assert {row["outcome"] for row in again["rows"]} == {"there already"}


def test_github_of_the_command_line_and_bad_entries(cast, run, tickets):
    entries = [
        {
            "number": 7,
            "title": "From gh",
            "state": "CLOSED",
            "stateReason": "COMPLETED",
            "author": {"login": "octocat"},
            "assignees": [],
            "labels": [{"name": "ui"}],
            "body": "Text",
            "comments": [
                {"author": {"login": "x"}, "body": "Yes", "createdAt": "2024-01-01T00:00:00Z"}
            ],
            "createdAt": "2024-01-01T00:00:00Z",
            "url": "https://github.com/octo/lamp/issues/7",
        },
        {"number": 8, "title": " "},
        {"title": "no number"},
        17,
    ]
    report = run(json.dumps(entries, indent=1))
    assert [note["issue"] for note in report["notes"]] == ["line 36", "line 29", "line 33"]
    (ticket,) = tickets().values()
    assert (ticket["title"], ticket["state"]["category"]) == ("From gh", "done")
    assert len(comments(cast, ticket)) == 1
    assert "line 3: " in run('[\n{"number": 1,\n', code=1, options=["--format", "github"])


JIRA = """\
Summary,Issue key,Issue id,Issue Type,Status,Project key,Priority,Resolution,Assignee,Reporter,\
Created,Updated,Due Date,Labels,Labels,Description,Fix Version/s,Attachment,\
Inward issue link (Blocks),Outward issue link (Blocks),Outward issue link (Duplicate),\
Custom field (Epic Link),Parent id,Comment,Comment,Status Category
Lights,LAMP-1,10001,Epic,To Do,LAMP,Highest,,,Jane Roe,20/Nov/24 7:23 PM,21/Nov/24 9:00 AM,\
,,,,,,,,,,,,,To Do
"Lamp, dark",LAMP-2,10002,Bug,Selected,LAMP,Low,Won't Do,bo,Jane Roe,20/Nov/24 7:23 PM,\
21/Nov/24 9:00 AM,01/Dec/24 12:00 AM,ui,night,"h2. Steps
* first
* second
{code:python}
x = *1*
{code}
see [docs|https://example.org]",1.0,20/Nov/24 7:24 PM;jane;a.png;https://j.example.org/a.png,\
LAMP-3,,LAMP-9,LAMP-1,,20/Nov/24 8:00 PM;jane;*Same* here; too,99/Nov/24;zed;When?,Done
Sub,LAMP-3,10003,Sub-task,In Review,LAMP,Odd,,Nobody Known,bo,2024-11-20 19:23,,,,,,,,,LAMP-2,,,\
10002,,,In Progress
No key,,10004,Bug,Open,LAMP,Low,,,,,,,,,,,,,,,,,,,
Short row,LAMP-5
"""


def test_jira_as_it_exports_csv(cast, run, tickets):
    report = run(JIRA, options=["--user", "Jane Roe=bo", "--time-zone", "Europe/Berlin"])
    found = tickets()
    epic, lamp, sub = found["Lights"], found["Lamp, dark"], found["Sub"]
    assert (epic["type"], epic["priority"], epic["reporter"]["username"]) == (
        "epic",
        "urgent",
        "bo",
    )
    assert epic["created_at"] == "2024-11-20T18:23:00.000Z"
    assert (lamp["parent"]["title"], sub["parent"]["title"]) == ("Lights", "Lamp, dark")
    assert (lamp["type"], sub["type"]) == ("story", "subtask")
    assert (lamp["state"]["category"], sub["state"]["name"]) == ("done", "In review")
    assert (lamp["due_date"], lamp["assignee"]["username"]) == ("2024-12-01", "bo")
    assert [label["name"] for label in lamp["labels"]] == ["bug", "night", "ui"]
    assert lamp["body"] == (
        "## Steps\n- first\n- second\n\n```python\nx = *1*\n```\n\n"
        "see [docs](https://example.org)\n\n"
        "## Attachments\n\n- [a.png](https://j.example.org/a.png)\n\n---\n\n"
        "Imported from LAMP-2, closed: Won't Do, Fix Version/s 1.0"
    )
    assert "assigned to Nobody Known" in sub["body"]
    assert [comment["body"] for comment in comments(cast, lamp)] == [
        "**jane** wrote:\n\n**Same** here; too",
        "**zed** wrote on 99/Nov/24:\n\nWhen?",
    ]
    assert relations(cast, lamp) == {("blocks", "incoming", "Sub")}
    notes = {(note["issue"], note["reason"]) for note in report["notes"]}
    assert notes == {
        ("LAMP-3", "has an assignee who is no user here"),
        ("LAMP-3", "has an unknown priority; medium"),
        ("LAMP-2", "depends on an issue that was not imported"),
        ("LAMP-2", "has a time that cannot be read; say --date-format"),
        ("line 11", "has no key or no summary"),
        ("line 12", "has 2 cells where the header has 26"),
    }
    assert run(JIRA, options=["--user", "Jane Roe=bo"])["made"] == {}


def test_jira_markup_as_markdown():
    for markup, markdown in (
        ("# one\n## two\n** three", "1. one\n   1. two\n   - three"),
        ("||a||b||\n|1|2|", "| a | b |\n|---|---|\n|1|2|"),
        ("{{mono}} -gone- 2-3-4", "`mono` ~~gone~~ 2-3-4"),
        ("{quote}said\nso{quote}", "> said\n> so"),
        ("{noformat}*raw*{noformat}", "\n```\n*raw*\n```\n"),
        ("[~jane] [https://x.org] !a.png|width=3!", "@jane <https://x.org> (a.png)"),
        ("a *b* c*d*e 2 * 3 * 4", "a **b** c*d*e 2 * 3 * 4"),
        ("{color:red}hot{color}", "hot"),
    ):
        assert as_markdown(markup) == markdown


CSV = """\
Nr;Aufgabe;Wer;Stand;Wann;Tags;Teil von
1;Big;ada;Doing;05.03.2024;;
2;Small;Nobody;done;31.12.2024 10:00;"ui, dark";1
;Nameless;;;32.13.2024;;
4;  ;;;;;
"""
MAPPING = {
    "id": "Nr",
    "title": "Aufgabe",
    "assignee": "Wer",
    "status": "Stand",
    "created_at": "Wann",
    "labels": "Tags",
    "parent": "Teil von",
}
OPTIONS = [f"--map={field}={column}" for field, column in MAPPING.items()]


def test_csv_by_a_mapping(run, tickets):
    report = run(CSV, options=OPTIONS)
    found = tickets()
    assert found["Small"]["parent"]["title"] == "Big"
    assert found["Small"]["created_at"] == "2024-12-31T10:00:00.000Z"
    assert [label["name"] for label in found["Small"]["labels"]] == ["dark", "ui"]
    assert (found["Big"]["state"]["name"], found["Big"]["assignee"]["username"]) == (
        "To do",
        "ada",
    )
    # What cannot be read is kept as it was, and told.
    assert "created 32.13.2024" in found["Nameless"]["body"]
    assert {note["issue"]: note["reason"] for note in report["notes"]}["line 5"] == "has no title"
    assert run(CSV, options=OPTIONS)["made"] == {}


def test_a_dry_run_tells_of_each_row_and_writes_nothing(app, run, tickets):
    said = run(CSV, options=[*OPTIONS, "--dry-run"])
    assert tickets() == {}
    for line in (
        "line 2: 1: ticket: story  To do  medium  ada  Big",
        "line 3: 2: ticket: subtask  Done  medium  Small",
        "line 5: ?: left out",
        "     2 tickets of type story",
        "A dry run of csv",
    ):
        assert line in said
    run(CSV.partition("2;Small")[0], options=OPTIONS)
    assert "line 2: 1: there already: OPEN-1  Big" in run(CSV, options=[*OPTIONS, "--dry-run"])


def test_columns_are_asked_for_or_guessed(run, tickets, tmp_path):
    answers = [MAPPING.get(field, "-") for field in ("title", "id", "description")]
    run("Nr;Aufgabe\n1;Asked", options=["--ask"], text="\n".join(answers) + "\n" * 20)
    run('Title,Priority,Labels\nGuessed,P1,"a;b"\n', options=["--no-ask"])
    (tmp_path / "mapping.json").write_text('{"title": "Nr"}')
    run("Nr;Aufgabe\n1;Asked", options=["--mapping", str(tmp_path / "mapping.json")])
    found = tickets()
    assert set(found) == {"Asked", "Guessed", "1"}
    assert "Imported from 1" in found["Asked"]["body"]
    assert (found["Guessed"]["priority"], len(found["Guessed"]["labels"])) == ("high", 2)


@pytest.mark.parametrize(
    ("content", "options", "sentence"),
    [
        ("a,b\n1,2\n", [], "Which column is the title?"),
        ("a,b\n1,2\n", ["--map", "title=c"], "There is no column c"),
        ("a,b\n1,2\n", ["--map", "titel=a"], "There is no field titel"),
        ("title\nT\xe4\n".encode("latin-1"), [], "is not utf-8-sig; say --encoding"),
        ("", [], "has no header"),
        (b'["\xff"]', [], "Nothing was imported"),
    ],
)
def test_files_that_are_refused_whole(run, tickets, content, options, sentence):
    assert sentence in run(content, options=options, code=1)
    assert tickets() == {}


def test_odd_files(run, tickets):
    run("title\nT\xe4\n".encode("latin-1"), options=["--encoding", "latin-1"])
    long = "word " * 50
    report = run(f'title,description\n{long},"{"x" * 70_000}"\n"open,\n')
    assert {note["reason"] for note in report["notes"]} == {
        "has a title over the limit; the text begins with it",
        "has a body over the limit; its end was cut off",
        "is not CSV, nor what follows it",
    }
    assert len(tickets()) == 2
    run("title\nT\n", options=["--time-zone", "Mars"], code=2)
    run("title\nT\n", options=["--user", "x"], code=2)
    refused = run("title\nT\n", options=["--user", "x=nobody"], code=1)
    assert "No active user who may see OPEN is called nobody" in refused


def test_the_columns_of_well_known_trackers_are_guessed(run, tickets):
    """Headers as Trello, Linear, Asana, GitLab and Redmine write them."""
    files = [
        "Card ID,Card Name,Card Description,Labels,Members,Due Date,List Name\n"
        "t1,Trello,Words,ui (green),bo,2026-10-01T09:00:00.000Z,Doing\n",
        "ID,Team,Title,Description,Status,Priority,Creator,Assignee,Labels,Created,Completed,"
        "Due Date,Parent issue\nL-1,L,Linear,Words,Done,Urgent,Zed,bo,ui,"
        "Tue Jul 01 2025 10:00:00 GMT+0200 (CEST),,,\n",
        "Task ID,Created At,Completed At,Last Modified,Name,Section/Column,Assignee,Due Date,Tags,"
        "Notes,Parent task\n1,2025-01-02,,,Asana,Doing,bo,,ui,Words,\n2,,,,Below,,,,,,Asana\n",
        "Title,Description,Issue ID,State,Author,Author Username,Assignee,Assignee Username,"
        "Due Date,Created At (UTC),Labels\nGitLab,Words,7,Open,Jane Roe,zed,Bo Bo,bo,,"
        "2025-01-02 10:00:00,ui\n",
        "#,Tracker,Status,Priority,Subject,Author,Assignee,Description,Created\n"
        "9,Bug,In Progress,Urgent,Redmine,zed,bo,Words,6/21/2025 16:14\n"
        "10,Bug,New,Low,Later,zed,bo,Words,6/7/2025 4:05 PM\n",
    ]
    for content in files:
        assert run(content)["notes"] == []
    found = tickets()
    for name in ("Trello", "Linear", "Asana", "GitLab", "Redmine"):
        assert found[name]["body"].startswith("Words"), name
        assert found[name]["assignee"]["username"] == "bo", name
    assert (found["Trello"]["due_date"], found["Trello"]["state"]["category"]) == (
        "2026-10-01",
        "active",
    )
    assert found["Linear"]["created_at"] == "2025-07-01T08:00:00.000Z"
    assert found["Below"]["parent"]["title"] == "Asana"
    assert "created by zed" in found["GitLab"]["body"]
    # The one shows how the other is meant.
    assert found["Redmine"]["created_at"] == "2025-06-21T16:14:00.000Z"
    assert found["Later"]["created_at"] == "2025-06-07T16:05:00.000Z"


def test_days_that_could_be_months_are_not_guessed(run, tickets):
    content = "title,created\nA,6/7/2025\n"
    reasons = [note["reason"] for note in run(content)["notes"]]
    assert reasons == ["has a time that cannot be read; say --date-format"]
    run(content.replace("A", "B"), options=["--date-format", "%d/%m/%Y"])
    assert tickets()["B"]["created_at"] == "2025-07-06T00:00:00.000Z"
