"""A list exported as CSV comes back whole through the import."""

import csv
import io

import pytest

from tests.importing.conftest import PAGE
from tests.support.story import make_label, make_ticket, ok

TITLES = (
    *("Plain", "two  spaces", "'quoted'", '"quoted" first', "x;=1+1", "x;'=1+1", "=1+1", "'=1+1"),
    *("''=1+1", "-5 degrees", "+49 30", "@ada", "'@ada", '"=1+1"', '"\'=1+1"', "\u6771 \U0001f41e"),
)
LABELS = ("ui", "a, b", "a,b;c", '"cited", then', "=sum", "'=sum", '5" disk', "it's", "-x, '-y")
# Numbers and times of rows change: the list has no columns that an import could take them from.
KEPT = (
    *("type", "title", "state", "state_category", "priority", "assignee", "labels", "due_date"),
    *("created_at", "updated_at", "display_id", "parent"),
)


def exported(cast, key, kind="csv"):
    answer = cast.ada.client.get(f"/projects/{key}/tickets.{kind}?show=all", headers=PAGE)
    assert answer.status_code == 200
    return answer.json if kind == "json" else answer.text


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text, newline="")))


@pytest.fixture
def filled(cast):
    """A project with all types, states, priorities and the titles and labels above."""
    ada, project = cast.ada, cast.open_project
    ok(
        ada.post(
            f"/projects/{project}/workflow-states", {"name": "=Odd; -one", "category": "done"}
        ),
        201,
    )
    states = [row["id"] for row in ok(ada.get(f"/projects/{project}/workflow-states"))["data"]]
    labels = [make_label(ada, project, name)["id"] for name in LABELS]
    epic = make_ticket(ada, project, "The epic", type="epic", due_date="2031-02-03")
    story = make_ticket(ada, project, "The story", parent_ticket_id=epic["id"])
    make_ticket(ada, project, "The part", type="subtask", parent_ticket_id=story["id"])
    priorities = ("urgent", "high", "medium", "low")
    for number, title in enumerate(TITLES):
        make_ticket(
            ada,
            project,
            title,
            state_id=states[number % len(states)],
            priority=priorities[number % len(priorities)],
            label_ids=[labels[number % len(labels)], labels[(number * 2 + 1) % len(labels)]],
            assignee_user_id=ada.user_id if number % 2 else None,
        )
    ok(ada.patch(f"/tickets/{story['id']}", {"title": "The story, changed"}))
    return cast


@pytest.fixture
def empty(filled):
    """Another project with the same states, and no ticket."""
    ada = filled.ada
    project = ok(ada.post("/projects", {"key": "COPY", "name": "Copy"}), 201)
    ok(
        ada.post(
            f"/projects/{project['id']}/workflow-states", {"name": "=Odd; -one", "category": "done"}
        ),
        201,
    )
    return filled


def test_an_exported_list_is_imported_whole(empty, send):
    given = exported(empty, "OPEN")
    page = send(("open-tickets.csv", given), project="COPY", do="import")
    assert "not a user here" not in page
    before, after = rows_of(given), rows_of(exported(empty, "COPY").replace("COPY-", "OPEN-"))
    assert len(before) == len(TITLES) + 3
    assert [{name: row[name] for name in KEPT} for row in after] == [
        {name: row[name] for name in KEPT} for row in before
    ]
    found = exported(empty, "COPY", "json")
    assert {row["title"] for row in found} >= set(TITLES)
    assert {label for row in found for label in row["labels"]} == set(LABELS)


def test_a_state_that_is_missing_here_becomes_one_of_its_category(empty, send):
    given = exported(empty, "OPEN").replace("'=Odd; '-one", "Shipped")
    page = send(("open-tickets.csv", given), project="COPY", do="import")
    assert "no such state here; set to the first state of its category" in page
    assert "unknown status" not in page
    before, after = rows_of(given), rows_of(exported(empty, "COPY"))
    assert [row["state_category"] for row in after] == [row["state_category"] for row in before]
    assert {row["state"] for row in after} == {row["state"] for row in before} - {"Shipped"}


def test_files_of_other_trackers_keep_their_apostrophes(run, tickets):
    run('Title,ID,Labels,Display_ID\n\'=1+1,7,"\'=a, ""b""",x\n')
    assert tickets().keys() == {"'=1+1"}
    assert [label["name"] for label in tickets()["'=1+1"]["labels"]] == ['"b"', "'=a"]
    assert tickets()["'=1+1"]["body"] == "Imported from 7"


def test_a_state_is_taken_by_its_exact_name_first(cast, run, tickets):
    ok(
        cast.ada.post(
            f"/projects/{cast.open_project}/workflow-states",
            {"name": "todo", "category": "backlog"},
        ),
        201,
    )
    run("title,status\nA,ToDo\nB,To do\n")
    assert {title: row["state"]["name"] for title, row in tickets().items()} == {
        "A": "todo",
        "B": "To do",
    }
