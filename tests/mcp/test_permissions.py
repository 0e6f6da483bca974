"""Every tool against every kind of bot, by one table: who may, and what a refusal says.

A tool without its line here fails the suite.
"""

import pytest

from app.bots import pausing
from app.core import ids
from app.core.actor import Actor, ActorKind
from app.core.db import run_write
from app.doors import tools
from tests.support.story import events, make_ticket, ok

CATALOG = tools("Docket").tools
WRITES = sorted(name for name, tool in CATALOG.items() if tool.writes)

# Arguments that name something in the project OPEN, which the bot fenced may not see.
INSIDE = {
    "get_project": {"project": "{project}"},
    "get_ticket": {"ticket": "{ticket}"},
    "create_ticket": {"project": "{project}", "title": "T"},
    "update_ticket": {"ticket": "{ticket}", "title": "U"},
    "transition_ticket": {"ticket": "{ticket}", "state": "Done"},
    "delete_ticket": {"ticket": "{ticket}"},
    "add_ticket_relation": {"ticket": "{ticket}", "type": "blocks", "target": "{ticket}"},
    "remove_ticket_relation": {"ticket": "{ticket}", "relation": "{unknown}"},
    "watch_ticket": {"ticket": "{ticket}"},
    "unwatch_ticket": {"ticket": "{ticket}"},
    "list_comments": {"ticket": "{ticket}"},
    "add_comment": {"ticket": "{ticket}", "body": "Words"},
    "update_comment": {"comment": "{comment}", "body": "Words"},
    "delete_comment": {"comment": "{comment}"},
    "get_wiki_page": {"page": "{page}"},
    "create_wiki_page": {"project": "{project}", "title": "T"},
    "update_wiki_page": {"page": "{page}", "title": "U"},
    "delete_wiki_page": {"page": "{page}"},
    "list_wiki_revisions": {"page": "{page}"},
    "list_sticky_notes": {"project": "{project}"},
    "create_sticky_note": {"project": "{project}", "body": "Words"},
    "update_sticky_note": {"sticky_note": "{note}", "body": "Words"},
    "delete_sticky_note": {"sticky_note": "{note}"},
    "convert_sticky_note": {"sticky_note": "{note}"},
    "list_tickets": {"project": "{project}"},
    "search": {"q": "words", "project": "{project}"},
}
# Their results hold nothing of projects that the bot cannot see.
UNBOUNDED = {"get_self", "list_projects", "list_wiki_pages"}


@pytest.fixture
def inside(cast):
    """Something of each kind in OPEN, by the names that INSIDE uses."""
    ada, project = cast.ada, cast.open_project
    ticket = make_ticket(ada, project, "Hidden words")
    comment = ok(ada.post(f"/tickets/{ticket['id']}/comments", {"body": "Hidden words"}), 201)
    note = ok(ada.post(f"/projects/{project}/sticky-notes", {"body": "Hidden words"}), 201)
    page = ok(ada.post("/wiki/pages", {"title": "Hidden", "project_id": project}), 201)
    return {
        "project": project,
        "ticket": ticket["id"],
        "comment": comment["id"],
        "note": note["id"],
        "page": page["id"],
        "unknown": ids.new_id(),
    }


def filled(name, inside):
    return {key: value.format(**inside) for key, value in INSIDE[name].items()}


def test_every_tool_has_its_line():
    assert set(INSIDE) | UNBOUNDED == set(CATALOG)


@pytest.mark.parametrize("name", WRITES)
def test_a_read_bot_is_refused_before_anything_else(app, scout, name):
    error = scout.refused(name, no_such_argument=1)
    assert error["code"] == "auth.read_only_bot"
    (event,) = events(app, event_type="auth.bot.write_attempt_in_read_mode")
    assert event.payload["operation"] == name
    (called,) = events(app, event_type="bot.tool_invoked")
    assert called.payload["result_status"] == "auth.read_only_bot"


@pytest.mark.parametrize("name", sorted(INSIDE))
def test_beyond_the_allowlist(app, fenced, inside, name):
    error = fenced.refused(name, **filled(name, inside))
    if CATALOG[name].writes:
        assert error["code"] == "auth.forbidden"
        assert error["details"]["reason"] == "project_not_in_allowlist"
        (event,) = events(app, event_type="auth.bot.write_attempt_outside_allowlist")
        assert (event.payload["operation"], event.project_id) == (name, inside["project"])
    else:
        assert error["code"] == "resource.not_found"
    assert "Hidden" not in str(error)


@pytest.mark.parametrize("name", sorted(UNBOUNDED))
def test_lists_show_nothing_from_beyond(fenced, inside, name):
    shown = str(fenced.call(name))
    assert inside["project"] not in shown
    assert "Hidden" not in shown


@pytest.mark.parametrize("name", sorted(set(INSIDE) - {"add_ticket_relation"}))
def test_whoever_may_is_not_kept_from_it(smith, inside, name):
    arguments = filled(name, inside)
    found = smith.result("tools/call", {"name": name, "arguments": arguments})
    if found["isError"]:
        # It came as far as the rules of the domain.
        error = found["structuredContent"]["error"]
        assert error["code"] in ("resource.not_found", "auth.forbidden"), error
        assert error.get("details", {}).get("reason") != "project_not_in_allowlist"


def test_resources_from_beyond_are_not_there(fenced, inside):
    assert fenced.result("resources/list")["resources"] == []
    for uri in ("ticket://OPEN-1", "wiki://page/hidden"):
        body = fenced.send("resources/read", {"uri": uri}).get_json()
        assert body["error"]["code"] == -32002
        assert body["error"]["data"] == {"uri": uri, "code": "resource.not_found"}


def test_all_bots_paused_may_read_and_not_write(app, cast, smith):
    ada = Actor(kind=ActorKind.HUMAN, user_id=cast.ada.user_id, username="ada")
    with app.app_context():
        run_write(lambda: pausing.pause_bots(ada))
        run_write(lambda: pausing.pause_bots(ada))
    assert smith.call("get_self")["mode"] == "write"
    error = smith.refused("create_ticket", project="OPEN", title="T")
    assert error["code"] == "auth.read_only_bot"
    assert "paused" in error["message"]
    response = cast.smith.post(f"/projects/{cast.open_project}/tickets", {"title": "T"})
    assert response.status_code == 403
    make_ticket(cast.ada, cast.open_project)
    with app.app_context():
        run_write(lambda: pausing.resume_bots(ada))
    smith.call("create_ticket", project="OPEN", title="T")
    assert len(events(app, event_type="workspace.bots_paused")) == 1
    assert len(events(app, event_type="workspace.bots_resumed")) == 1
