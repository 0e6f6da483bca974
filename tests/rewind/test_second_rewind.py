"""One rewind takes back everything that it can; a second one changes nothing."""

import pytest

from app.core.actor import Actor, ActorKind
from app.core.clock import iso, now_ms
from app.rewind.service import Fate
from app.tickets.service import restore_comment, restore_ticket
from app.wiki.service import restore_page
from tests.support.cast import in_app
from tests.support.story import events, ok


@pytest.fixture
def smith(world):
    return Actor(kind=ActorKind.BOT, user_id=world.cast.smith.user_id, username="smith")


@pytest.fixture
def restore(world, smith):
    """Restore a ticket as the bot that deleted it."""

    def run(ticket):
        in_app(world.app, lambda: restore_ticket(smith, ticket))

    return run


@pytest.fixture(params=[50, 1], ids=["one step", "a step for each change"])
def rewind(request, world, monkeypatch):
    """Rewind over REST and compare it with its preview; return what was put back and kept.

    A second rewind must change nothing, and kept values must be listed.
    """
    monkeypatch.setattr("app.rewind.service.BATCH", request.param)
    path = f"/users/{world.cast.smith.user_id}/rewind"
    span = {}

    def steps():
        body, back, kept = dict(span), 0, 0
        while True:
            step = ok(world.cast.ada.post(path, body))
            back, kept = back + step["put_back_count"], kept + step["kept_count"]
            body |= {name: step[name] for name in ("until", "beyond")}
            if step["beyond"] is None:
                return back, kept

    def run():
        span.update(since=iso(world.since), until=iso(now_ms() + 1))
        query = f"?since={span['since']}&until={span['until']}"
        foreseen = ok(world.cast.ada.get(path + query))
        first = steps()
        assert (foreseen["put_back_count"], foreseen["kept_count"]) == first
        before = len(events(world.app))
        assert steps() == (0, first[1])
        assert len(events(world.app)) == before
        assert len(ok(world.cast.ada.get(f"{path}/kept{query}"))["data"]) == first[1]
        return first

    return run


def begin(world):
    """Start the span of the rewind after everything written so far."""
    world.since = events(world.app)[-1].created_at + 1
    while now_ms() < world.since:
        pass


def delete(caller, path):
    answer = caller.delete(path)
    assert answer.status_code == 204, answer.json


def relate(world, call, source, target):
    path = f"/tickets/{source}/relations"
    return call("POST", path, type="blocks", target_ticket_id=target)["id"]


def related(world, ticket):
    return len(world.now(f"/tickets/{ticket}/relations")["data"])


def is_there(world, ticket):
    return world.cast.ada.get(f"/tickets/{ticket}").status_code == 200


def test_an_epic_that_the_bot_deleted_and_restored_goes_with_its_story(world, rewind, restore):
    epic = world.make(world.cast.smith, "Epic", type="epic")
    story = world.make(world.cast.smith, "Story", parent_ticket_id=epic)
    delete(world.cast.smith, f"/tickets/{epic}")
    restore(epic)
    delete(world.cast.smith, f"/tickets/{story}")
    assert rewind()[1] == 0
    assert not is_there(world, epic)
    assert not is_there(world, story)


@pytest.mark.parametrize("end", [0, 1])
def test_a_ticket_that_the_bot_deleted_and_restored_goes_with_its_relation(
    world, rewind, restore, end
):
    ends = [world.make(world.cast.smith, title) for title in ("Source", "Target")]
    relation = relate(world, world.smith, *ends)
    delete(world.cast.smith, f"/tickets/{ends[end]}")
    restore(ends[end])
    delete(world.cast.smith, f"/tickets/{ends[0]}/relations/{relation}")
    assert rewind()[1] == 0
    assert not any(is_there(world, one) for one in ends)


def test_a_deletion_and_its_restore_cancel_out(world, rewind, restore, smith):
    """Regardless of others' relations to it and their later writes."""
    relate(world, world.bo, world.ticket, world.make(world.cast.bo, "Other"))
    comments = f"/tickets/{world.ticket}/comments"
    begin(world)
    comment = world.smith("POST", comments, body="Words")["id"]
    page = world.bo("POST", "/wiki/pages", title="Page", project_id=world.cast.open_project)["id"]
    for path in (f"/comments/{comment}", f"/tickets/{world.ticket}", f"/wiki/pages/{page}"):
        delete(world.cast.smith, path)
        if path.startswith("/comments"):
            in_app(world.app, lambda: restore_comment(smith, comment))
    restore(world.ticket)
    in_app(world.app, lambda: restore_page(smith, page))
    world.bo("PATCH", f"/tickets/{world.ticket}", priority="low")
    world.bo("PATCH", f"/wiki/pages/{page}", body="By Bo")
    assert rewind() == (1, 0)
    assert world.now()["priority"] == "low"
    assert world.now(comments)["data"] == []


def test_a_restore_of_what_a_person_deleted_before_is_taken_back(world, rewind, restore):
    """Also with a relation that is older than the restore."""
    relate(world, world.bo, world.ticket, world.make(world.cast.bo, "Other"))
    delete(world.cast.smith, f"/tickets/{world.ticket}")
    begin(world)
    restore(world.ticket)
    assert rewind() == (1, 0)
    assert not is_there(world, world.ticket)


def test_a_deleted_parent_comes_back_before_its_child_returns_to_it(world, rewind):
    epic = world.make(world.cast.ada, "Epic", type="epic")
    world.bo("PATCH", f"/tickets/{world.ticket}", parent_ticket_id=epic)
    delete(world.cast.smith, f"/tickets/{epic}")
    world.smith("PATCH", f"/tickets/{world.ticket}", parent_ticket_id=None)
    assert rewind() == (2, 0)
    assert world.now()["parent_ticket_id"] == epic


def test_an_epic_that_the_bot_replaced_comes_back_and_the_new_one_goes(world, rewind):
    epic = world.make(world.cast.ada, "Epic", type="epic")
    world.bo("PATCH", f"/tickets/{world.ticket}", parent_ticket_id=epic)
    delete(world.cast.smith, f"/tickets/{epic}")
    other = world.make(world.cast.smith, "Other epic", type="epic")
    world.smith("PATCH", f"/tickets/{world.ticket}", parent_ticket_id=other)
    assert rewind() == (3, 0)
    assert world.now()["parent_ticket_id"] == epic
    assert not is_there(world, other)


def test_a_relation_that_was_removed_at_its_other_end_comes_back(world, rewind):
    other = world.make(world.cast.ada, "Other")
    relation = relate(world, world.bo, world.ticket, other)
    delete(world.cast.smith, f"/tickets/{world.ticket}")
    delete(world.cast.smith, f"/tickets/{other}/relations/{relation}")
    assert rewind() == (2, 0)
    assert related(world, other) == 1


def test_a_relation_of_a_ticket_that_stays_deleted_is_listed(world, rewind):
    other = world.make(world.cast.ada, "Other")
    relation = relate(world, world.bo, world.ticket, other)
    delete(world.cast.bo, f"/tickets/{world.ticket}")
    delete(world.cast.smith, f"/tickets/{other}/relations/{relation}")
    assert rewind() == (0, 1)
    (kept,) = world.kept()
    assert kept.why == "The ticket was deleted."


def test_a_parent_goes_once_nothing_below_it_is_left(world):
    """The story cannot return to its epic, and keeps the other one until the story is deleted."""
    epic = world.make(world.cast.ada, "Epic", type="epic")
    story = world.make(world.cast.smith, "Story", parent_ticket_id=epic)
    other = world.make(world.cast.smith, "Other epic", type="epic")
    world.smith("PATCH", f"/tickets/{story}", parent_ticket_id=other)
    delete(world.cast.ada, f"/tickets/{epic}")
    world.rewind()
    assert not is_there(world, story)
    assert not is_there(world, other)
    assert not [value for value in world.rewind() if value.fate in (Fate.BACK, Fate.KEPT)]


def test_a_value_that_an_earlier_change_put_back_is_done(world):
    """Even if the change in between could not be put back at the time."""
    epics = [world.make(world.cast.ada, title, type="epic") for title in ("One", "Two", "Three")]
    path = f"/tickets/{world.ticket}"
    world.bo("PATCH", path, parent_ticket_id=epics[0])
    for epic in epics[1:]:
        world.smith("PATCH", path, parent_ticket_id=epic)
    delete(world.cast.ada, f"/tickets/{epics[1]}")
    world.rewind()
    assert world.now()["parent_ticket_id"] == epics[0]
    in_app(world.app, lambda: restore_ticket(world.ada, epics[1]))
    assert not [value for value in world.rewind() if value.fate in (Fate.BACK, Fate.KEPT)]
    assert world.now()["parent_ticket_id"] == epics[0]


def test_a_rewind_that_starts_over_repeats_nothing(world, monkeypatch):
    monkeypatch.setattr("app.rewind.service.BATCH", 1)
    path = f"/users/{world.cast.smith.user_id}/rewind"
    for values in ({"priority": "low"}, {"title": "One"}, {"title": "Two"}):
        world.smith("PATCH", f"/tickets/{world.ticket}", **values)
    span = {"since": iso(world.since), "until": iso(now_ms() + 1)}
    first = ok(world.cast.ada.post(path, span))
    ok(world.cast.ada.post(path, span | {"beyond": first["beyond"]}))
    again = ok(world.cast.ada.post(path, span))
    assert (again["put_back_count"], world.now()["title"]) == (0, "A ticket")
