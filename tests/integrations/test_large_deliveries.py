"""Deliveries that name many tickets many times, and let other writers wait only briefly."""

import pytest

from tests.integrations.deliveries import Connected, checked, pull_request, push
from tests.support.statements import statements
from tests.support.story import events, make_ticket

NAMES = [f"OPEN-{number}" for number in range(1, 21)]
# An event for each of 200 links; reading and locking 20 tickets; the rest, for all together.
LIMIT = 400


@pytest.fixture(name="at")
def _at(cast):
    for _ in NAMES:
        make_ticket(cast.ada, cast.open_project)
    return Connected(cast)


def pull_requests(count):
    """Of one commit; each names all tickets."""
    for number in range(101, 101 + count):
        event, payload = pull_request("github", 1, body=" ".join(NAMES))
        payload["number"] = payload["pull_request"]["number"] = number
        payload["pull_request"]["html_url"] += str(number)
        yield event, payload


def test_a_push_of_many_commits_changes_two_hundred_links(at, app):
    many = [f"{' '.join(NAMES)} change {number}" for number in range(100)]
    with statements(app) as seen:
        assert at.deliver(push("github", "main", *many)) == "200 linked, 1800 left out"
    assert len(seen) <= LIMIT
    assert len(events(app, event_type="ticket.link_added")) == 200
    assert {len(at.links(name)) for name in NAMES} == {10}
    # The same commits in another delivery: what was left out follows, up to 30 for each ticket.
    for branch, outcome in (
        ("a", "200 linked, 1600 left out"),
        ("b", "200 linked, 1400 left out"),
        ("c", "1400 not linked"),
    ):
        with statements(app) as seen:
            assert at.deliver(push("github", branch, *many)) == outcome
        assert len(seen) <= LIMIT


def test_a_repeated_push_changes_nothing(at, app):
    many = [f"{NAMES[number % 20]} change {number}" for number in range(100)]
    assert at.deliver(push("github", "main", *many)) == "100 linked"
    with statements(app) as seen:
        assert at.deliver(push("github", "other", *many)) == "Nothing to do"
    assert len(seen) <= 30


def test_a_check_of_many_pull_requests_changes_two_hundred_links(at, app):
    assert {at.deliver(one) for one in pull_requests(12)} == {"20 linked"}
    with statements(app) as seen:
        assert at.deliver(checked("github", 2, "failure")) == "200 updated, 40 left out"
    assert len(seen) <= LIMIT
    # The same delivery brings the rest, as any later news about them does.
    assert at.deliver(checked("github", 2, "failure")) == "40 updated"
    assert {link["checks"] for name in NAMES for link in at.links(name)} == {"failing"}


def test_a_commit_or_an_address_twice_in_a_push_is_one_link(at, app):
    event, payload = push("github", "main", "OPEN-1 one", "OPEN-1 two")
    one, two = payload["commits"]
    payload["commits"] = [one, one, {**two, "url": one["url"]}]
    assert at.deliver((event, payload)) == "1 linked, 1 updated"
    (link,) = at.links()
    assert (link["title"], link["url"]) == ("OPEN-1 two", one["url"])
    (added,) = events(app, event_type="ticket.link_added")
    assert added.payload["title"] == "OPEN-1 one"
    (changed,) = events(app, event_type="ticket.link_changed")
    assert changed.payload["changes"] == {"title": {"from": "OPEN-1 one", "to": "OPEN-1 two"}}


def test_two_changes_can_swap_their_addresses(at):
    event, payload = push("github", "main", "OPEN-1 one", "OPEN-1 two")
    one, two = payload["commits"]
    assert at.deliver((event, payload)) == "2 linked"
    payload["ref"] = "refs/heads/other"
    moved = {**one, "url": f"{one['url']}?moved"}
    new = {**two, "id": two["id"][::-1], "url": one["url"], "message": "OPEN-1 three"}
    payload["commits"] = [moved, new]
    assert at.deliver((event, payload)) == "1 updated, 1 linked"
    assert {link["url"] for link in at.links()} == {moved["url"], two["url"], one["url"]}
