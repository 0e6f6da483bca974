"""Refusals of bots are audited; what is refused while all bots are paused."""

from app.bots import service
from app.core.actor import Access, Actor, ActorKind
from app.tools.catalog import catalog
from tests.authorization.test_rest import ROUTES, ROWS, address
from tests.authorization.test_tools import ROWS as TOOLS
from tests.authorization.test_tools import call
from tests.authorization.world import build
from tests.support.agent import Agent
from tests.support.cast import in_app
from tests.support.story import events, form_of, make_ticket

CATALOG = catalog("Docket").tools


def test_a_read_bot_that_calls_a_tool_is_refused_before_anything_else(app, cast):
    scout = Agent(cast.scout)
    writes = sorted(name for name, tool in CATALOG.items() if tool.writes)
    for name in writes:
        assert scout.refused(name, no_such_argument=1)["code"] == "auth.read_only_bot"
    found = events(app, event_type="auth.bot.write_attempt_in_read_mode")
    assert [event.payload["operation"] for event in found] == writes
    called = events(app, event_type="bot.tool_invoked")
    assert {event.payload["result_status"] for event in called} == {"auth.read_only_bot"}


def test_each_write_beyond_the_allowlist_is_audited(app):
    world = build(app)
    project = world.places["other"]["project"]
    fenced_off = []
    for name in TOOLS:
        if CATALOG[name].writes and "other" in TOOLS[name].places:
            call(world, "fenced", name, "other")
            fenced_off.append(name)
    for name, row in ROWS.items():
        route = ROUTES[name]
        if route.access is not Access.WRITE or "other" not in row.places:
            continue
        body = row.body(world, "other") if callable(row.body) else row.body
        sent = {"data": form_of(b"New")} if route.takes_file else {"json": body}
        world.callers["fenced"].call(route.method, address(world, route, "other"), **sent)
        fenced_off.append(name)
    found = events(app, event_type="auth.bot.write_attempt_outside_allowlist")
    assert [event.payload["operation"] for event in found] == fenced_off
    assert {event.project_id for event in found} == {project}
    assert len(fenced_off) > 30


def test_all_bots_paused_may_read_and_not_write(app, cast):
    ada = Actor(kind=ActorKind.HUMAN, user_id=cast.ada.user_id, username="ada")
    smith = Agent(cast.smith)
    in_app(app, lambda: service.pause_bots(ada))
    in_app(app, lambda: service.pause_bots(ada))
    assert smith.call("get_self")["mode"] == "write"
    error = smith.refused("create_ticket", project="OPEN", title="T")
    assert error["code"] == "auth.read_only_bot"
    assert "paused" in error["message"]
    response = cast.smith.post(f"/projects/{cast.open_project}/tickets", {"title": "T"})
    assert response.status_code == 403
    make_ticket(cast.ada, cast.open_project)
    in_app(app, lambda: service.resume_bots(ada))
    smith.call("create_ticket", project="OPEN", title="T")
    assert len(events(app, event_type="workspace.bots_paused")) == 1
    assert len(events(app, event_type="workspace.bots_resumed")) == 1
