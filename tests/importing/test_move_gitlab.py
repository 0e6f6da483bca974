"""``flask import gitlab`` against a server that responds like GitLab."""

import pytest

from app.importing.trackers.download_file import DownloadFile, FetchedPage
from tests.importing.gitlab_server import NAME, GitLabServer, person
from tests.importing.reading import comments, relations
from tests.importing.tracker_server import Reply


@pytest.fixture
def gitlab():
    server = GitLabServer()
    yield server
    server.close()


@pytest.fixture
def run(move, gitlab):
    def running(*options, project=NAME, **wanted):
        return move("gitlab", project, "--url", gitlab.url, *options, **wanted)

    return running


def test_issues_with_all_that_belongs_to_them(cast, gitlab, run, tickets):
    web = f"{gitlab.url}/{NAME}"
    gitlab.issue(
        1,
        title="Lamp is dark 💡",
        description="See #2, !7 and ![a](/uploads/0123456789abcdef0123456789abcdef/a.png)",
        state="closed",
        closed_at="2024-03-02T10:00:00.000Z",
        labels=["bug", "workflow::doing"],
        assignees=[person("bo"), person("stranger")],
        milestone={"id": 9, "iid": 1, "title": "v1", "state": "active", "due_date": "2024-06-01"},
        weight=3,
        confidential=True,
        user_notes_count=1,
        merge_requests_count=1,
    )
    gitlab.issue(2, title="Two", issue_type="incident", author=None)
    gitlab.issue(3, title="Three")
    gitlab.part(1, "notes", body="Me <!-- not -->too", author=person("eve"), system=False)
    gitlab.part(1, "notes", body="assigned to @bo", author=person("root"), system=True)
    renamed = "changed title from **Lamp{-s-}** to **Lamp{+ is dark+}**".replace("{-s-}", "")
    gitlab.part(1, "notes", body=renamed, author=person("root"), system=True)
    gitlab.part(1, "links", link_type="is_blocked_by", references={"full": f"{NAME}#3"})
    gitlab.part(3, "notes", body="Psst", author=person("eve"), system=False, internal=True)
    gitlab.part(3, "links", link_type="blocks", references={"full": f"{NAME}#1"})
    gitlab.part(
        1,
        "related_merge_requests",
        title="Mend it",
        web_url=f"{web}/-/merge_requests/7",
        references={"full": f"{NAME}!7"},
    )
    gitlab.part(1, "resource_label_events", user=person("root"), action="add", label=None)
    gitlab.part(1, "resource_state_events", user=None, state="closed")
    report = run()
    assert report["made"] == {
        "labels": 3,
        "epics": 1,
        "stories": 3,
        "comments": 3,
        "relations (blocks)": 1,
        "relations (relates_to)": 1,
    }
    assert [note["issue"] for note in report["notes"] if "confidential" in note["reason"]] == [
        f"{NAME}#1",
        f"{NAME}#3",
    ]
    found = tickets()
    lamp = found["Lamp is dark 💡"]
    assert lamp["body"] == (
        f"See [#2]({web}/-/issues/2), [!7]({web}/-/merge_requests/7) and ![a]({web}/uploads/"
        f"0123456789abcdef0123456789abcdef/a.png)\n\n## Links\n\n"
        f"- [{NAME}!7 Mend it]({web}/-/merge_requests/7)\n\n---\n\nImported from "
        f"[{NAME}#1]({web}/-/issues/1), created by root, closed 2024-03-02, "
        "also assigned to stranger, weight 3"
    )
    assert (lamp["state"]["category"], lamp["parent"]["title"]) == ("done", "v1")
    assert [one["body"] for one in comments(cast, lamp)] == [
        "**eve** wrote:\n\nMe too",
        "**History in GitLab**: 4 changes, 2024-03-01\n\n- 2024-03-01 12:00 root assigned to @bo\n"
        "- 2024-03-01 12:00 root changed title from Lamp to Lamp is dark\n"
        "- 2024-03-01 12:00 root added label that was deleted\n- 2024-03-01 12:00 ghost closed it",
    ]
    assert relations(cast, lamp) == {
        ("blocks", "incoming", "Three"),
        ("relates_to", "outgoing", "Two"),
    }
    assert "created by ghost" in found["Two"]["body"]
    assert found["v1"]["due_date"] == "2024-06-01"
    assert run()["made"] == {}


@pytest.mark.parametrize("has_keyset", [True, False])
def test_pages_are_followed_in_old_and_new_versions(gitlab, run, tickets, waits, has_keyset):
    gitlab.has_keyset = has_keyset
    for iid in range(1, 103):
        gitlab.issue(iid)
    gitlab.faults.extend([Reply("Retry later", 429, {"RateLimit-Reset": "1"}), Reply({}, 503)])
    assert run("--no-history")["made"] == {"stories": 102}
    assert len(tickets()) == 102
    assert all("resource_" not in path and "notes" not in path for path in gitlab.paths())
    assert waits


def test_it_goes_on_amid_the_parts_of_issues(gitlab, run, tickets):
    for iid in range(1, 101):
        gitlab.issue(iid, user_notes_count=1)
        gitlab.part(iid, "notes", body=f"Said {iid}", author=person("eve"), system=False)
    # The page of issues and 40 lists of notes arrive.
    gitlab.faults.extend([*[None] * 50, *[Reply({}, 500)] * 100])
    assert "Run the same command again" in run("--no-history", code=1)
    gitlab.faults.clear()
    gitlab.asked.clear()
    assert run("--no-history")["made"] == {"stories": 100, "comments": 100}
    assert len([path for path in gitlab.paths() if path.endswith("/notes")]) == 60


def test_a_download_is_of_one_source(app, cast, gitlab, run, tickets):
    gitlab.issue(1, title="Of the lamp")
    desk = gitlab.issues[0] | {"id": 1, "title": "Of the desk", "references": {"full": "a/desk#1"}}
    gitlab.files["/api/v4/projects/group%2Fteam%2Fdesk/issues"] = Reply([desk])
    # Older versions recorded the project here instead of the one there.
    older = {"tracker": "gitlab", "url": gitlab.url, "project": cast.open_project}
    settings = app.config["SETTINGS"]
    kept = DownloadFile(settings.instance_dir, older | {"since": None, "history": True})
    kept.append("issues", FetchedPage([gitlab.issues[0]], None))
    kept.close(remove=False)
    run("--dry-run")
    assert run(project="group/team/desk")["made"] == {"stories": 1}
    assert list(tickets()) == ["Of the desk"]


def test_a_project_that_is_not_there(run):
    assert "no such project" in run(project="group/gone", code=1)
    assert "group/name" in run(project="lamp", code=1)


@pytest.mark.parametrize("root", ["https://git.example.org", "https://git.example.org/gitlab"])
def test_a_gitlab_that_calls_itself_by_another_address(gitlab, run, tickets, monkeypatch, root):
    monkeypatch.setattr("app.importing.trackers.gitlab.PER_PAGE", 2)
    gitlab.own_url = root
    for number in range(1, 4):
        gitlab.issue(number)
        gitlab.part(1, "links", link_type="relates_to", references={"full": f"{NAME}#{number}"})
    run()
    assert len(tickets()) == 3
    pages = [one.query["page"] for one in gitlab.asked if "page" in one.query]
    assert pages == ["2", "2"]


def test_a_next_page_that_is_none_of_the_api_ends_the_import(gitlab, run):
    gitlab.faults.append(Reply([], headers={"Link": '<https://example.org/x>; rel="next"'}))
    assert "a next page outside its API" in run(code=1)
