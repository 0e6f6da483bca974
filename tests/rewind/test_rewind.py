"""Rewind, rule by rule: what is taken back, what is kept and why, and who may rewind."""

from functools import partial

import pytest

from app.audit.event_types import EVENTS, UNDO_OF
from app.core.actor import Actor, ActorKind
from app.core.clock import now_ms
from app.core.errors import Conflict, Forbidden, InvalidField, NotFound
from app.rewind.others import LogReading, OtherWrites
from app.rewind.service import WAYS, Fate, rewind_step
from app.undo.service import undo_event
from tests.support.cast import in_app
from tests.support.story import events


def test_everything_that_a_bot_can_write_is_taken_back():
    # All activity, the only thing that bots change, and labels, which imports create.
    by_bots = {name for name, kind in EVENTS.items() if kind.category == "activity"}
    assert set(WAYS) == by_bots | {"comment.reacted", "label.created"}


def test_fields_go_back_one_by_one_and_those_of_others_stand(world):
    path = f"/tickets/{world.ticket}"
    world.smith("PATCH", path, title="By the bot", priority="low")
    world.bo("PATCH", path, title="By Bo")
    (kept,) = world.kept()
    assert (kept.name, kept.back, kept.now) == ("title", "A ticket", "By Bo")
    assert kept.why.user_id == world.cast.bo.user_id
    now = world.now()
    assert (now["title"], now["priority"]) == ("By Bo", "medium")
    last = events(world.app, event_type="ticket.updated")[-1]
    assert last.actor_user_id == world.cast.ada.user_id
    assert last.payload[UNDO_OF] == kept.event_id


def test_a_value_that_others_changed_and_changed_back_stands_too(world):
    path = f"/tickets/{world.ticket}"
    world.smith("PATCH", path, title="By the bot")
    world.bo("PATCH", path, title="By Bo")
    world.bo("PATCH", path, title="By the bot")
    (kept,) = world.kept()
    assert kept.now == "By the bot"
    assert world.now()["title"] == "By the bot"


def test_what_stands_can_be_put_back_one_by_one(world):
    path = f"/tickets/{world.ticket}"
    world.smith("PATCH", path, title="By the bot", priority="low")
    world.bo("PATCH", path, title="By Bo", priority="high")
    title, priority = sorted(world.kept(), key=lambda value: value.name != "title")
    world.put_back(title)
    assert (world.now()["title"], world.now()["priority"]) == ("A ticket", "high")
    # It is decided, so it is no longer listed.
    assert [value.name for value in world.kept()] == [priority.name]


def test_only_values_of_the_scope_are_put_back(world):
    world.smith("PATCH", f"/tickets/{world.ticket}", title="By the bot")
    world.bo("PATCH", f"/tickets/{world.ticket}", title="By Bo")
    (kept,) = world.kept()
    of_bo = events(world.app, event_type="ticket.updated")[-1]
    for wrong in ({"event_id": of_bo.id}, {"name": "priority"}, {"event_id": "nothing"}):
        value = type("Value", (), {"event_id": kept.event_id, "name": "title", **wrong})
        with pytest.raises(NotFound):
            world.put_back(value)


def test_labels_are_sets(world):
    one, two, three = (
        world.call(world.cast.ada, "POST", f"{world.project}/labels", name=name)["id"]
        for name in ("one", "two", "three")
    )
    path = f"/tickets/{world.ticket}"
    world.bo("PATCH", path, label_ids=[one])
    world.smith("PATCH", path, label_ids=[two, three])
    world.bo("PATCH", path, label_ids=[two])
    assert world.kept() == []
    # Bo's removal of three is kept; the bot's two is removed, and one comes back.
    assert [label["id"] for label in world.now()["labels"]] == [one]


def test_what_others_wrote_on_is_not_deleted(world):
    used, unused = world.make(world.cast.smith, "Used"), world.make(world.cast.smith, "Unused")
    world.bo("POST", f"/tickets/{used}/comments", body="Mine")
    (kept,) = world.kept()
    assert (kept.name, kept.event_type) == ("exists", "ticket.created")
    assert world.cast.ada.get(f"/tickets/{used}").status_code == 200
    assert world.cast.ada.get(f"/tickets/{unused}").status_code == 410
    world.put_back(kept)
    assert world.cast.ada.get(f"/tickets/{used}").status_code == 410


def test_a_parent_of_what_stays_stays(world):
    epic = world.make(world.cast.smith, "Epic", type="epic")
    child = world.make(world.cast.smith, "Child", parent_ticket_id=epic)
    world.bo("POST", f"/tickets/{child}/comments", body="Mine")
    assert {value.subject[1]: value.why for value in world.kept()}[
        epic
    ] == "It still has subtickets."
    assert world.now(f"/tickets/{child}")["parent_ticket_id"] == epic


def test_what_a_bot_deleted_comes_back(world):
    page = world.call(
        world.cast.ada, "POST", "/wiki/pages", title="Page", project_id=world.cast.open_project
    )
    world.smith("PATCH", f"/tickets/{world.ticket}", title="Other")
    assert world.cast.smith.delete(f"/tickets/{world.ticket}").status_code == 204
    assert world.cast.smith.delete(f"/wiki/pages/{page['id']}").status_code == 204
    world.rewind()
    assert world.now()["title"] == "A ticket"
    assert world.now(f"/wiki/pages/{page['id']}")["title"] == "Page"


def test_a_note_comes_back_as_the_one_that_it_was(world):
    notes = f"{world.project}/sticky-notes"
    note = world.bo("POST", notes, body="Buy milk", color="#ffaa00")
    ticket = world.bo("POST", f"/sticky-notes/{note['id']}/convert-to-ticket")
    assert world.cast.smith.delete(f"/sticky-notes/{note['id']}").status_code == 204
    world.rewind()
    (back,) = world.now(notes)["data"]
    assert back["converted_to_ticket_id"] == ticket["id"]
    for name in ("id", "body", "color", "created_by_user_id", "created_at"):
        assert back[name] == note[name]


def test_a_conversion_is_taken_back(world):
    note = world.bo("POST", f"{world.project}/sticky-notes", body="Buy milk")
    ticket = world.smith("POST", f"/sticky-notes/{note['id']}/convert-to-ticket")
    world.rewind()
    (back,) = world.now(f"{world.project}/sticky-notes")["data"]
    assert back["converted_to_ticket_id"] is None
    assert world.cast.ada.get(f"/tickets/{ticket['id']}").status_code == 410


def test_a_bots_comment_gets_its_earlier_text_back(world):
    comments = f"/tickets/{world.ticket}/comments"
    comment = world.smith("POST", comments, body="First")
    world.since = max(
        world.since, events(world.app, event_type="comment.created")[-1].created_at + 1
    )
    world.smith("PATCH", f"/comments/{comment['id']}", body="Second")
    world.rewind()
    (back,) = world.now(comments)["data"]
    assert (back["body"], back["author"]["username"]) == ("First", "smith")


def test_a_reaction_and_a_watcher_go(world):
    comments = f"/tickets/{world.ticket}/comments"
    comment = world.bo("POST", comments, body="Words")
    assert (
        world.cast.smith.call("PUT", f"/comments/{comment['id']}/reactions/eyes").status_code < 300
    )
    world.smith("POST", f"/tickets/{world.ticket}/watchers")
    world.rewind()
    assert world.now(comments)["data"][0]["reactions"] == []
    assert world.now(f"/tickets/{world.ticket}/watchers")["data"] == []
    last = events(world.app, event_type="comment.reacted")[-1]
    assert (last.actor_user_id, last.payload["user_id"], last.payload["action"]) == (
        world.cast.ada.user_id,
        world.cast.smith.user_id,
        "removed",
    )


def test_links_go_and_come_back(world):
    links = f"/tickets/{world.ticket}/links"
    kept = world.bo("POST", links, url="https://example.org/kept", title="Kept")
    world.smith("POST", links, url="https://example.org/added")
    assert world.cast.smith.delete(f"{links}/{kept['id']}").status_code == 204
    world.rewind()
    (back,) = world.now(links)["data"]
    assert (back["url"], back["title"]) == (kept["url"], "Kept")


def test_what_a_verb_refuses_is_kept_with_its_reason(world):
    page = world.bo("POST", "/wiki/pages", title="Page", project_id=world.cast.open_project)
    assert world.cast.smith.delete(f"/wiki/pages/{page['id']}").status_code == 204
    world.bo("POST", "/wiki/pages", title="Page", project_id=world.cast.open_project)
    foreseen = [value for value in world.previewed() if value.fate is Fate.KEPT]
    (kept,) = world.kept()
    assert foreseen == [kept]
    assert kept.why == "Another page has the slug page."


def test_one_refused_field_does_not_keep_the_others(world):
    path = f"/tickets/{world.ticket}"
    epic = world.make(world.cast.bo, "Epic", type="epic")
    world.bo("PATCH", path, parent_ticket_id=epic)
    world.smith("PATCH", path, parent_ticket_id=None, priority="low")
    assert world.cast.bo.delete(f"/tickets/{epic}").status_code == 204
    (kept,) = world.kept()
    assert (kept.name, kept.why) == (
        "parent_ticket_id",
        "The parent must be a ticket in the same project.",
    )
    assert world.now()["priority"] == "medium"


def test_an_undo_by_hand_counts_with_what_it_undid(world):
    path = f"/tickets/{world.ticket}"
    world.smith("PATCH", path, priority="low")
    world.smith("PATCH", path, priority="high")
    event = events(world.app, event_type="ticket.updated")[-1]
    in_app(world.app, lambda: undo_event(world.ada, event.id))
    assert world.kept() == []
    assert world.now()["priority"] == "medium"


def test_a_rewind_that_was_undone_by_hand_is_not_done_again(world):
    world.smith("PATCH", f"/tickets/{world.ticket}", priority="low")
    world.rewind()
    event = events(world.app, event_type="ticket.updated")[-1]
    in_app(world.app, lambda: undo_event(world.ada, event.id))
    (kept,) = world.kept()
    assert kept.why.user_id == world.cast.ada.user_id
    assert world.now()["priority"] == "low"


def test_span_and_project_bound_it(world):
    there = world.call(
        world.cast.ada, "POST", f"/projects/{world.cast.fenced_project}/tickets", title="There"
    )
    world.smith("PATCH", f"/tickets/{world.ticket}", priority="low")
    world.smith("PATCH", f"/tickets/{there['id']}", priority="low")
    until = events(world.app, event_type="ticket.updated")[-2].created_at
    world.rewind(world.scope(until=until))
    assert world.now()["priority"] == "low"
    world.rewind(world.scope(project_id=world.cast.fenced_project))
    assert world.now()["priority"] == "low"
    assert world.now(f"/tickets/{there['id']}")["priority"] == "medium"


def test_what_the_bot_did_after_the_span_stands(world):
    path = f"/tickets/{world.ticket}"
    world.smith("PATCH", path, priority="low")
    world.smith("PATCH", path, priority="high")
    until = events(world.app, event_type="ticket.updated")[-1].created_at
    (kept,) = [one for one in world.rewind(world.scope(until=until)) if one.fate is Fate.KEPT]
    assert kept.why.user_id == world.cast.smith.user_id
    assert world.now()["priority"] == "high"


def test_only_people_rewind_and_only_bots_and_own_imports(world):
    bot = Actor(kind=ActorKind.BOT, user_id=world.cast.smith.user_id)
    with pytest.raises(Forbidden):
        world.rewind(actor=bot)
    with pytest.raises(Conflict):
        world.rewind(world.scope(user_id=world.cast.bo.user_id, request_ids=(world.ticket,)))
    with pytest.raises(Conflict):
        world.rewind(world.scope(user_id=world.cast.ada.user_id))
    with pytest.raises(NotFound):
        world.rewind(world.scope(user_id=world.ticket))
    with pytest.raises(InvalidField):
        world.rewind(world.scope(until=world.since))
    with pytest.raises(InvalidField):
        world.rewind(world.scope(request_ids=(world.ticket,) * 51))


def test_an_own_import_is_rewound_by_its_requests(world):
    answer = world.cast.ada.post(f"{world.project}/tickets", {"title": "Imported"})
    world.make(world.cast.ada, "By hand")
    request_id = answer.headers["X-Request-Id"]
    world.rewind(world.scope(user_id=world.cast.ada.user_id, request_ids=(request_id,)))
    titles = [ticket["title"] for ticket in world.now(f"{world.project}/tickets")["data"]]
    assert titles == ["By hand", "A ticket"]


def test_each_event_of_one_subject_is_read_once(world, monkeypatch):
    """Even over several steps; events written by the rewind itself are not read."""
    monkeypatch.setattr("app.rewind.service.BATCH", 3)
    read = []
    add = OtherWrites.add
    monkeypatch.setattr(OtherWrites, "add", lambda self, row: (read.append(row.id), add(self, row)))
    project_id = world.cast.open_project
    page = world.bo("POST", "/wiki/pages", title="Bo", body="Bo", project_id=project_id)["id"]
    note = world.bo("POST", f"{world.project}/sticky-notes", body="Bo")["id"]
    for path, of_bot, of_other in (
        (f"/tickets/{world.ticket}", "title", "body"),
        (f"/wiki/pages/{page}", "body", "title"),
        (f"/sticky-notes/{note}", "body", "color"),
    ):
        began = now_ms()
        for number in range(12):
            world.smith("PATCH", path, **{of_bot: f"Smith {number}"})
            world.bo("PATCH", path, **{of_other: f"#{number:06}"})
        scope, log, beyond = world.scope(since=began), LogReading(), None
        read.clear()
        for number in range(4):
            step = partial(rewind_step, world.ada, scope, beyond=beyond, log=log)
            beyond = in_app(world.app, step).beyond
            if number == 1:
                assert len(read) == len(set(read)) <= 6 + 1, path
        assert (beyond, len(read)) == (None, 12), path
    assert [world.now(f"/tickets/{world.ticket}")[name] for name in ("title", "body")] == [
        "A ticket",
        "#000011",
    ]
    left = world.now(f"/wiki/pages/{page}")
    assert (left["title"], left["body"]) == ("#000011", "Bo")
    (left,) = world.now(f"{world.project}/sticky-notes")["data"]
    assert (left["color"], left["body"]) == ("#000011", "Bo")


def test_what_others_write_between_two_steps_stands(world, monkeypatch):
    """Even if a step was rolled back and others wrote as many events as it would have."""
    monkeypatch.setattr("app.rewind.service.BATCH", 2)
    path = f"/tickets/{world.ticket}"
    world.smith("PATCH", path, title="By the bot")
    for priority in ("low", "high", "urgent"):
        world.smith("PATCH", path, priority=priority)
    scope, log = world.scope(), LogReading()

    def step(beyond=None):
        return rewind_step(world.ada, scope, beyond=beyond, log=log)

    def and_fails():
        step()
        raise RuntimeError

    with pytest.raises(RuntimeError):
        in_app(world.app, and_fails)
    for title in ("By Bo", "By Bo again"):
        world.bo("PATCH", path, title=title)
    first = in_app(world.app, step)
    last = in_app(world.app, lambda: step(first.beyond))
    assert [value.fate for value in last.values if value.name == "title"] == [Fate.KEPT]
    assert world.now()["title"] == "By Bo again"
    assert world.now()["priority"] == "medium"
