"""Deliveries from code hosts become links, states, checks and moves."""

import json

import pytest

from tests.integrations.deliveries import (
    FORGES,
    HOME,
    Connected,
    checked,
    pull_request,
    push,
)
from tests.support.story import events, make_ticket, ok, refused, state_ids

WORDS = ("title", "kind", "state", "checks", "author")


@pytest.fixture(name="ticket", autouse=True)
def _ticket(cast):
    return make_ticket(cast.ada, cast.open_project)


def shown(link):
    return tuple(link[name] for name in WORDS)


@pytest.mark.parametrize("forge", FORGES)
def test_a_pull_request_from_its_draft_to_its_merge(cast, app, forge):
    at = Connected(cast, forge)
    body = "Fixes OPEN-1."
    assert at.deliver(pull_request(forge, 1, body=body, draft=True)) == "1 linked"
    (link,) = at.links()
    assert shown(link) == ("Mend the lamp", "pull_request", "draft", None, "grace")
    assert link["url"].startswith(f"{HOME[forge]}/")
    assert at.deliver(checked(forge, 2, "pending")) == "1 updated"
    assert at.deliver(checked(forge, 3, "failure")) == "1 updated"
    assert at.links()[0]["checks"] == "failing"
    # A later result of the same check, or a later pipeline.
    assert at.deliver(checked(forge, 4, "success")) == "1 updated"
    edited = pull_request(forge, 5, body=body, action="edited", title="Mend all lamps")
    assert at.deliver(edited) == "1 updated"
    assert shown(at.links()[0])[:4] == ("Mend all lamps", "pull_request", "open", "passing")
    assert at.state() == "Backlog"
    merged = pull_request(forge, 6, body=body, action="closed", state="merged")
    assert at.deliver(merged) == "1 updated, 1 moved"
    assert (at.links()[0]["state"], at.state()) == ("merged", "Done")
    (move,) = events(app, event_type="ticket.state_changed")
    assert (move.actor_user_id, move.actor_kind) == (at.integration["bot_user_id"], "bot")
    assert move.receipt is None
    assert len(events(app, event_type="ticket.link_added")) == 1
    assert len(events(app, event_type="ticket.link_changed")) == 5


@pytest.mark.parametrize("forge", FORGES)
def test_a_push_links_its_branch_and_its_commits(cast, forge):
    at = Connected(cast, forge)
    messages = ("OPEN-1: Mend it\n\nAt last.", "Nothing", "See OPEN-1 and XOPEN-1")
    assert at.deliver(push(forge, "open-1-mend-it", *messages)) == "3 linked"
    assert [(link["kind"], link["title"]) for link in at.links()] == [
        ("branch", "open-1-mend-it"),
        ("commit", "OPEN-1: Mend it"),
        ("commit", "See OPEN-1 and XOPEN-1"),
    ]
    way = {"github": "tree", "gitlab": "-/tree"}.get(forge, "src/branch")
    assert at.links()[0]["url"] == f"{HOME[forge]}/{way}/open-1-mend-it"
    assert at.state() == "Backlog"


def test_what_closes_unmerged_reopens_and_is_not_named_any_more(cast):
    at = Connected(cast)
    at.deliver(pull_request("github", 1, title="OPEN-1 Mend it", body="fixes OPEN-1"))
    closed = pull_request("github", 2, title="Mend it", action="closed", state="closed")
    assert at.deliver(closed) == "1 updated"
    assert shown(at.links()[0])[:3] == ("Mend it", "pull_request", "closed")
    assert at.state() == "Backlog"
    at.deliver(pull_request("github", 3, title="Mend it", action="reopened"))
    assert at.links()[0]["state"] == "open"
    # A ticket that it no longer claims to fix does not move.
    at.deliver(pull_request("github", 4, title="Mend it", action="closed", state="merged"))
    assert (at.links()[0]["state"], at.state()) == ("merged", "Backlog")


def test_only_a_merge_into_the_default_branch_moves(cast):
    at = Connected(cast)
    merged = pull_request(
        "github", 1, body="closes OPEN-1", action="closed", state="merged", base="stacked"
    )
    assert at.deliver(merged) == "1 linked"
    assert at.state() == "Backlog"


def test_a_link_that_an_agent_made_is_taken_over(cast):
    at = Connected(cast)
    address = {"url": f"{HOME['github']}/pull/5", "title": "Mine"}
    ok(cast.smith.post("/tickets/OPEN-1/links", address), 201)
    assert at.deliver(pull_request("github", 1, body="OPEN-1")) == "1 updated"
    (link,) = at.links()
    assert (link["title"], link["state"]) == ("Mend the lamp", "open")
    assert link["created_by_user_id"] == cast.smith.user_id


def test_a_link_that_was_removed_stays_away(cast):
    at = Connected(cast)
    at.deliver(pull_request("github", 1, body="OPEN-1"))
    ok(cast.ada.delete(f"/tickets/OPEN-1/links/{at.links()[0]['id']}"), 204)
    assert at.deliver(pull_request("github", 2, body="OPEN-1", action="edited")) == "Nothing to do"
    assert at.links() == []


def test_a_moved_ticket_is_not_moved_again(cast):
    at = Connected(cast)
    merged = pull_request("github", 1, body="fixes OPEN-1", action="closed", state="merged")
    at.deliver(merged)
    first = ok(cast.ada.get(f"/projects/{cast.open_project}/workflow-states"))["data"][0]["id"]
    ok(cast.ada.post("/tickets/OPEN-1/transition", {"state_id": first}))
    merged[1]["number"] = 6
    assert at.deliver(merged) == "Nothing to do"
    assert at.state() == "Backlog"


def test_tickets_of_other_projects_are_as_if_they_were_not(cast, app):
    at = Connected(cast)
    make_ticket(cast.ada, cast.fenced_project)
    make_ticket(cast.ada, cast.open_project, "Gone")
    ok(cast.ada.delete("/tickets/OPEN-2"), 204)
    for name in ("FENCED-1", "FENCED-99", "OPEN-2", "NOPE-1", "UTF-8"):
        news = pull_request("github", 1, body=f"fixes {name}", action="closed", state="merged")
        assert at.deliver(news) == "Nothing to do"
    assert at.links("FENCED-1") == []
    assert events(app, event_type="auth.bot.write_attempt_outside_allowlist") == []


def test_at_most_twenty_tickets_of_a_delivery_are_linked(cast):
    at = Connected(cast)
    for _ in range(21):
        make_ticket(cast.ada, cast.open_project)
    names = " ".join(f"OPEN-{number}" for number in range(1, 23))
    assert at.deliver(pull_request("github", 1, body=names)) == "20 linked"
    assert at.deliver(push("github", "main", *(f"OPEN-{n}" for n in range(1, 23)))) == "20 linked"


def test_commits_leave_room_for_pull_requests(cast):
    at = Connected(cast)
    many = [f"OPEN-1 number {number}" for number in range(32)]
    assert at.deliver(push("github", "main", *many)) == "30 linked, 2 not linked"
    assert at.deliver(pull_request("github", 1, body="OPEN-1")) == "1 linked"


def test_a_pull_request_that_met_a_full_ticket_is_linked_once_there_is_room(cast):
    at = Connected(cast)
    for number in range(50):
        address = {"url": f"https://example.org/{number}"}
        link = ok(cast.ada.post("/tickets/OPEN-1/links", address), 201)
    assert at.deliver(pull_request("github", 1, body="OPEN-1")) == "1 not linked"
    ok(cast.ada.delete(f"/tickets/OPEN-1/links/{link['id']}"), 204)
    edited = pull_request("github", 2, body="OPEN-1", action="edited")
    assert at.deliver(edited) == "1 linked"
    assert [link["title"] for link in at.links()].count("Mend the lamp") == 1
    # One that a person removes stays away.
    ok(cast.ada.delete(f"/tickets/OPEN-1/links/{at.links()[-1]['id']}"), 204)
    again = pull_request("github", 3, body="OPEN-1", action="edited")
    assert at.deliver(again) == "Nothing to do"


def test_a_move_that_needs_a_person_is_left_to_one(cast):
    ok(cast.ada.patch(f"/projects/{cast.open_project}", {"sign_off": True}))
    at = Connected(cast)
    merged = pull_request("github", 1, body="fixes OPEN-1", action="closed", state="merged")
    assert at.deliver(merged) == "1 linked, 1 not moved"
    assert at.state() == "Backlog"


@pytest.mark.parametrize("forge", FORGES)
def test_no_delivery_moves_a_done_ticket_out_of_done(cast, forge):
    """Work waits for sign-off in the review state; a second merge leaves what was signed off."""
    at = Connected(cast, forge)
    states = state_ids(cast.ada, cast.open_project)
    review = [{"project_id": cast.open_project, "state_id": states[-2]}]
    ok(cast.ada.patch(f"/integrations/{at.integration['id']}", {"on_merge": review}))
    merge = {"body": "fixes OPEN-1", "action": "closed", "state": "merged"}
    assert at.deliver(pull_request(forge, 1, **merge)) == "1 linked, 1 moved"
    assert at.state() == "In review"
    ok(cast.ada.post("/tickets/OPEN-1/transition", {"state_id": states[-1]}))
    event, second = json.loads(json.dumps(pull_request(forge, 2, **merge)).replace("/5", "/6"))
    second.get("pull_request", second.get("object_attributes")).update(number=6, iid=6)
    assert at.deliver((event, second)) == "1 linked, 1 already done"
    for action, state in (("opened", "open"), ("reopened", "open"), ("closed", "closed")):
        at.deliver(pull_request(forge, 3, body="fixes OPEN-1", action=action, state=state))
    at.deliver(push(forge, "open-1-again", "fixes OPEN-1"))
    at.deliver(checked(forge, 4, "failure"))
    assert at.state() == "Done"


def test_a_merge_moves_a_done_ticket_to_another_done_state(cast):
    at = Connected(cast)
    released = {"name": "Released", "category": "done"}
    path = f"/projects/{cast.open_project}/workflow-states"
    state = ok(cast.ada.post(path, released), 201)["id"]
    moves = [{"project_id": cast.open_project, "state_id": state}]
    ok(cast.ada.patch(f"/integrations/{at.integration['id']}", {"on_merge": moves}))
    done = state_ids(cast.ada, cast.open_project)[-2]
    ok(cast.ada.post("/tickets/OPEN-1/transition", {"state_id": done}))
    merged = pull_request("github", 1, body="fixes OPEN-1", action="closed", state="merged")
    assert at.deliver(merged) == "1 linked, 1 moved"
    assert at.state() == "Released"


def test_what_strangers_write_reorders_no_line(cast):
    at = Connected(cast)
    event, payload = pull_request("github", 1, title="\u202eOPEN-1 \u2067Mend it\u2069")
    payload["pull_request"]["user"]["login"] = "gr\u202dace"
    assert at.deliver((event, payload)) == "1 linked"
    assert shown(at.links()[0])[0::4] == ("OPEN-1 Mend it", "grace")


def test_the_bot_has_the_fences_of_any_bot(cast, app):
    at = Connected(cast)
    bot = f"/bots/{at.integration['bot_user_id']}"
    news = pull_request("github", 1, body="OPEN-1")
    ok(cast.ada.patch(bot, {"mode": "read"}))
    refused(at.send(*news), 403, "auth.read_only_bot")
    assert events(app, event_type="auth.bot.write_attempt_in_read_mode")
    ok(cast.ada.patch(bot, {"mode": "write", "is_active": False}))
    refused(at.send(*news), 403, "auth.forbidden", reason="bot_inactive")
    ok(cast.ada.patch(bot, {"is_active": True}))
    # A refused delivery can be sent again.
    assert at.deliver(news) == "1 linked"


def test_a_delivery_is_read_again_once_the_integration_has_changed(cast):
    at = Connected(cast)
    make_ticket(cast.ada, cast.fenced_project)
    news = pull_request("github", 1, body="FENCED-1")
    assert at.deliver(news) == "Nothing to do"
    assert at.deliver(news) == "Received before"
    both = {"project_ids": [cast.open_project, cast.fenced_project]}
    ok(cast.ada.patch(f"/integrations/{at.integration['id']}", both))
    assert at.deliver(news) == "1 linked"


def test_an_address_that_is_not_https_is_not_linked(cast):
    at = Connected(cast)
    event, payload = pull_request("github", 1, body="OPEN-1")
    for wrong in ("http://github.example.org/o/r/pull/5", "javascript:alert(1)", "", None):
        payload["pull_request"]["html_url"] = wrong
        assert at.deliver((event, payload)) == "1 without an https address"
    assert at.links() == []
