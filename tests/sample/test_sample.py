"""The sample project: created by ordinary audited changes, all or nothing, and removable."""

import re

import pytest
from sqlalchemy import func, select

from app.accounts.models import User
from app.audit.models import AuditEvent, ToolInvocation
from app.database.session import reading, session
from app.projects.models import Project
from app.sample import sample
from app.sticky_notes.models import StickyNote
from app.tickets.models import Ticket
from app.wiki.models import WikiPage
from tests.support.story import event_types, events, ok
from tests.web.conftest import Reader

BOARD = "/projects/SAMPLE/board"


@pytest.fixture
def ada(app, cast):
    return Reader(cast.ada.client, app)


def load(ada):
    answer = ada.post("/sample-project")
    assert (answer.status_code, answer.location) == (303, BOARD)


def rows(app, statement):
    with app.app_context(), reading():
        return session.execute(statement).all()


def in_sample(app, model, key="SAMPLE"):
    project = select(Project.id).where(Project.key == key).scalar_subquery()
    return rows(app, select(func.count()).select_from(model).where(model.project_id == project))[0][
        0
    ]


def test_everything_is_there_to_look_at(app, ada, cast):
    load(ada)
    assert in_sample(app, Ticket) == 30
    assert in_sample(app, WikiPage) == 6
    assert in_sample(app, StickyNote) == 5
    board = ada.get(BOARD).text
    assert "Overdue" in board
    assert "Blocked" in board
    for slug in ("welcome", "working", "agents", "writing", "keys", "undo"):
        page = ada.get(f"/projects/SAMPLE/wiki/{slug}").text
        assert 'class="wikilink' in page, slug
    # Real names replace all placeholders in the texts.
    told = str(rows(app, select(Ticket.title, Ticket.body)) + rows(app, select(WikiPage.body)))
    assert "PERSON" not in told
    home = ada.get("/").text
    assert "handed this over to you" in home
    assert "1 denied" in home

    bots_worked_through_their_tools(app, ada)
    every_row_has_its_event(app)
    # There is only one at a time.
    load(ada)
    assert len(events(app, event_type="project.created")) == 3


def bots_worked_through_their_tools(app, ada):
    calls = rows(app, select(ToolInvocation.tool_name, ToolInvocation.result_status))
    assert {"update_ticket", "create_ticket", "update_wiki_page"} <= {one[0] for one in calls}
    refused = {tuple(one) for one in calls if one.result_status != "ok"}
    assert ("transition_ticket", "validation.invalid_field") in refused
    assert ("transition_ticket", "auth.read_only_bot") in refused
    tried = events(app, event_type="auth.bot.write_attempt_in_read_mode")
    assert [one.payload["operation"] for one in tried] == ["transition_ticket"]
    # Each call is a separate request, whose id the tool log shares with its events.
    ids = rows(app, select(ToolInvocation.request_id).distinct())
    assert len(ids) == len(calls)
    moved = events(app, event_type="ticket.state_changed", actor_kind="bot")
    assert {one.request_id for one in moved} <= {one[0] for one in ids}
    assert "undo_of" in str([one.payload for one in events(app, event_type="ticket.updated")])
    review = ada.get("/bots/sample-writer/review").text
    assert "<ins" in review
    assert "<del" in review


def every_row_has_its_event(app):
    made = event_types(app)
    for kind, many in (("ticket.created", 30), ("wiki.created", 6), ("label.created", 5)):
        assert made.count(kind) == many, kind
    assert made.count("bot.created") == made.count("bot.token.revoked") == 2


def test_a_failure_leaves_nothing(app, ada, monkeypatch):
    monkeypatch.setattr(sample, "AFTER", (sample.Step("PERSON", "get_ticket", {"ticket": "NO-1"}),))
    assert ada.post("/sample-project").status_code == 404
    # While bots are paused, they cannot play their part.
    ada.post("/bots/pausing", action="pause")
    paused = ada.post("/sample-project")
    assert (paused.status_code, "All bots are paused" in paused.text) == (409, True)
    assert in_sample(app, Ticket) == 0
    assert rows(app, select(User.id).where(User.username.startswith("sample"))) == []


def test_removing_takes_it_away_and_keeps_what_happened(app, ada, cast):
    load(ada)
    before = rows(app, select(func.count()).select_from(AuditEvent))[0][0]
    assert "Remove the sample project" in ada.get("/projects").text
    assert ada.post("/sample-project/remove").location == "/projects?removed"
    page = ada.get("/projects?removed").text
    assert "The audit log is kept." in page
    # If there are other projects, it is offered only under /start.
    assert "Load the sample project" not in page
    assert "Load the sample project" in ada.get("/start").text
    assert ada.get(BOARD).status_code == 410
    bots = rows(app, select(User.is_active).where(User.username.startswith("sample-")))
    assert [one.is_active for one in bots] == [False, False]
    assert rows(app, select(func.count()).select_from(AuditEvent))[0][0] == before + 3
    # Repeating is not an error, nor is another sample: the key is new, the bots are reused.
    assert ada.post("/sample-project/remove").status_code == 303
    again = ada.post("/sample-project", next="/start/people")
    assert again.location == "/start/people"
    assert ada.post("/sample-project", next="//elsewhere.example").location == "/"
    assert "The sample project is ready" in ada.get("/start").text
    assert in_sample(app, Ticket, "SAMPLE2") == 30
    assert ok(cast.ada.get("/tickets/SAMPLE2-5"))["body"].count("SAMPLE2-20") == 1
    assert len(rows(app, select(User.id).where(User.username.startswith("sample-")))) == 2


def test_what_is_somebody_elses_is_left_alone(app, ada, cast):
    ok(cast.ada.post("/projects", {"key": "SAMPLE", "name": "Ours"}), 201)
    # Its name alone does not make it the sample.
    ada.post("/sample-project/remove")
    ours = ok(cast.ada.post("/bots", {"username": "sample-writer", "mode": "read"}), 201)["bot"]
    assert ada.post("/sample-project").location == "/projects/SAMPLE2/board"
    writers = ok(cast.ada.get("/bots"))["data"]
    [other] = [one for one in writers if one["username"] == "sample-writer-2"]
    # Allowed in another project, it counts as the person's own bot.
    allowed = [*other["project_ids"], cast.open_project]
    ok(cast.ada.patch(f"/bots/{other['id']}", {"project_ids": allowed}))
    ada.post("/sample-project/remove")
    active = {one["id"]: one["is_active"] for one in ok(cast.ada.get("/bots"))["data"]}
    assert active[ours["id"]]
    assert active[other["id"]]
    assert ada.get(BOARD).status_code == 200


def test_the_command_does_the_same(app, cast):
    def flask(*args, code=0):
        result = app.test_cli_runner().invoke(args=["sample-project", *args])
        assert result.exit_code == code, result.output
        return result.output

    assert "several people" in flask(code=1)
    assert re.search(r"Loaded SAMPLE: http\S+/projects/SAMPLE$", flask("--as", "ada").strip())
    assert "already exists" in flask("--as", "bo", code=1)
    assert "its bots are deactivated" in flask("--as", "bo", "--remove")
    assert "Project not found" in flask("--as", "bo", "--remove", code=1)
