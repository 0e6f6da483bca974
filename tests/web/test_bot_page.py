"""The page of a bot, stalled bots, house rules, the access tester and the first call."""

import re

from app.bots import pages as bots
from app.core.clock import HOUR_MS, MINUTE_MS, now_ms
from app.tickets import stalled_bots
from tests.support.agent import Agent
from tests.support.cast import Caller
from tests.support.story import make_ticket, ok

HERE = "/bots/smith"


def text_of(page) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", page.text.split("<main")[1]).split())


def test_a_bot_has_a_page_with_what_it_did_and_holds(ada, cast, ticket):
    cast.smith.patch(f"/tickets/{ticket['id']}", {"assignee_user_id": cast.smith.user_id})
    page = ada.get(HERE)
    text = text_of(page)
    assert page.status_code == 200
    assert "smith can read and write tickets, comments, wiki pages and notes in" in text
    assert f"{ticket['display_id']} " in text.split("Open work")[1]
    assert "It is assigned 1 open ticket." in text
    assert f"Assigned {ticket['display_id']} to Smith" in text
    assert ada.get("/bots/nobody").status_code == 404
    assert ada.get("/bots/ada").status_code == 404


def test_what_a_bot_was_refused_is_shown(ada, cast, ticket):
    cast.scout.patch(f"/tickets/{ticket['id']}", {"title": "No"})
    text = text_of(ada.get("/bots/scout"))
    assert "Was denied tickets.update: read-only access" in text


def test_the_access_tester_asks_the_real_code(ada, cast, ticket):
    page = {"title": "Open 2", "body": "", "project_id": cast.open_project}
    ok(cast.ada.post("/wiki/pages", page), 201)
    for reference, said in (
        ("OPEN-1", "Yes."),
        ("open-1", "Yes."),
        ("OPEN-99", "No."),
        ("OPEN", "Yes."),
        ("no-such-page", "No."),
        # A page whose slug looks like a ticket's number.
        ("open-2", "Yes."),
    ):
        text = text_of(ada.get(f"{HERE}?reference={reference}"))
        assert f"read {said}" in text, reference
        assert f"write {said}" in text, reference


def test_the_access_tester_knows_modes_projects_and_tokens(ada, cast, ticket):
    reader = text_of(ada.get("/bots/scout?reference=OPEN-1"))
    assert "read Yes." in reader
    assert "write No. This bot has read-only access. (auth.read_only_bot)" in reader
    ada.post(f"/bots/{cast.smith.user_id}", action="revoke")
    assert "The bot has no active token" in text_of(ada.get(f"{HERE}?reference=OPEN-1"))


def test_settings_change_on_the_page(ada, cast):
    address = f"/bots/{cast.smith.user_id}/settings"
    sent = {"display_name": "Agent", "mode": "read", "project_ids": cast.open_project}
    assert ada.post(address, **sent).location == HERE
    bot = cast.ada.get(f"/bots/{cast.smith.user_id}").json
    assert (bot["display_name"], bot["mode"]) == ("Agent", "read")
    assert bot["project_ids"] == [cast.open_project]
    assert bot["can_edit_global_wiki"] is False
    refused = ada.post(address, display_name="Agent", mode="read")
    assert refused.status_code == 422
    assert "Select at least one project, or all projects." in refused.text


def test_a_deleted_project_stays_in_the_allowlist(ada, cast):
    address = f"/bots/{cast.smith.user_id}"
    allowed = [cast.open_project, cast.fenced_project]
    ok(cast.ada.patch(address, {"project_ids": allowed}))
    ok(cast.ada.delete(f"/projects/{cast.fenced_project}"), 204)
    offered = re.findall(r'name="project_ids" value="([^"]+)"\s+checked', ada.get(HERE).text)
    assert offered == allowed
    ada.post(f"{address}/settings", display_name="Agent", mode="read", project_ids=offered)
    assert cast.ada.get(address).json["project_ids"] == allowed


def test_deactivating_takes_the_open_tickets(ada, cast, ticket):
    address = f"/tickets/{ticket['id']}"
    cast.smith.patch(address, {"assignee_user_id": cast.smith.user_id})
    ada.post(f"/bots/{cast.smith.user_id}", action="deactivate", release="on")
    assert cast.ada.get(address).json["assignee"] is None
    assert cast.ada.get(f"/bots/{cast.smith.user_id}").json["is_active"] is False
    newest = cast.ada.get(f"{address}/activity").json["data"][0]
    assert newest["actor"]["username"] == "ada"


def test_what_it_holds_in_a_deleted_project_keeps_no_bot(ada, cast):
    project = cast.fenced_project
    make_ticket(cast.ada, project, assignee_user_id=cast.smith.user_id)
    ok(cast.ada.delete(f"/projects/{project}"), 204)
    ada.post(f"/bots/{cast.smith.user_id}", action="deactivate", release="on")
    assert cast.ada.get(f"/bots/{cast.smith.user_id}").json["is_active"] is False


def test_a_bot_is_stalled_after_half_an_hour(ada, cast, app, ticket, monkeypatch):
    address = f"/tickets/{ticket['id']}"
    fragment = f"/tickets/{ticket['display_id']}/bots"
    cast.smith.patch(address, {"assignee_user_id": cast.smith.user_id})
    assert "has done nothing on this ticket" not in ada.get(fragment).text
    later = now_ms() + 31 * MINUTE_MS
    monkeypatch.setattr(stalled_bots, "now_ms", lambda: later)
    assert "Smith has done nothing on this ticket since" in ada.get(fragment).text
    assert "stalled <time" in ada.get("/projects/OPEN/board").text
    assert "stalled since" in text_of(ada.get(HERE))
    # A comment by a person does not count as an act of the bot.
    cast.ada.post(f"{address}/comments", {"body": "Are you there?"})
    assert "has done nothing on this ticket" in ada.get(fragment).text
    back = {"ticket_id": ticket["id"], "back": f"/tickets/{ticket['display_id']}"}
    assert ada.post(f"/bots/{cast.smith.user_id}/release", **back).location == back["back"]
    assert cast.ada.get(address).json["assignee"] is None
    assert "has done nothing on this ticket" not in ada.get(fragment).text


def test_people_hold_tickets_as_long_as_they_like(ada, cast, ticket, monkeypatch):
    cast.ada.patch(f"/tickets/{ticket['id']}", {"assignee_user_id": cast.ada.user_id})
    later = now_ms() + 31 * MINUTE_MS
    monkeypatch.setattr(stalled_bots, "now_ms", lambda: later)
    assert "has done nothing" not in ada.get(f"/tickets/{ticket['display_id']}/bots").text
    assert "stalled <time" not in ada.get("/projects/OPEN/board").text


def test_people_see_which_house_rules_bots_read(ada, cast, ticket):
    fragment = f"/tickets/{ticket['display_id']}/bots"
    assert "/projects/OPEN/wiki/agents/edit" in ada.get(fragment).text
    rules = {"title": "House rules", "slug": "agents", "body": "x", "project_id": cast.open_project}
    cast.ada.post("/wiki/pages", rules)
    for path in (fragment, "/projects/OPEN/bots-read"):
        said = 'For bots: <a href="/projects/OPEN/wiki/agents">House rules</a>'
        assert said in ada.get(path).text


def test_waiting_turns_into_the_first_call(ada, cast, app):
    made = ada.post("/bots", username="fresh", mode="read", all_projects="on")
    address = re.search(r'hx-get="(/bots/fresh/first-call\?after=[^"]+)"', made.text)[1]
    token = re.search(r"app_[a-z2-7]{32}", made.text)[0]
    assert ada.get(address).status_code == 204
    caller = Caller(app.test_client(use_cookies=False), {}, None, "fresh", token)
    Agent(caller).call("get_self")
    assert "Connected: <code>get_self</code>" in ada.get(address).text
    assert token not in address


def test_the_form_says_in_words_what_a_new_bot_may(ada, cast):
    address = "/bots/new/wording"
    assert "Select at least one project." in ada.get(address).text
    chosen = f"?username=bot-a-1&mode=write&project_ids={cast.open_project}"
    assert "bot-a-1 can read and write tickets, comments, wiki pages and notes in OPEN." in (
        ada.get(address + chosen).text
    )
    everywhere = ada.get(f"{address}?username=smith&mode=read&all_projects=on").text
    assert "smith can read tickets" in everywhere
    assert "every project, including future ones" in everywhere
    assert "The username smith is already taken." in everywhere


def test_new_events_are_counted_and_move_nothing(ada, cast, ticket):
    cast.smith.post(f"/tickets/{ticket['id']}/comments", {"body": "One"})
    page = ada.get("/audit?event_type=comment.")
    address = re.search(r'hx-get="(/audit/news[^"]+)"', page.text)[1].replace("&amp;", "&")
    assert ada.get(address).status_code == 204
    cast.smith.post(f"/tickets/{ticket['id']}/comments", {"body": "Two"})
    cast.smith.patch(f"/tickets/{ticket['id']}", {"title": "Not of this filter"})
    assert "1 new event<" in ada.get(address).text
    assert 'href="/audit?event_type=comment."' in ada.get(address).text


def test_the_list_shows_the_pulse_of_each_bot(ada, cast):
    assert '<svg class="pulse"' not in ada.get("/bots").text
    agent = Agent(cast.smith)
    for _ in range(3):
        agent.call("get_self")
    agent.refused("get_ticket", ticket="OPEN-9")
    shown = ada.get("/bots").text
    assert shown.count('<svg class="pulse"') == 1
    assert "4 MCP calls in 24 hours, 1 failed" in shown
    assert '<rect x="92" y="0" width="3" height="20"/>' in shown


def test_pages_say_of_a_bot_that_calls_rest_what_is_true(ada, cast):
    cast.smith.get("/users/me")
    shown = re.sub(r"\s+", " ", ada.get(HERE).text)
    assert re.search(r"· last used <time", shown)
    assert "No MCP calls yet." in shown
    listed = ada.get("/bots").text
    assert 'data-head="Last used"><time' in re.sub(r">\s+<", "><", listed)
    assert "No MCP calls" in listed
    for page in (shown, listed, ada.get("/audit/tools").text):
        assert not re.search(r"API calls|Tool calls|No calls|no call yet|[Ll]ast call", page)


def test_a_pulse_is_of_a_day(ada, cast, monkeypatch):
    Agent(cast.smith).call("get_self")
    moment = now_ms()
    monkeypatch.setattr(bots, "now_ms", lambda: moment + 23 * HOUR_MS)
    assert '<rect x="0" y="0"' in ada.get("/bots").text
    monkeypatch.setattr(bots, "now_ms", lambda: moment + 25 * HOUR_MS)
    assert '<svg class="pulse"' not in ada.get("/bots").text
