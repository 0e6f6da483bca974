"""Files of issues in other trackers: which are imported, from where, and how texts change."""

from contextlib import contextmanager
from dataclasses import replace

import pytest
from sqlalchemy import func, select

from app.core.actor import Actor, ActorKind
from app.core.errors import NotFound
from app.core.text import BODY_LENGTH
from app.database.session import is_postgresql, reading, run_write, session
from app.files import adding
from app.files.models import FileContent
from app.files.store import NewContent, incoming
from app.http.multipart import ReceivedFile
from app.importing import issue_files
from app.importing.issue_files import SuppliedFiles
from app.importing.issues import Issue, IssueComment, IssueFile
from app.importing.trackers import file_downloads
from app.importing.trackers.file_downloads import FileDownloads
from app.tickets.importing import rewrite_texts
from tests.files.hostile import HTML, picture
from tests.importing.gitlab_server import NAME, PATH, GitLabServer, person
from tests.importing.jira_server import JiraServer
from tests.importing.reading import comments, files, links
from tests.importing.tracker_server import Reply
from tests.support.agent import Agent
from tests.support.statements import statements
from tests.support.story import ok

SECRET = "0123456789abcdef0123456789abcdef"
UPLOADS = f"{PATH.removesuffix('/issues')}/uploads/{SECRET}"
GONE = "HTTP 404; only a run with --fresh asks for it again"


@pytest.fixture
def changed(app, monkeypatch):
    """Change settings for one test."""

    def change(**values):
        monkeypatch.setitem(app.config, "SETTINGS", replace(app.config["SETTINGS"], **values))

    return change


@pytest.fixture
def gitlab(monkeypatch):
    monkeypatch.setenv("GITLAB_TOKEN", "t0ken")
    server = GitLabServer()
    yield server
    server.close()


@pytest.fixture
def run(move, gitlab, monkeypatch):
    def running(*options, token="t0ken", **wanted):
        monkeypatch.setenv("GITLAB_TOKEN", token)
        return move("gitlab", NAME, "--url", gitlab.url, "--no-history", *options, **wanted)

    return running


def test_files_come_along_with_their_issues(app, cast, gitlab, run, tickets, changed):
    changed(files_max_bytes=20_000, files_types="image/*,text/plain")
    here = f"/uploads/{SECRET}"
    gitlab.issue(
        1,
        title="Lamp",
        description=f"![a]({here}/a.png){{width=9}} ![gone]({here}/gone.png) [big]({here}/big.txt) "
        f"[page]({here}/page) [zip]({here}/z.zip) [empty]({here}/empty.txt)",
        user_notes_count=1,
    )
    gitlab.issue(2, title="Two", description="No file")
    gitlab.part(1, "notes", body=f"[log]({here}/log.txt)", author=person("eve"), system=False)
    gitlab.files |= {
        f"{UPLOADS}/a.png": Reply(raw=picture("PNG")),
        f"{UPLOADS}/log.txt": Reply(raw=b"dark"),
        f"{UPLOADS}/big.txt": Reply(raw=b"x" * 30_000),
        f"{UPLOADS}/page": Reply(raw=HTML, headers={"Content-Type": "text/html; charset=utf-8"}),
        f"{UPLOADS}/z.zip": Reply(raw=b"PK\x03\x04"),
        f"{UPLOADS}/empty.txt": Reply(raw=b""),
    }
    assert run("--dry-run")["made"]["files"] == 7
    assert not [path for path in gitlab.paths() if "uploads" in path]
    report = run()
    assert report["made"] == {"stories": 2, "comments": 1, "files": 2}
    web = f"{gitlab.url}/{NAME}{here}"
    assert [(note["reason"], note["detail"]) for note in report["notes"]] == [
        (f"file not imported: {GONE}", f"{web}/gone.png"),
        ("file not imported: it is larger than the limit for files", f"{web}/big.txt"),
        ("file not imported: the response is a web page", f"{web}/page"),
        (
            "file not imported: Files of the type application/zip are not allowed here.",
            f"{web}/z.zip",
        ),
        ("file not imported: The file is empty.", f"{web}/empty.txt"),
    ]
    lamp = tickets()["Lamp"]
    image, log = files(cast, lamp)
    [comment] = comments(cast, lamp)
    assert (image["name"], image["is_image"], image["comment_id"]) == ("a.png", True, None)
    assert (log["name"], log["comment_id"]) == ("log.txt", comment["id"])
    assert lamp["body"].startswith(
        f"![a](/files/{image['id']}) ![gone]({web}/gone.png) [big]({web}/big.txt)"
    )
    assert comment["body"] == f"**eve** wrote:\n\n[log](/files/{log['id']})"
    assert lamp["last_activity_at"] == "2024-03-02T10:00:00.000Z"
    assert cast.ada.get(f"/files/{log['id']}").data == b"dark"
    assert list(app.config["SETTINGS"].incoming_dir.iterdir()) == []
    # A missing file is reported once, and requested again only on demand.
    gitlab.asked.clear()
    again = run()
    assert (again["made"], len(again["notes"])) == ({}, 4)
    assert not [path for path in gitlab.paths() if "gone" in path]
    gitlab.files[f"{UPLOADS}/gone.png"] = Reply(raw=picture("PNG"))
    assert run("--dry-run")["made"] == {"files": 4}
    assert run("--fresh")["made"] == {"files": 1}
    # An issue that did not become a ticket.
    with app.app_context(), reading():
        issue_files.keep_gone(cast.open_project, "other", [f"{web}/gone.png"])


def test_files_can_be_left_out_or_find_no_room(app, cast, gitlab, run, tickets, changed):
    address = f"{gitlab.url}/{NAME}/uploads/{SECRET}/log.txt"
    gitlab.issue(1, title="One", description=f"[log](/uploads/{SECRET}/log.txt)")
    gitlab.files[f"{UPLOADS}/log.txt"] = Reply(raw=b"dark" * 500)
    with app.app_context(), reading():
        used = session.scalar(select(func.coalesce(func.sum(FileContent.size), 0)))
    changed(files_quota=used + 1_000)
    report = run()
    assert report["made"] == {"stories": 1}
    assert [(one["reason"], one["detail"]) for one in report["notes"]] == [
        ("file not imported: There is no space left for files.", address)
    ]
    gitlab.issue(2, title="Two", description=f"[log](/uploads/{SECRET}/log.txt)")
    gitlab.asked.clear()
    assert run("--no-files")["made"] == {"stories": 1}
    assert not [path for path in gitlab.paths() if "uploads" in path]
    for ticket in tickets().values():
        assert ticket["body"].startswith(f"[log]({address})")
        assert files(cast, ticket) == []
    # A later run adds what is missing, once, and keeps what people changed meanwhile.
    changed(files_quota=used + 10_000)
    one, two = (tickets()[title] for title in ("One", "Two"))
    ok(cast.ada.post(f"/tickets/{one['id']}/comments", {"body": f"See {address}"}), 201)
    ok(cast.ada.patch(f"/tickets/{one['id']}", {"body": "Mine"}))
    assert run("--dry-run")["made"] == {"files": 2}
    assert run()["made"] == {"files": 2}
    [log], [other] = files(cast, one), files(cast, two)
    [comment] = comments(cast, one)
    assert (comment["body"], log["comment_id"]) == (
        f"See [log.txt](/files/{log['id']})",
        comment["id"],
    )
    assert tickets()["One"]["body"] == "Mine"
    assert tickets()["Two"]["body"].startswith(f"[log](/files/{other['id']})")
    assert other["comment_id"] is None
    assert run()["made"] == {}


class Supply:
    """Supplies a small text for each file of the issues."""

    def __init__(self, app):
        self.settings = app.config["SETTINGS"]

    @contextmanager
    def prepared(self, issues, report):
        yield {
            issue.id: SuppliedFiles(
                {file.address: self.made(issue.id, file.name) for file in issue.files}
            )
            for issue in issues
        }

    def made(self, issue_id, name):
        path = incoming(self.settings) / issue_id
        path.write_bytes(b"dark")
        return adding.prepare(
            self.settings, ReceivedFile(path, name, 4, NewContent.of(path).sha256)
        )


def test_late_files_replace_links_and_refuse_no_issue(app, cast, imported, tickets):
    address = "https://x.example/log.txt"
    attached = (IssueFile(address, address, "log.txt"),)
    issues = [
        Issue("1", "One", pages=(("Log", address),), files=attached),
        Issue("2", "Two", comments=(IssueComment("eve", address, 0),), files=attached),
        Issue("3", "Long", sections=(("", address),), files=attached),
    ]
    assert imported(*issues).created == {"stories": 3, "links": 1, "comments": 1}
    one, two, long = (tickets()[title] for title in ("One", "Two", "Long"))
    full = address + " " + "x" * (BODY_LENGTH - len(address) - 1)
    ok(cast.ada.patch(f"/tickets/{long['id']}", {"body": full}))
    smith = Agent(cast.smith)
    for ticket in (one, two):
        smith.call("watch_ticket", ticket=ticket["display_id"])
        smith.call("get_ticket", ticket=ticket["display_id"])
    smith.call("get_self")
    supply = Supply(app)
    with statements(app) as seen:
        report = imported(*issues, supply=supply)
    assert report.created == {"files": 2}
    assert {row.outcome for row in report.rows} == {"already imported"}
    [(issue, reason, detail)] = report.notes
    assert (issue, detail) == ("3", address)
    assert reason.startswith("file not imported: ")
    assert links(cast, one) == files(cast, long) == []
    [log], [other], [comment] = files(cast, one), files(cast, two), comments(cast, two)
    assert (log["comment_id"], other["comment_id"]) == (None, comment["id"])
    assert f"/files/{other['id']}" in comment["body"]
    # Bots get news of the files, not of texts and links that only show them.
    told = [row["what"] for row in smith.call("get_self")["news"]]
    assert told == ["added the file log.txt"] * 2
    unread = smith.call("add_comment", ticket=two["display_id"], body="Seen")["unread"]
    assert [row["what"] for row in unread] == told[:1]
    assert tickets()["Long"]["body"] == full
    # Comments are locked before their ticket, as when somebody edits one.
    with app.app_context():
        locked = [
            "comments" if "FROM comments" in statement else "tickets"
            for statement in seen
            if "FOR NO KEY UPDATE" in statement
            and ("FROM comments" in statement or "FROM tickets" in statement)
        ]
        assert locked[:2] == (["comments", "tickets"] if is_postgresql() else [])
    assert imported(*issues[:2], supply=supply).created == {}


def test_only_texts_of_imported_tickets_are_rewritten(app, cast):
    actor = Actor(kind=ActorKind.HUMAN, user_id=cast.ada.user_id, username="ada")
    with app.app_context(), pytest.raises(NotFound):
        run_write(lambda: rewrite_texts(actor, cast.open_project, "no issue", str.upper))


def test_many_files_are_stored_in_portions(app, gitlab, run, monkeypatch):
    monkeypatch.setattr(file_downloads, "PORTION_FILES", 4)
    portions, prepared = [], FileDownloads.prepared

    @contextmanager
    def noted(*given):
        with prepared(*given) as made:
            portions.append([len(one.files) for one in made.values()])
            yield made

    monkeypatch.setattr(FileDownloads, "prepared", noted)
    for iid, count in enumerate((2, 0, 2, 6, 1), start=1):
        names = [f"{iid}-{number}.txt" for number in range(count)]
        text = " ".join(f"[f](/uploads/{SECRET}/{name})" for name in names)
        gitlab.issue(iid, title=f"Issue {iid}", description=text)
        gitlab.files |= {f"{UPLOADS}/{name}": Reply(raw=name.encode()) for name in names}
    with statements(app) as seen:
        assert run()["made"] == {"stories": 5, "files": 11}
    assert portions == [[2, 0, 2], [6], [1]]
    # Once per issue that has files.
    assert len([one for one in seen if "sum(file_contents.size)" in one]) == 4


def test_without_a_token_the_site_is_asked(cast, gitlab, run, tickets):
    gitlab.issue(1, title="One", description=f"[log](/uploads/{SECRET}/log.txt)")
    gitlab.files[f"/{NAME}/uploads/{SECRET}/log.txt"] = Reply(raw=b"dark")
    assert run(token="")["made"] == {"stories": 1, "files": 1}


def test_it_goes_on_where_files_cannot_be_had(cast, gitlab, run, tickets, monkeypatch):
    monkeypatch.setattr(file_downloads, "PORTION_BYTES", 0)
    for iid in range(1, 13):
        gitlab.issue(iid, title=f"Issue {iid}", description=f"[f](/uploads/{SECRET}/{iid}.txt)")
        gitlab.files[f"{UPLOADS}/{iid}.txt"] = Reply(raw=b"dark" * iid)
    gitlab.files[f"{UPLOADS}/2.txt"] = Reply({}, 500)
    for iid in range(5, 13):
        gitlab.files[f"{UPLOADS}/{iid}.txt"] = Reply({}, 429, {"Retry-After": "90000"})
    output = run(code=1)
    assert "again in 1,500 minutes" in output
    assert "1 x file not imported: no response" in output
    assert "     4 stories" in output
    for iid in (2, *range(5, 13)):
        gitlab.files[f"{UPLOADS}/{iid}.txt"] = Reply(raw=b"light" * iid)
    # Including the file that was unavailable before.
    assert run()["made"] == {"stories": 8, "files": 9}
    gitlab.issue(
        13,
        title="Last",
        description="".join(f"[{n}](/uploads/{SECRET}/n{n}.txt) " for n in range(9)),
    )
    for number in range(9):
        gitlab.files[f"{UPLOADS}/n{number}.txt"] = Reply({}, 502)
    assert "With --no-files, files are left out." in run("--fresh", code=1)


@pytest.mark.parametrize("is_cloud", [True, False])
def test_attachments_of_jira(cast, move, tickets, monkeypatch, is_cloud):
    monkeypatch.setenv("JIRA_TOKEN", "t0ken")
    jira = JiraServer(is_cloud=is_cloud)
    try:
        names = ("a b.png", "log.txt", "log.txt", "gone.txt")
        place = "/rest/api/3/attachment/content" if is_cloud else "/secure/attachment"
        attached = [
            {"id": str(number), "filename": name, "content": f"{jira.url}{place}/{number}"}
            for number, name in enumerate(names)
        ]
        attached.append({"id": "9", "filename": "b.txt", "content": "https://other.example/b.txt"})
        media = {"type": "media", "attrs": {"type": "file", "id": "u", "alt": "a b.png"}}
        text = "!a b.png|thumbnail! [^log.txt] {code}!a b.png!{code} !no.png!"
        if is_cloud:
            text = {"type": "doc", "content": [{"type": "mediaSingle", "content": [media]}]}
        jira.issue(1, summary="Lamp", description=text, attachment=attached)
        jira.files |= {
            f"{place}/0": Reply(raw=picture("PNG")),
            f"{place}/1": Reply(raw=b"one"),
            f"{place}/2": Reply(raw=b"two"),
        }
        account = ["--account", "me@example.com"] if is_cloud else []
        report = move("jira", "LAMP", "--url", jira.url, *account)
        assert report["made"] == {"stories": 1, "files": 3}
        assert [note["reason"] for note in report["notes"]] == [
            f"file not imported: {GONE}",
            "file not imported: it is on another host",
        ]
        lamp = tickets()["Lamp"]
        image, one, two = files(cast, lamp)
        assert (image["name"], one["name"], two["size"]) == ("a b.png", "log.txt", 3)
        shown = f"![a b.png](/files/{image['id']})"
        if not is_cloud:
            shown += f" [log.txt](/files/{two['id']}) \n```\n!a b.png!\n```\n (no.png)"
        assert lamp["body"].startswith(
            f"{shown}\n\n## Attachments\n\n- [gone.txt]({jira.url}{place}/3)\n"
            "- [b.txt](https://other.example/b.txt)\n\n---\n\n"
        )
        asked = [one for one in jira.asked if one.path.startswith(place)]
        assert {one.query.get("redirect") for one in asked} == {"false" if is_cloud else None}
        assert {one.headers["accept"] for one in asked} == {"*/*"}
    finally:
        jira.close()
