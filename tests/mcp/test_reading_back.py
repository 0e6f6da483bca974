"""Tools that read the history of a ticket and old texts of a page."""

import pytest

from tests.support.agent import Agent
from tests.support.cast import Cast
from tests.support.story import make_label, make_ticket


@pytest.fixture
def ticket(cast: Cast, ada):
    return make_ticket(ada, cast.open_project, title="Lamp", body="Old")


def test_history_has_from_and_to_in_words(smith: Agent, ada, cast, ticket):
    make_label(ada, cast.open_project, "ui")
    smith.call("update_ticket", ticket="OPEN-1", assignee="bo", add_labels=["ui"], body="x" * 2000)
    moved = smith.call("transition_ticket", ticket="OPEN-1", state="Done", comment="Fixed.")
    shown = smith.call("get_ticket", ticket="OPEN-1", history=True)
    comment, state, fields, assigned, created = shown["history"]
    assert state["event_id"] == moved["event_ids"][0]
    assert (state["by"], state["at"][:2]) == ("smith", "20")
    assert state["changes"] == [{"field": "state", "from": "Backlog", "to": "Done"}]
    assert assigned["changes"] == [{"field": "assignee", "from": None, "to": "bo"}]
    changes = {one["field"]: (one["from"], one["to"]) for one in fields["changes"]}
    assert changes["label_ids"] == ([], ["ui"])
    assert changes["body"] == ("Old", "x" * 1000 + "…")
    assert (comment["type"], comment["details"]["body"]) == ("comment.created", "Fixed.")
    assert (created["by"], created["details"]["title"]) == ("ada", "Lamp")
    assert shown["next_cursor"] is None
    short = smith.lean("get_ticket", ticket="OPEN-1", history=True)["history"]
    assert [row["at"] for row in short] == [f"{row['at'][:16]}Z" for row in shown["history"]]
    assert "history" not in smith.call("get_ticket", ticket="OPEN-1")


def test_history_is_bounded_and_goes_on(smith: Agent, ticket):
    for number in range(32):
        smith.call("update_ticket", ticket="OPEN-1", title=f"Lamp {number}")
    first = smith.call("get_ticket", ticket="OPEN-1", history=True)
    assert len(first["history"]) == 30
    rest = smith.call("get_ticket", ticket="OPEN-1", history=True, cursor=first["next_cursor"])
    assert [row["type"] for row in rest["history"]][-1] == "ticket.created"
    assert len(rest["history"]) == 3
    assert rest["next_cursor"] is None


def test_history_since_a_time(smith: Agent, ticket):
    smith.call("update_ticket", ticket="OPEN-1", title="Lamps")
    for since, count in (("2999-01-01T00:00:00Z", 0), ("2020-01-01T00:00:00Z", 2)):
        shown = smith.call("get_ticket", ticket="OPEN-1", history=True, since=since)
        assert len(shown["history"]) == count
    error = smith.refused("get_ticket", ticket="OPEN-1", since="2020-01-01T00:00:00Z")
    assert "history: true" in error["message"]
    error = smith.refused("get_ticket", ticket="OPEN-1", history=True, cursor="x")
    assert error["details"]["field"] == "cursor"


def test_history_names_no_hidden_ticket(smith: Agent, fenced: Agent, ada, cast):
    make_ticket(ada, cast.open_project, title="Hidden")
    make_ticket(ada, cast.fenced_project)
    smith.call("add_ticket_relation", ticket="FENCED-1", type="relates_to", target="OPEN-1")
    shown = fenced.call("get_ticket", ticket="FENCED-1", history=True)
    assert "OPEN-1" not in str(shown)
    assert "Hidden" not in str(shown)


def test_an_old_text_of_a_page_is_read_by_its_number(smith: Agent, fenced: Agent, cast):
    smith.call("create_wiki_page", project="OPEN", title="Lamps", body="One")
    smith.call("update_wiki_page", page="lamps", body="Two", summary="Better")
    old = smith.call("get_wiki_page", page="lamps", revision=1)
    assert (old["body"], old["revision_number"], old["author"]["username"]) == ("One", 1, "smith")
    assert smith.call("get_wiki_page", page="lamps", revision=2)["summary"] == "Better"
    assert smith.call("get_wiki_page", page="lamps", revision=1, body_limit=2)["body"] == "On"
    for number in (3, 2**31, 10**14, 0, -1, -1e20):
        error = smith.refused("get_wiki_page", page="lamps", revision=number)
        assert error["code"] == "resource.not_found"
    assert fenced.refused("get_wiki_page", page="lamps", revision=1)["code"] == "resource.not_found"
