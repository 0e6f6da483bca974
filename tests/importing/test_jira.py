"""``flask import-issues`` with CSV exports from Jira."""

import pytest

from app.importing.jira import as_markdown
from app.importing.table import guess
from tests.importing.reading import comments, relations
from tests.support.timing import processor_seconds

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
        ("LAMP-3", "assignee is not a user here"),
        ("LAMP-3", "unknown priority; set to medium"),
        ("LAMP-2", "depends on an issue that was not imported"),
        ("LAMP-2", "unknown date format; kept in the description"),
        ("line 11", "no key or no summary"),
        ("line 12", "2 cells, but the header has 26"),
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


@pytest.mark.parametrize(
    "piece",
    [
        "{code:x}",
        "{code:",
        "{noformat}{code}",
        "{{a",
        "[a|b|",
        "[https://a",
        "[~a",
        "{color:",
        "{quote}",
    ],
)
def test_markup_without_an_end_takes_time_in_proportion(piece):
    text = piece * (400_000 // len(piece))
    assert processor_seconds(lambda _: as_markdown(text), 5) < 5


def test_a_header_of_brackets_takes_time_in_proportion():
    header = ("(" * 400_000, "Summary (long)")
    assert processor_seconds(lambda _: guess(header), 5) < 5
