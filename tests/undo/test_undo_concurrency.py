"""Undo by several people at once, or during other changes."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from app.core.errors import Conflict
from app.undo.service import Ending, undo_event
from tests.support.cast import in_app

LONG = "one\n\ntwo\n"


def at_once(count, work):
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(work, range(count)))


def test_of_many_who_undo_the_same_one_writes(world):
    world.smith("PATCH", "/tickets/{t}", {"priority": "low"})
    event = world.last("ticket.updated")["id"]
    outcomes = at_once(16, lambda _: in_app(world.app, lambda: undo_event(world.ada, event).ending))
    assert Counter(outcomes) == {Ending.DONE: 1, Ending.NOTHING_LEFT: 15}
    assert len(world.events("ticket.updated")) == 2


def test_an_undo_and_a_change_at_once_lose_nothing(world):
    """Either the undo is first and the change remains, or the undo sees the change and asks."""
    for _ in range(8):
        world.smith("PATCH", "/tickets/{t}", {"priority": "low"})
        event = world.last("ticket.updated")["id"]

        def work(number, event=event):
            if number:
                return world.cast.bo.patch(f"/tickets/{world.ticket}", {"priority": "high"})
            return in_app(world.app, lambda: undo_event(world.ada, event).ending)

        ending, _ = at_once(2, work)
        assert world.now()["priority"] == "high", ending
        assert ending in (Ending.DONE, Ending.CHANGED_SINCE)
        world.cast.ada.patch(f"/tickets/{world.ticket}", {"priority": "medium"})


def test_of_many_who_undo_the_same_removal_one_relates_again(world):
    other = world.make("Another")
    relation = {"type": "relates_to", "target_ticket_id": other}
    world.smith("POST", "/tickets/{t}/relations", relation)
    world.undo("ticket.relation_added")
    event = world.last("ticket.relation_removed")["id"]

    def work(_):
        try:
            return in_app(world.app, lambda: undo_event(world.ada, event).ending)
        except Conflict:
            return "exists"

    endings = Counter(at_once(8, work))
    assert endings[Ending.DONE] == 1
    found = world.cast.ada.get(f"/tickets/{world.ticket}/relations").json["data"]
    assert len(found) == 1
