"""``flask import github`` against a server that responds like GitHub."""

import time

import pytest

from tests.importing.github_server import WEB, GitHubServer
from tests.importing.reading import comments, links, relations
from tests.importing.tracker_server import Reply
from tests.support.story import ok


@pytest.fixture
def github():
    server = GitHubServer()
    yield server
    server.close()


@pytest.fixture
def run(move, github):
    def running(*options, **wanted):
        return move("github", "octo/lamp", "--url", github.url, *options, **wanted)

    return running


def test_issues_with_all_that_belongs_to_them(cast, github, run, tickets):
    github.blocked[1] = [3]
    github.issue(
        1,
        title="Lamp is dark 💡",
        body="<!-- Say what -->See #2 and `#3`, not #99.\r\n<b>Now</b>, as in octo/lamp#3.",
        labels=[{"name": "bug"}],
        assignees=[{"login": "bo"}, {"login": "stranger"}],
        milestone={"number": 3, "title": "v1", "state": "open", "creator": None},
        state="closed",
        state_reason="not_planned",
        closed_at="2024-03-02T10:00:00Z",
    )
    github.issue(2, title="Two", user={"login": "Ada"})
    github.issue(
        3, title="Three", user=None, parent_issue_url=f"{github.url}/repos/octo/lamp/issues/2"
    )
    github.issue(4, title="Fix the [lamp]", body="Fixes #1, closes #1", pull_request={"url": "x"})
    github.comment(1, "Same here, see #4")
    github.comment(1, "Mine", "bo")
    github.comment(2, "Duplicate of #1", None)
    github.comment(4, "On the pull request")
    github.event(1, "labeled", "2024-03-01T11:00:00Z", label={"name": "bug"})
    github.event(
        1, "closed", "2024-03-02T10:00:00Z", state_reason="not_planned", commit_id="abc123"
    )
    github.event(1, "subscribed", "2024-03-02T11:00:00Z")
    report = run("--user", "octocat=ada")
    assert report["made"] == {
        "labels": 1,
        "epics": 1,
        "stories": 2,
        "subtasks": 1,
        "links": 1,
        "comments": 4,
        "relations (blocks)": 1,
        "relations (duplicates)": 1,
        "relations (relates_to)": 1,
    }
    found = tickets()
    lamp = found["Lamp is dark 💡"]
    assert lamp["body"] == (
        f"See [#2]({WEB}/issues/2) and `#3`, not #99.\n<b>Now</b>, as in "
        f"[octo/lamp#3]({WEB}/issues/3).\n\n---\n\nImported from "
        f"[octo/lamp#1]({WEB}/issues/1), closed 2024-03-02: not planned, also assigned to stranger"
    )
    assert (lamp["reporter"]["username"], lamp["assignee"]["username"]) == ("ada", "bo")
    assert lamp["parent"]["title"] == "v1"
    said = comments(cast, lamp)
    assert [(one["author"]["username"], one["body"]) for one in said] == [
        ("ada", f"**hubot** wrote:\n\nSame here, see [#4]({WEB}/pull/4)"),
        ("bo", "Mine"),
        (
            "ada",
            "**History in GitHub**: 2 changes, 2024-03-01 to 2024-03-02\n\n"
            "- 2024-03-01 11:00 octocat added label bug\n"
            "- 2024-03-02 10:00 octocat closed it as not planned by commit abc123",
        ),
    ]
    assert said[0]["created_at"] == "2024-03-01T12:00:00.000Z"
    assert links(cast, lamp) == [("pull_request", "#4 Fix the lamp", f"{WEB}/pull/4")]
    assert relations(cast, lamp) == {
        ("blocks", "incoming", "Three"),
        ("duplicates", "incoming", "Two"),
        ("relates_to", "outgoing", "Two"),
    }
    assert found["Three"]["parent"]["title"] == "Two"
    assert comments(cast, found["Two"])[0]["body"].startswith("**ghost** wrote")
    again = run("--user", "octocat=ada")
    assert again["made"] == {}


def test_pages_limits_and_failures_lose_and_double_nothing(github, run, tickets, waits):
    for number in range(1, 202):
        github.issue(number)
        github.comment(number, f"Said {number}")
    github.faults.extend(
        [
            Reply(
                {"message": "API rate limit exceeded"},
                403,
                {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1"},
            ),
            Reply({}, 502),
            Reply(raw=b'[{"number": 1, "title": "cut', announced=9_000),
            Reply(raw=b"<html>"),
            Reply({"message": "You have exceeded a secondary rate limit"}, 403),
            Reply({}, 429, {"Retry-After": "7"}),
        ]
    )
    report = run()
    assert report["made"] == {"stories": 201, "comments": 201}
    assert len(tickets()) == 201
    assert 7.0 in waits
    assert 60.0 in waits
    assert github.paths().count("/repos/octo/lamp/issues/comments") == 3


def test_it_goes_on_where_it_was_stopped(tmp_path, github, run, tickets):
    for number in range(1, 202):
        github.issue(number)
    github.faults.extend([None, *[Reply({}, 500)] * 6])
    assert "Run the same command again" in run(code=1)
    (download,) = (tmp_path / "imports").glob("*.jsonl")
    # As if it was killed while writing a page.
    with download.open("ab") as file:
        file.write(b'{"step": "issues", "items": [{"numb')
    github.asked.clear()
    output = run(as_json=False)
    assert "Continuing the download" in output
    assert [one.query.get("page") for one in github.asked if one.path.endswith("/issues")] == [
        "2",
        "3",
    ]
    assert len(tickets()) == 201
    assert not download.exists()


def test_a_dry_run_writes_nothing_and_its_download_is_used(github, run, tickets):
    github.issue(1, labels=[{"name": "bug"}])
    github.comment(1, "Hm")
    preview = run("--dry-run", as_json=False)
    assert "nothing was imported" in preview
    assert tickets() == {}
    github.asked.clear()
    assert run("--dry-run")["made"] == {"labels": 1, "stories": 1, "comments": 1}
    assert run()["made"] == {"labels": 1, "stories": 1, "comments": 1}
    assert github.asked == []
    assert run("--fresh")["made"] == {}
    assert github.asked


def test_since_asks_for_what_changed_with_all_its_comments(cast, github, run, tickets):
    github.issue(1, updated_at="2024-01-01T00:00:00Z")
    github.issue(2, updated_at="2024-06-01T00:00:00Z")
    github.comment(2, "Old", created_at="2023-01-01T00:00:00Z")
    github.event(2, "labeled", "2023-01-01T00:00:00Z", label={"name": "bug"})
    assert run("--since", "2024-05-01")["made"] == {"stories": 1, "comments": 2}
    assert list(tickets()) == ["Issue 2"]
    assert "Use a day or time" in run("--since", "someday", code=2)


def test_an_empty_repository(run):
    assert run()["made"] == {}


def test_the_token_is_asked_for_and_kept_nowhere(tmp_path, github, run, monkeypatch):
    github.token = "ghp_secret_of_octo"
    github.issue(1)
    monkeypatch.delenv("GITHUB_TOKEN")
    assert "does not accept the token (HTTP 401)" in run(code=1, text="wrong\n")
    output = run("--dry-run", as_json=False, text=f"{github.token}\n")
    assert github.token not in output
    kept = list((tmp_path / "imports").iterdir())
    assert kept
    for file in kept:
        assert github.token.encode() not in file.read_bytes()
        assert file.stat().st_mode & 0o077 == 0


def test_the_token_is_not_asked_for_without_a_project(cast, github, move, monkeypatch):
    monkeypatch.delenv("GITHUB_TOKEN")
    ok(cast.ada.delete(f"/projects/{cast.open_project}"), 204)
    output = move("github", "octo/lamp", "--url", github.url, code=1)
    assert "OPEN" in output
    assert "token" not in output


def test_what_cannot_be_imported_is_said(github, run, move, tmp_path):
    assert "owner/name" in move("github", "lamp", "--url", github.url, code=1)
    assert "no such project" in move("github", "octo/gone", "--url", github.url, code=1)
    assert "https://" in move("github", "octo/lamp", "--url", "http://192.0.2.1", code=1)
    assert "No active user named nobody" in run("--user", "octocat=nobody", code=1)
    names = tmp_path / "names.json"
    names.write_text("[1]")
    assert "must contain an object" in run("--users", str(names), code=2)


def test_a_folder_that_cannot_be_written_is_said(tmp_path, run):
    (tmp_path / "imports").write_text("")
    assert "The download cannot be kept: File exists." in run(code=1)


def test_parts_that_a_server_does_not_have_are_left_out(github, run):
    github.blocked[1] = [2]
    github.issue(1)
    github.issue(2)
    github.faults.extend([None, None, Reply({"message": "Not Found"}, 404)])
    assert run()["made"] == {"stories": 2}


def test_blank_lines_in_a_comment_take_no_time(github, run, tickets):
    github.issue(1)
    github.issue(2)
    github.comment(2, "x" + "\n" * 60_000 + "x\n  Duplicate of #1", None)
    began = time.process_time()
    assert run()["made"]["relations (duplicates)"] == 1
    assert time.process_time() - began < 5


def test_a_server_that_returns_no_list_is_not_taken_for_an_empty_one(github, run, tickets):
    github.issue(1)
    path = "/repos/octo/lamp/issues"
    github.files[path] = Reply({"message": "Moved"})
    said = run(code=1)
    assert f"{github.url}{path}?" in said
    assert "did not return the expected list" in said
    assert "nothing to import" not in said
    del github.files[path]
    run()
    assert set(tickets()) == {"Issue 1"}
