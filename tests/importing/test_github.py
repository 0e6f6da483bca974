"""``flask import-issues`` with the output of GitHub's REST API and command line."""

import json

from tests.importing.reading import comments

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
    # As `gh api --paginate` writes them: pages in sequence; the comments are in a second file.
    pages = json.dumps([first, second], indent=2) + "\n" + json.dumps([third, pull])
    said = json.dumps([[github_comment(1, "Same here")], [github_comment(2, "")]])
    report = run(pages, said)
    assert report["made"] == {
        "labels": 2,
        "epics": 1,
        "stories": 2,
        "subtasks": 1,
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
    # A GitHub user is mapped to the user here who has the same name.
    assert found["Issue 2"]["reporter"]["username"] == "ada"
    assert "created by" not in found["Issue 2"]["body"]
    reasons = {note["reason"] for note in report["notes"]}
    assert "pull request; skipped" in reasons
    again = run(pages, said)
    assert again["made"] == {}
    assert {row["outcome"] for row in again["rows"]} == {"already imported"}


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


def test_a_field_of_a_wrong_type_is_named_and_left_out(run, tickets):
    wrong = {
        "labels": "abc",
        "labels[0]": [5],
        "labels[0].name": [{"name": {}}],
        "assignees": {"login": "bo"},
        "assignees[0].login": [{"login": 1}],
        "body": {"a": 1},
        "state": 0,
        "comments": "x",
        "comments[0].body": [{"body": 1}],
        "created_at": "yesterday",
        "milestone": {"number": 3},
        "milestone.due_on": {**MILESTONE, "due_on": "never"},
        "user": 7,
        "user.login": {"login": []},
    }
    entries = [
        github_issue(number) | {place.partition(".")[0].partition("[")[0]: value}
        for number, (place, value) in enumerate(wrong.items(), start=1)
    ]
    late = github_comment(1, "Late") | {"created_at": "late"}
    report = run("\n".join(json.dumps(entry) for entry in [*entries, late]))
    assert {note["reason"] for note in report["notes"]} == {"field cannot be read; left out"}
    said = {note["issue"]: note["detail"] for note in report["notes"]}
    for number, place in enumerate([*wrong, "created_at"], start=1):
        assert said[f"line {number}"].startswith(f"{place} must be a"), place
    assert set(tickets()) == {"v1.0", *(f"Issue {number}" for number in range(1, len(wrong) + 1))}
    assert report["made"]["comments"] == 1


def test_without_number_or_title_an_entry_is_no_issue(run, tickets):
    entries = [
        github_issue(1, title=5),
        github_issue(2, labels=5) | {"number": "x"},
        github_issue(3) | {"number": None},
    ]
    report = run("\n".join(map(json.dumps, entries)))
    assert [(note["reason"], note["detail"]) for note in report["notes"]] == [
        ("not an issue", "title must be a string"),
        ("not an issue", "number must be an integer"),
        ("not an issue", "it has no number or no title"),
    ]
    assert tickets() == {}


def test_values_that_other_types_say_clearly_are_taken(run, tickets):
    plain = github_issue(
        1,
        type="Bug",
        milestone="v1",
        user="ada",
        assignees=[None, "bo"],
        labels=[None, "ui"],
    )
    entries = [plain | {"number": "1"}, github_issue(2) | {"number": 2.0}]
    assert run(json.dumps(entries))["notes"] == []
    found = tickets()
    assert set(found) == {"v1", "Issue 1", "Issue 2"}
    ticket = found["Issue 1"]
    assert (ticket["parent"]["title"], ticket["assignee"]["username"]) == ("v1", "bo")
    assert ticket["reporter"]["username"] == "ada"
    assert [label["name"] for label in ticket["labels"]] == ["bug", "ui"]
