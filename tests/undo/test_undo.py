"""Undo: what a person can take back, when it asks, and what it never does."""

import pytest

from app.audit.event_types import REVERSIBLE, UNDO_OF
from app.audit.service import undo_of
from app.core.actor import Actor, ActorKind
from app.core.errors import Conflict, Forbidden, InvalidField, NotFound
from app.undo.service import REVERSALS, Ending, undo_event, undo_request
from tests.support.cases import cases
from tests.support.cast import in_app

LONG = "one\n\ntwo\n"


def test_the_event_types_and_the_table_are_the_same():
    assert set(REVERSALS) == REVERSIBLE


@cases(
    "field, value",
    [
        ("title", "Another title"),
        ("body", LONG),
        ("priority", "urgent"),
        ("due_date", "2031-01-02"),
    ],
)
def test_a_field_that_a_bot_changed_is_put_back_by_an_ordinary_write(world, field, value):
    before = world.now()[field]
    world.smith("PATCH", "/tickets/{t}", {field: value})
    changed = world.last("ticket.updated")
    assert world.undo("ticket.updated").is_done
    assert world.now()[field] == before
    event = world.last("ticket.updated")
    assert event["actor"]["username"] == "ada"
    assert event["payload"]["changes"] == {field: {"from": value, "to": before}}
    assert event["payload"][UNDO_OF] == changed["id"]


def test_an_undo_can_be_undone(world):
    world.smith("PATCH", "/tickets/{t}", {"priority": "low"})
    world.undo("ticket.updated")
    world.undo("ticket.updated")
    assert world.now()["priority"] == "low"


def test_a_value_that_changed_since_is_named_and_kept_unless_one_insists(world):
    world.smith("PATCH", "/tickets/{t}", {"priority": "low", "title": "By the bot"})
    world.cast.bo.patch(f"/tickets/{world.ticket}", {"title": "By Bo"})
    event = world.events("ticket.updated")[1]
    count = len(world.events())
    outcome = in_app(world.app, lambda: undo_event(world.ada, event["id"]))
    assert outcome.ending is Ending.CHANGED_SINCE
    (difference,) = outcome.differences
    assert (difference.field, difference.back, difference.left, difference.now) == (
        "title",
        "A ticket",
        "By the bot",
        "By Bo",
    )
    # Nothing was written, not even the field that nobody changed since.
    assert (world.now()["priority"], len(world.events())) == ("low", count)
    forced = in_app(world.app, lambda: undo_event(world.ada, event["id"], force=True))
    assert forced.is_done
    assert (world.now()["title"], world.now()["priority"]) == ("A ticket", "medium")


def test_what_is_back_already_is_not_written_again(world):
    world.smith("PATCH", "/tickets/{t}", {"priority": "low"})
    world.undo("ticket.updated")
    before = len(world.events())
    event = world.events("ticket.updated")[1]
    outcome = in_app(world.app, lambda: undo_event(world.ada, event["id"], force=True))
    assert outcome.ending is Ending.NOTHING_LEFT
    assert len(world.events()) == before


def test_labels_go_back_one_by_one(world):
    labels = [
        world.cast.ada.post(f"{world.project}/labels", {"name": name}).json["id"]
        for name in ("old", "new", "later")
    ]
    world.cast.ada.patch(f"/tickets/{world.ticket}", {"label_ids": labels[:1]})
    world.smith("PATCH", "/tickets/{t}", {"label_ids": labels[1:2]})
    event = world.last("ticket.updated")
    world.cast.bo.patch(f"/tickets/{world.ticket}", {"label_ids": labels[1:]})
    assert in_app(world.app, lambda: undo_event(world.ada, event["id"])).is_done
    assert {one["name"] for one in world.now()["labels"]} == {"old", "later"}


def test_a_label_that_is_gone_does_not_come_back(world):
    label = world.cast.ada.post(f"{world.project}/labels", {"name": "gone"}).json["id"]
    world.cast.ada.patch(f"/tickets/{world.ticket}", {"label_ids": [label]})
    world.smith("PATCH", "/tickets/{t}", {"label_ids": []})
    world.cast.ada.delete(f"{world.project}/labels/{label}")
    assert world.undo("ticket.updated").ending is Ending.NOTHING_LEFT


def test_a_move_goes_back(world):
    known = world.states()
    world.smith("POST", "/tickets/{t}/transition", {"state_id": known["Done"]})
    assert world.undo("ticket.state_changed").is_done
    assert world.now()["state"]["name"] == "Backlog"


def test_a_move_out_of_a_state_that_is_gone_cannot(world):
    made = world.cast.ada.post(
        f"{world.project}/workflow-states", {"name": "Short", "category": "active"}
    ).json["id"]
    world.smith("POST", "/tickets/{t}/transition", {"state_id": made})
    world.smith("POST", "/tickets/{t}/transition", {"state_id": world.states()["Done"]})
    assert world.cast.ada.delete(f"{world.project}/workflow-states/{made}").status_code == 204
    with pytest.raises(Conflict, match="no longer exists"):
        world.undo("ticket.state_changed")


def test_an_assignment_goes_back_to_whoever_had_it(world):
    world.cast.ada.patch(f"/tickets/{world.ticket}", {"assignee_user_id": world.cast.bo.user_id})
    world.smith("PATCH", "/tickets/{t}", {"assignee_user_id": world.cast.smith.user_id})
    assert world.undo("ticket.assigned").is_done
    assert world.now()["assignee"]["username"] == "bo"
    first = world.events("ticket.assigned")[-1]
    outcome = in_app(world.app, lambda: undo_event(world.ada, first["id"]))
    assert outcome.is_done
    assert world.now()["assignee"] is None


def test_a_rule_that_forbids_it_now_refuses(world):
    world.cast.ada.patch(f"/tickets/{world.ticket}", {"assignee_user_id": world.cast.bo.user_id})
    world.smith("PATCH", "/tickets/{t}", {"assignee_user_id": None})
    world.cast.ada.patch(f"/users/{world.cast.bo.user_id}", {"is_active": False})
    with pytest.raises(InvalidField):
        world.undo("ticket.updated")
    assert world.now()["assignee"] is None


def test_a_new_ticket_is_deleted_and_comes_back(world):
    made = world.make("By the bot", world.cast.smith)
    assert world.undo("ticket.created").is_done
    assert world.cast.ada.get(f"/tickets/{made}").status_code == 410
    assert world.undo("ticket.deleted").is_done
    assert world.now(made)["title"] == "By the bot"
    assert world.undo("ticket.restored").is_done
    assert world.cast.ada.get(f"/tickets/{made}").status_code == 410


def test_a_new_ticket_that_others_worked_on_is_not_deleted_unasked(world):
    made = world.make("By the bot", world.cast.smith)
    world.cast.bo.post(f"/tickets/{made}/comments", {"body": "Mine."})
    outcome = world.undo("ticket.created")
    assert outcome.ending is Ending.CHANGED_SINCE
    assert outcome.differences[0].now == 1
    assert world.now(made)["id"] == made
    assert world.undo("ticket.created", force=True).is_done


def test_watchers_and_relations(world):
    other = world.make("Another")
    world.smith("POST", "/tickets/{t}/watchers", {})
    relation = {"type": "blocks", "target_ticket_id": other}
    world.smith("POST", "/tickets/{t}/relations", relation)
    for kind in ("ticket.watcher_added", "ticket.relation_added"):
        assert world.undo(kind).is_done
        assert world.undo(kind).ending is Ending.NOTHING_LEFT
    path = f"/tickets/{world.ticket}"
    assert world.cast.ada.get(f"{path}/watchers").json["data"] == []
    assert world.cast.ada.get(f"{path}/relations").json["data"] == []
    for kind in ("ticket.watcher_removed", "ticket.relation_removed"):
        assert world.undo(kind).is_done
    (watcher,) = world.cast.ada.get(f"{path}/watchers").json["data"]
    assert watcher["user"]["username"] == "smith"
    (made,) = world.cast.ada.get(f"{path}/relations").json["data"]
    assert (made["type"], made["direction"]) == ("blocks", "outgoing")
    # The relation has a new id; undoing its creation finds it anyway.
    first = world.events("ticket.relation_added")[-1]
    assert in_app(world.app, lambda: undo_event(world.ada, first["id"])).is_done


def test_links(world):
    address = {"url": "https://example.org/1", "title": "The build", "kind": "branch"}
    path = f"/tickets/{world.ticket}/links"
    world.smith("POST", "/tickets/{t}/links", address)
    assert world.undo("ticket.link_added").is_done
    assert world.undo("ticket.link_added").ending is Ending.NOTHING_LEFT
    assert world.cast.ada.get(path).json["data"] == []
    assert world.undo("ticket.link_removed").is_done
    assert world.undo("ticket.link_removed").ending is Ending.NOTHING_LEFT
    (back,) = world.cast.ada.get(path).json["data"]
    assert {name: back[name] for name in address} == address


def test_a_relation_that_would_make_a_circle_by_now_is_refused(world):
    other = world.make("Another")
    relation = {"type": "blocks", "target_ticket_id": other}
    world.smith("POST", "/tickets/{t}/relations", relation)
    world.undo("ticket.relation_added")
    back = {"type": "blocks", "target_ticket_id": world.ticket}
    assert world.cast.bo.post(f"/tickets/{other}/relations", back).status_code == 201
    with pytest.raises(Conflict, match="block each other"):
        world.undo("ticket.relation_removed")


def test_only_people_undo(world, cast):
    world.smith("PATCH", "/tickets/{t}", {"priority": "low"})
    bot = Actor(kind=ActorKind.BOT, user_id=cast.smith.user_id, username="smith")
    request = world.last("ticket.updated")["request_id"]
    with pytest.raises(Forbidden, match="Only people can do this"):
        world.undo("ticket.updated", actor=bot)
    with pytest.raises(Forbidden, match="Only people can do this"):
        in_app(world.app, lambda: undo_request(bot, request))
    assert world.now()["priority"] == "low"


@pytest.mark.parametrize("reference", ["", "none", "00000000-0000-7000-8000-000000000009"])
def test_what_is_not_there(world, reference):
    with pytest.raises(NotFound):
        in_app(world.app, lambda: undo_event(world.ada, reference))
    with pytest.raises(NotFound):
        in_app(world.app, lambda: undo_request(world.ada, reference))


def test_what_cannot_be_undone_says_so(world):
    with pytest.raises(Conflict, match="cannot be undone"):
        world.undo("project.created")


def test_nothing_else_is_named_an_undo(world):
    world.smith("PATCH", "/tickets/{t}", {"priority": "low"})
    world.undo("ticket.updated")
    assert undo_of.get() is None
    world.smith("PATCH", "/tickets/{t}", {"priority": "high"})
    assert UNDO_OF not in world.last("ticket.updated")["payload"]


def test_a_ticket_that_was_placed_by_hand_goes_back(world):
    world.smith("POST", f"/projects/{world.cast.open_project}/tickets", {"title": "Another"})
    before = world.now()["rank"]
    world.smith("PATCH", "/tickets/{t}", {"rank_after": None})
    assert world.now()["rank"] > before
    assert world.undo("ticket.updated").is_done
    assert world.now()["rank"] == before
