"""Tracker responses are read whatever they contain: no value of a wrong type ends an import."""

import copy

import pytest

from app.importing.planning import plan
from app.importing.report import ImportReport
from app.importing.trackers import github, gitlab, jira_api, linear
from app.importing.trackers.client import ApiAnswer, TrackerError
from app.importing.trackers.download import download
from app.importing.trackers.download_file import DownloadFile
from tests.importing.github_server import GitHubServer
from tests.importing.gitlab_server import NAME, GitLabServer, person
from tests.importing.jira_server import JiraServer, document
from tests.importing.linear_server import LinearServer, listed
from tests.support.sizes import every

JUNK = (None, 0, -(10**17), True, "x", "\x00 \n", [], [0], {}, {"name": []}, [[["x"]]])


class Answers:
    """Responds to an address with the first of ``bodies`` whose name it contains."""

    base = "https://tracker.example"

    def __init__(self, bodies):
        self.bodies = bodies

    def get(self, address):
        return ApiAnswer(next(body for name, body in self.bodies if name in address), {}, address)

    def post(self, _address, question):
        return self.get(question["query"].split()[1])


def a_github():
    server = GitHubServer.__new__(GitHubServer)
    server.url, server.issues, server.comments, server.events = "https://api", [], [], []
    server.blocked = {1: [2]}
    milestone = {"number": 3, "title": "v1", "state": "open", "due_on": "2024-06-01T00:00:00Z"}
    server.issue(
        1,
        body="See #2",
        labels=[{"name": "bug"}],
        assignees=[{"login": "bo"}],
        milestone=milestone,
        type={"name": "Bug"},
        parent_issue_url="https://api/repos/octo/lamp/issues/2",
    )
    server.comment(1, "Hm")
    server.event(1, "labeled", "2024-03-01T11:00:00Z", label={"name": "bug"})
    server.event(1, "renamed", "2024-03-01T11:00:00Z", rename={"from": "a", "to": "b"})
    bodies = [
        ("/issues/comments", server.comments),
        ("/issues/events", server.events),
        ("/blocked_by", [{"html_url": "https://github.com/octo/lamp/issues/2"}]),
        ("/issues", server.issues),
    ]
    return bodies, lambda client: github.GitHub(client, "octo/lamp", since=None, with_history=True)


def a_gitlab():
    server = GitLabServer.__new__(GitLabServer)
    server.url, server.issues = "https://lab", []
    server.issue(
        1,
        description="See #2",
        labels=["bug"],
        assignees=[person("bo"), person("eve")],
        milestone={"id": 9, "title": "v1", "due_date": "2024-06-01", "description": ""},
        epic={"id": 2, "title": "E"},
        due_date="2024-06-01",
        user_notes_count=1,
        merge_requests_count=1,
    )
    when = {"id": 1, "created_at": "2024-03-01T12:00:00.000Z"}
    bodies = [
        ("/notes", [{**when, "body": "Hm", "author": person("eve"), "system": False}]),
        ("/links", [{"link_type": "is_blocked_by", "references": {"full": f"{NAME}#2"}}]),
        ("/related_merge", [{"title": "MR", "web_url": "https://x", "references": {"full": "!1"}}]),
        ("/resource_label", [{**when, "user": person("eve"), "label": {"name": "bug"}}]),
        ("/resource_state", [{**when, "user": person("eve"), "state": "closed"}]),
        ("/issues", server.issues),
    ]
    return bodies, lambda client: gitlab.GitLab(client, NAME, since=None, with_history=True)


def a_jira():
    server = JiraServer.__new__(JiraServer)
    server.issues = []
    when = {"created": "2024-03-01T13:00:00.000+0100", "author": {"displayName": "Eve"}}
    server.issue(
        1,
        description=document("See LAMP-2"),
        labels=["bug"],
        components=[{"name": "desk"}],
        parent={"key": "LAMP-2"},
        duedate="2024-06-01",
        attachment=[{"filename": "a", "content": "https://x/a"}],
        issuelinks=[{"type": {"name": "Blocks"}, "inwardIssue": {"key": "LAMP-2"}}],
        fixVersions=[{"name": "1"}],
        customfield_10020=[{"name": "S1"}],
    )
    issue = server.issues[0]
    issue["fields"]["comment"] = {"total": 2, "comments": [{**when, "body": document("Hm")}]}
    items = [{"field": "status", "fromString": "a", "toString": "b"}]
    issue["changelog"] = {"total": 2, "histories": [{**when, "items": items}]}
    sprint = {
        "id": "customfield_10020",
        "schema": {"custom": "com.pyxis.greenhopper.jira:gh-sprint"},
    }
    bodies = [
        ("/field", [sprint]),
        ("/comment", {"total": 1, "comments": [{**when, "body": "x"}]}),
        ("/changelog", {"total": 1, "values": [{**when, "items": items}]}),
        ("/search", {"issues": server.issues}),
    ]
    return bodies, lambda client: jira_api.Jira(
        client, "LAMP", is_cloud=True, since=None, with_history=True
    )


def a_linear():
    server = LinearServer.__new__(LinearServer)
    server.issues, server.comments = [], []
    server.issue(
        1,
        description="See LMP-2",
        dueDate="2024-06-01",
        assignee={"name": "bo"},
        parent={"identifier": "LMP-2"},
        project={"id": "p", "name": "P", "targetDate": "2024-06-01"},
        cycle={"number": 1},
        labels=listed([{"name": "bug"}]),
        relations=listed([{"type": "blocks", "relatedIssue": {"identifier": "LMP-2"}}]),
        attachments=listed([{"title": "t", "url": "https://x"}]),
    )
    server.comment(1, "Hm")
    change = {
        "id": "h",
        "createdAt": "2024-03-01T11:00:00.000Z",
        "actor": {"name": "Root"},
        "toState": {"name": "Done"},
        "addedLabels": [{"name": "bug"}],
        "fromPriority": 0,
        "toPriority": 1,
    }
    bodies = [
        ("Issues", {"data": {"issues": listed(server.issues)}}),
        ("Comments", {"data": {"comments": listed(server.comments)}}),
        ("History", {"data": {"issue": {"history": listed([change])}}}),
    ]
    return bodies, lambda client: linear.Linear(client, "LMP", since=None, with_history=True)


def places(value, path=()):
    """Yield the path of every value nested in a value."""
    yield path
    if isinstance(value, dict | list):
        for name, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(part, (*path, name))


def with_junk(value, path, junk):
    if not path:
        return junk
    changed = copy.copy(value)
    changed[path[0]] = with_junk(value[path[0]], path[1:], junk)
    return changed


def read(tmp_path, bodies, make):
    file = DownloadFile(tmp_path, {"of": "test"}, fresh=True)
    report = ImportReport()
    try:
        tracker = make(Answers(bodies))
        download(tracker, file, lambda _step, _count: None)
        return plan(tracker.issues(file, report), report), report
    finally:
        file.close(remove=False)


@pytest.mark.parametrize("example", [a_github, a_gitlab, a_jira, a_linear])
def test_no_value_of_another_type_ends_an_import(tmp_path, example):
    bodies, make = example()
    planned, _ = read(tmp_path, bodies, make)
    whole = next(entry.issue for entry in planned if entry.issue.comments)
    assert whole.labels
    assert whole.links
    assert len(whole.comments) == 2
    cases = [
        (number, path, junk)
        for number, (_, body) in enumerate(bodies)
        for path in places(body)
        for junk in JUNK
    ]
    for number, path, junk in every(7, cases):
        name, body = bodies[number]
        changed = [*bodies]
        changed[number] = (name, with_junk(body, path, junk))
        try:
            read(tmp_path, changed, make)
        except TrackerError:
            # Only a response that is no list at all may end it.
            assert len(path) <= 3, (name, path, junk)
        except Exception as error:
            raise AssertionError((name, path, junk)) from error


@pytest.mark.parametrize("example", [a_github, a_gitlab, a_jira, a_linear])
def test_a_response_that_is_no_list_ends_an_import_and_is_named(tmp_path, example):
    bodies, make = example()
    for number, (name, _) in enumerate(bodies):
        # An issue of Linear can be gone by the time that its history is requested.
        if name != "History":
            changed = [*bodies]
            changed[number] = (name, {"data": {"message": "Moved"}})
            with pytest.raises(TrackerError, match=f"{name}.* did not return the expected list"):
                read(tmp_path, changed, make)
