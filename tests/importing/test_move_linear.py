"""``flask import linear`` against a server that responds like Linear."""

import pytest

from tests.importing.linear_server import LinearServer, listed
from tests.importing.reading import comments, links, relations
from tests.importing.tracker_server import Reply


@pytest.fixture
def linear(monkeypatch, move):
    monkeypatch.setenv("LINEAR_API_KEY", "lin_api_k3y")
    server = LinearServer()
    yield server
    server.close()


@pytest.fixture
def run(move, linear):
    def running(*options, team="lmp", **wanted):
        return move("linear", team, "--url", linear.url, *options, **wanted)

    return running


def related(kind, number):
    return listed([{"type": kind, "relatedIssue": {"identifier": f"LMP-{number}"}}])


def test_issues_with_all_that_belongs_to_them(cast, linear, run, tickets):
    project = {
        "id": "p1",
        "name": "Light",
        "description": "All lamps",
        "url": "https://linear.app/acme/project/light",
        "targetDate": "2024-06-01",
    }
    linear.issue(
        1,
        title="Lamp is dark 💡",
        description="As LMP-2 says",
        priority=1,
        estimate=3,
        state={"name": "Canceled", "type": "canceled"},
        canceledAt="2024-03-02T10:00:00.000Z",
        assignee={"name": "bo"},
        project=project,
        cycle={"number": 4},
        projectMilestone={"name": "Beta"},
        labels=listed([{"name": "Bug"}], more=True),
        relations=related("duplicate", 3),
        attachments=listed([{"title": "Fix [it]", "url": "https://github.com/octo/lamp/pull/4"}]),
    )
    linear.issue(2, title="Two", relations=related("blocks", 1))
    linear.issue(3, title="Three", parent={"identifier": "LMP-2"}, creator=None)
    linear.issue(4, title="Gone", trashed=True)
    linear.comment(1, "Me too")
    linear.comment(1, "Mine", "bo")
    linear.comment(2, "Bye", None)
    linear.history["uuid-1"] = [
        {
            "id": "h1",
            "createdAt": "2024-03-01T11:00:00.000Z",
            "actor": {"name": "Root"},
            "fromState": {"name": "Todo"},
            "toState": {"name": "Canceled"},
            "toAssignee": {"name": "bo"},
            "addedLabels": [{"name": "Bug"}],
            "removedLabels": [],
            "fromPriority": 0,
            "toPriority": 1,
        },
        {"id": "h2", "createdAt": "2024-03-01T12:00:00.000Z", "actor": None},
    ]
    report = run()
    assert report["made"] == {
        "labels": 1,
        "epics": 1,
        "stories": 2,
        "subtasks": 1,
        "links": 1,
        "comments": 4,
        "relations (blocks)": 1,
        "relations (duplicates)": 1,
    }
    reasons = {(note["issue"], note["reason"]) for note in report["notes"]}
    assert ("LMP-1", "more than 25 labels, relations or attachments") in reasons
    assert ("LMP-4", "deleted in the other tracker; skipped") in reasons
    found = tickets()
    lamp = found["Lamp is dark 💡"]
    web = "https://linear.app/acme/issue"
    assert lamp["body"] == (
        f"As [LMP-2]({web}/LMP-2) says\n\n---\n\n"
        f"Imported from [LMP-1]({web}/LMP-1), created by Root, closed 2024-03-02: canceled, "
        "estimate 3, cycle 4, milestone Beta"
    )
    assert (lamp["state"]["category"], lamp["priority"]) == ("done", "urgent")
    assert (lamp["parent"]["title"], found["Light"]["due_date"]) == ("Light", "2024-06-01")
    assert [one["body"] for one in comments(cast, lamp)] == [
        "**History in Linear**: 1 change, 2024-03-01\n\n"
        "- 2024-03-01 11:00 Root changed state from Todo to Canceled, "
        "set assignee to bo, added label Bug, changed priority from none to urgent",
        "**Eve** wrote:\n\nMe too",
        "Mine",
    ]
    assert links(cast, lamp) == [("pull_request", "Fix it", "https://github.com/octo/lamp/pull/4")]
    assert comments(cast, found["Two"])[0]["body"] == "**Former user** wrote:\n\nBye"
    assert relations(cast, lamp) == {
        ("blocks", "incoming", "Two"),
        ("duplicates", "outgoing", "Three"),
    }
    assert found["Three"]["parent"]["title"] == "Two"
    assert run()["made"] == {}


def test_pages_and_limits(linear, run, tickets, waits):
    linear.page = 20
    for number in range(1, 51):
        linear.issue(number)
        linear.comment(number, f"Said {number}")
    limited = {"errors": [{"message": "Rate limit", "extensions": {"code": "RATELIMITED"}}]}
    headers = {"X-RateLimit-Complexity-Remaining": "0", "X-RateLimit-Complexity-Reset": "1000"}
    linear.faults.extend([Reply(limited, 400, headers), Reply({}, 502), None, Reply(limited, 400)])
    assert run("--no-history")["made"] == {"stories": 50, "comments": 50}
    assert len(tickets()) == 50
    assert 60.0 in waits
    assert len(linear.asked) == 4 + 3 + 2


def test_what_cannot_be_imported_is_said(linear, run, monkeypatch):
    assert run(team="GONE")["made"] == {}
    assert "by its key" in run(team="a-b", code=1)
    linear.faults.append(Reply({"errors": [{"message": "Query too complex\x1b"}]}))
    assert "refused a query: Query too complex" in run(code=1)
    monkeypatch.setenv("LINEAR_API_KEY", "lin_api_wrong")
    assert "does not accept the token" in run("--fresh", code=1)
