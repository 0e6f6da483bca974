"""Only ``ready`` reveals that a ticket is blocked by one which a bot cannot see.

A fenced bot sends its requests before and after a hidden ticket blocks one of its own, in every way
in which a person can do that. All responses must be the same, except for the lists of ready
tickets, from which the ticket disappears.
"""

from itertools import product

import pytest

from tests.authorization.world import frozen
from tests.support.agent import Agent
from tests.support.story import make_ticket, ok, refused

READY = "ready=true"
ASKED = [
    "/tickets/{ticket}",
    "/tickets/{ticket}/relations",
    "/tickets/{ticket}/watchers",
    "/tickets/{ticket}/comments",
    "/tickets",
    f"/tickets?{READY}",
    f"/tickets?{READY}&limit=1",
    "/tickets?state_category=backlog",
    "/projects/{project}",
    "/projects/{project}/tickets",
    f"/projects/{{project}}/tickets?{READY}",
    "/search?q=wanted",
    "/users/me",
]
CALLED = [
    ("get_ticket", {"ticket": "{ticket}"}),
    ("get_project", {"project": "FENCED"}),
    ("list_tickets", {}),
    ("list_tickets", {"ready": True}),
    ("list_tickets", {"ready": True, "q": "wanted"}),
    ("search", {"q": "wanted"}),
]
CLAIM = {"ticket": "{ticket}", "assignee": "me", "expected_assignee": "none"}
# Writes that are tried and then rolled back.
TRIED = [
    ("update_ticket", CLAIM),
    ("transition_ticket", {"ticket": "{ticket}", "state": "In progress"}),
    ("transition_ticket", {"ticket": "{ticket}", "state": "Done"}),
    ("delete_ticket", {"ticket": "{ticket}"}),
]


class Reader:
    """The fenced bot, and the requests that it can send about one ticket."""

    def __init__(self, cast, ticket, monkeypatch):
        self.cast, self.monkeypatch = cast, monkeypatch
        self.names = {"ticket": ticket["display_id"], "project": cast.fenced_project}
        self.agent = Agent(cast.fenced)

    def _named(self, arguments):
        return {
            name: value.format(**self.names) if isinstance(value, str) else value
            for name, value in arguments.items()
        }

    def asks(self):
        """All responses, by request."""
        answers = {}
        for path in ASKED:
            answers[path] = ok(self.cast.fenced.get(path.format(**self.names)))
        for tool, arguments in CALLED:
            answers[tool, *arguments] = self.agent.call(tool, **self._named(arguments))
        uri = {"uri": f"ticket://{self.names['ticket']}"}
        answers["resource"] = self.agent.result("resources/read", uri)
        with frozen(self.monkeypatch):
            for tool, arguments in TRIED:
                found = self.agent.result(
                    "tools/call", {"name": tool, "arguments": self._named(arguments)}
                )
                answers[tool, *arguments.items()] = (
                    found["isError"],
                    without_times(found["structuredContent"]),
                )
        return answers

    def feeds(self):
        """The relation events in the feeds, without their actors and times."""
        paths = (f"/tickets/{self.names['ticket']}", f"/projects/{self.names['project']}")
        rows = [
            row for path in paths for row in ok(self.cast.fenced.get(f"{path}/activity"))["data"]
        ]
        return [row["payload"] for row in rows if row["event_type"].startswith("ticket.relation")]


def without_times(shown):
    return {
        name: value
        for name, value in shown.items()
        if name not in ("updated_at", "etag", "event_ids")
    }


@pytest.fixture(name="hidden")
def _hidden(cast):
    return make_ticket(cast.ada, cast.open_project, "Hidden")


@pytest.fixture(name="ticket")
def _ticket(cast):
    make_ticket(cast.ada, cast.fenced_project, "Another wanted")
    return make_ticket(cast.ada, cast.fenced_project, "A wanted")


def block(cast, hidden, ticket):
    """Let a person block this ticket with the hidden one; return the relation's id."""
    body = {"type": "blocks", "target_ticket_id": ticket["id"]}
    return ok(cast.ada.post(f"/tickets/{hidden['id']}/relations", body), 201)["id"]


def test_what_a_hidden_ticket_blocks_is_not_ready_and_looks_as_it_did(
    cast, hidden, ticket, monkeypatch
):
    reader = Reader(cast, ticket, monkeypatch)
    before = reader.asks()
    block(cast, hidden, ticket)
    after = reader.asks()
    differ = {asked for asked, answer in before.items() if after[asked] != answer}
    assert differ == {
        *(path for path in ASKED if READY in path),
        ("list_tickets", "ready"),
        ("list_tickets", "ready", "q"),
    }
    for asked in differ:
        rows, left = before[asked]["data"], after[asked]["data"]
        if "limit" not in asked:
            assert left == [row for row in rows if row["id"] != ticket["id"]]
    assert reader.feeds() == []


@pytest.mark.parametrize("end", ["hidden", "ticket"])
def test_a_hidden_blocker_that_goes_says_not_that_it_blocked(
    cast, hidden, ticket, monkeypatch, end
):
    """The feed of the ticket at which the relation was removed has the event without details."""
    reader = Reader(cast, ticket, monkeypatch)
    before = reader.asks()
    relation = block(cast, hidden, ticket)
    by = {"hidden": hidden, "ticket": ticket}[end]
    ok(cast.ada.delete(f"/tickets/{by['id']}/relations/{relation}"), 204)
    assert reader.asks() == before
    for payload in reader.feeds():
        assert payload["type"] is None
        assert payload["relation_id"] is None
        assert payload["source_ticket_id"] is payload["source_display_id"] is None


@pytest.mark.parametrize("kind", ["blocks", "relates_to", "duplicates"])
def test_how_a_ticket_is_related_to_a_hidden_one_is_told_to_nobody(cast, hidden, ticket, kind):
    body = {"type": kind, "target_ticket_id": hidden["id"]}
    ok(cast.ada.post(f"/tickets/{ticket['id']}/relations", body), 201)
    shown = ok(cast.fenced.get(f"/tickets/{ticket['id']}/activity"))["data"][0]
    assert shown["event_type"] == "ticket.relation_added"
    assert (shown["payload"]["type"], shown["payload"]["relation_id"]) == (None, None)
    assert shown["payload"]["source_ticket_id"] == ticket["id"]
    # Callers who see both tickets read all of it.
    for caller, path in product(
        (cast.ada, cast.scout), ("/tickets/{ticket}", "/projects/{project}")
    ):
        address = path.format(ticket=ticket["id"], project=cast.fenced_project)
        rows = ok(caller.get(f"{address}/activity"))["data"]
        assert rows[0]["payload"]["type"] == kind


def test_a_visible_blocker_is_told(cast, ticket):
    blocker = make_ticket(cast.ada, cast.fenced_project, "Visible")
    relation = block(cast, blocker, ticket)
    ok(cast.ada.delete(f"/tickets/{ticket['id']}/relations/{relation}"), 204)
    shown = ok(cast.fenced.get(f"/tickets/{ticket['id']}/activity"))["data"][0]
    assert shown["payload"]["type"] == "blocks"
    assert shown["payload"]["relation_id"] == relation


def test_a_circle_through_hidden_tickets_is_refused_in_the_words_of_any_other(cast, hidden, ticket):
    first = make_ticket(cast.ada, cast.fenced_project, "First")
    block(cast, first, hidden)
    block(cast, hidden, ticket)
    seen = make_ticket(cast.ada, cast.fenced_project, "Seen")
    block(cast, seen, ticket)

    def circle(target):
        body = {"type": "blocks", "target_ticket_id": target["id"]}
        answer = cast.fenced.post(f"/tickets/{ticket['id']}/relations", body)
        error = refused(answer, 409, "resource.conflict", reason="invariant_violation")
        return {name: value for name, value in error.items() if name != "request_id"}

    assert circle(first) == circle(seen)
    assert hidden["display_id"] not in str(circle(first))
