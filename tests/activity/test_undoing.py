"""Undo: what a person takes back, when it asks, and what it never does."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from app.activity.reversals import Plan
from app.activity.undoing import REVERSALS, Ending, undo_event, undo_request
from app.audit.catalogue import REVERSIBLE, UNDO_OF, may_be_undone
from app.core.actor import Actor, ActorKind
from app.core.context import undo_of
from app.core.errors import Conflict, Forbidden, InvalidField, NotFound
from tests.support.cast import in_app

LONG = "one\n\ntwo\n"


@pytest.fixture
def ada(cast):
    return Actor(kind=ActorKind.HUMAN, user_id=cast.ada.user_id, username="ada")


@pytest.fixture
def world(app, cast, ada):
    return World(app, cast, ada)


class World:
    """A ticket that the bot smith works on, and Ada, who takes things back."""

    def __init__(self, app, cast, ada):
        self.app, self.cast, self.ada = app, cast, ada
        self.project = f"/projects/{cast.open_project}"
        self.ticket = self.make("A ticket")

    def make(self, title, caller=None, **fields):
        made = (caller or self.cast.ada).post(f"{self.project}/tickets", {"title": title, **fields})
        assert made.status_code == 201, made.json
        return made.json["id"]

    def smith(self, method, path, body=None):
        """What the bot does to the ticket; the id of the request."""
        answer = self.cast.smith.call(method, path.format(t=self.ticket), json=body)
        assert answer.status_code < 300, answer.json
        return answer.headers["X-Request-Id"]

    def now(self, ticket=None):
        return self.cast.ada.get(f"/tickets/{ticket or self.ticket}").json

    def events(self, kind=None):
        found = self.cast.ada.get("/audit?limit=200").json["data"]
        return [one for one in found if kind is None or one["event_type"] == kind]

    def last(self, kind):
        return self.events(kind)[0]

    def undo(self, kind, *, force=False, actor=None):
        """Undo the newest event of a type."""
        event_id = self.last(kind)["id"]
        return in_app(self.app, lambda: undo_event(actor or self.ada, event_id, force=force))

    def undo_request(self, request_id):
        # Another request: what is undone here is not recorded as part of that one.
        self.now()
        return in_app(self.app, lambda: undo_request(self.ada, request_id))


def test_the_catalogue_and_the_table_name_the_same_types():
    assert set(REVERSALS) == REVERSIBLE


@pytest.mark.parametrize(
    ("field", "value"),
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
    # Nothing was written, not even the field that nobody touched since.
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


def states(world):
    found = world.cast.ada.get(f"{world.project}/workflow-states").json["data"]
    return {one["name"]: one["id"] for one in found}


def test_a_move_goes_back(world):
    known = states(world)
    world.smith("POST", "/tickets/{t}/transition", {"state_id": known["Done"]})
    assert world.undo("ticket.state_changed").is_done
    assert world.now()["state"]["name"] == "Backlog"


def test_a_move_out_of_a_state_that_is_gone_cannot(world):
    made = world.cast.ada.post(
        f"{world.project}/workflow-states", {"name": "Short", "category": "active"}
    ).json["id"]
    world.smith("POST", "/tickets/{t}/transition", {"state_id": made})
    world.smith("POST", "/tickets/{t}/transition", {"state_id": states(world)["Done"]})
    assert world.cast.ada.delete(f"{world.project}/workflow-states/{made}").status_code == 204
    with pytest.raises(Conflict, match="does not exist any more"):
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
    # The relation has another id now; undoing that it was added finds it all the same.
    first = world.events("ticket.relation_added")[-1]
    assert in_app(world.app, lambda: undo_event(world.ada, first["id"])).is_done


def test_a_relation_that_would_make_a_circle_by_now_is_refused(world):
    other = world.make("Another")
    relation = {"type": "blocks", "target_ticket_id": other}
    world.smith("POST", "/tickets/{t}/relations", relation)
    world.undo("ticket.relation_added")
    back = {"type": "blocks", "target_ticket_id": world.ticket}
    assert world.cast.bo.post(f"/tickets/{other}/relations", back).status_code == 201
    with pytest.raises(Conflict, match="block each other"):
        world.undo("ticket.relation_removed")


def test_comments(world):
    world.smith("POST", "/tickets/{t}/comments", {"body": "Hasty."})
    (comment,) = world.cast.ada.get(f"/tickets/{world.ticket}/comments").json["data"]
    world.smith("PATCH", f"/comments/{comment['id']}", {"body": "Hastier."})
    # Only its author may edit a comment: that of a bot stays as the bot wrote it.
    with pytest.raises(Forbidden):
        world.undo("comment.updated")
    assert not may_be_undone("comment.updated", world.cast.smith.user_id, world.cast.ada.user_id)
    outcome = world.undo("comment.created")
    assert outcome.ending is Ending.CHANGED_SINCE
    assert outcome.differences[0].now == "Hastier."
    assert world.undo("comment.created", force=True).is_done
    assert world.undo("comment.deleted").is_done
    (again,) = world.cast.ada.get(f"/tickets/{world.ticket}/comments").json["data"]
    assert again["body"] == "Hastier."
    assert world.undo("comment.restored").is_done
    assert world.cast.ada.get(f"/tickets/{world.ticket}/comments").json["data"] == []


def test_an_edit_of_ones_own_comment(world):
    path = f"/tickets/{world.ticket}/comments"
    made = world.cast.ada.post(path, {"body": "First."}).json["id"]
    world.cast.ada.patch(f"/comments/{made}", {"body": "Second."})
    assert may_be_undone("comment.updated", world.cast.ada.user_id, world.cast.ada.user_id)
    assert world.undo("comment.updated").is_done
    (comment,) = world.cast.ada.get(path).json["data"]
    assert [comment["body"], *(one["body"] for one in comment["edit_history"])] == [
        "First.",
        "First.",
        "Second.",
    ]


@pytest.fixture
def page(world):
    body = {"title": "A page", "body": LONG, "project_id": world.cast.open_project}
    return world.cast.smith.post("/wiki/pages", body).json["id"]


def test_a_saved_page_gets_its_earlier_text_as_a_new_revision(world, page):
    world.cast.smith.patch(f"/wiki/pages/{page}", {"body": "Gone.", "title": "Renamed"})
    assert world.undo("wiki.updated").is_done
    shown = world.cast.ada.get(f"/wiki/pages/{page}").json
    assert (shown["body"], shown["title"], shown["revision_number"]) == (LONG, "A page", 3)
    newest = world.cast.ada.get(f"/wiki/pages/{page}/revisions").json["data"][0]
    assert newest["summary"] == "undo of r2"


def test_a_page_that_was_saved_again_asks(world, page):
    world.cast.smith.patch(f"/wiki/pages/{page}", {"body": "By the bot."})
    event = world.last("wiki.updated")
    world.cast.bo.patch(f"/wiki/pages/{page}", {"body": "By Bo."})
    outcome = in_app(world.app, lambda: undo_event(world.ada, event["id"]))
    assert outcome.ending is Ending.CHANGED_SINCE
    (difference,) = outcome.differences
    assert (difference.back, difference.left, difference.now) == (LONG, "By the bot.", "By Bo.")


def test_a_page_comes_and_goes(world, page):
    assert world.undo("wiki.created").is_done
    assert world.cast.ada.get(f"/wiki/pages/{page}").status_code == 410
    assert world.undo("wiki.deleted").is_done
    assert world.undo("wiki.restored").is_done
    assert world.cast.ada.get(f"/wiki/pages/{page}").status_code == 410


def test_a_request_is_undone_from_its_end(world):
    fields = {"priority": "low", "assignee_user_id": world.cast.smith.user_id, "body": LONG}
    request = world.smith("PATCH", "/tickets/{t}", fields)
    outcome = world.undo_request(request)
    assert [one.event.event_type for one in outcome.undone] == ["ticket.updated", "ticket.assigned"]
    assert outcome.skipped == []
    shown = world.now()
    assert (shown["priority"], shown["assignee"], shown["body"]) == ("medium", None, "")


def test_a_request_that_made_a_ticket_and_more_of_it(world):
    made = world.cast.smith.post(f"{world.project}/tickets", {"title": "All at once"})
    world.undo_request(made.headers["X-Request-Id"])
    assert world.cast.ada.get(f"/tickets/{made.json['id']}").status_code == 410


def test_what_of_a_request_cannot_be_undone_is_said_and_the_rest_is_done(world):
    known = states(world)
    body = {"state_id": known["Done"], "comment": "Done."}
    request = world.smith("POST", "/tickets/{t}/transition", body)
    world.cast.bo.post(f"/tickets/{world.ticket}/transition", {"state_id": known["In review"]})
    outcome = world.undo_request(request)
    assert [one.event.event_type for one in outcome.undone] == ["comment.created"]
    (skipped,) = outcome.skipped
    assert (skipped.event.event_type, skipped.ending) == (
        "ticket.state_changed",
        Ending.CHANGED_SINCE,
    )
    assert world.now()["state"]["name"] == "In review"


def test_a_refusal_within_a_request_takes_nothing_else_back(world):
    """The assignment cannot go back, as its former assignee left; the priority does."""
    path = f"/tickets/{world.ticket}"
    world.cast.ada.patch(path, {"assignee_user_id": world.cast.bo.user_id})
    request = world.smith(
        "PATCH", "/tickets/{t}", {"assignee_user_id": world.cast.smith.user_id, "priority": "low"}
    )
    world.cast.ada.patch(f"/users/{world.cast.bo.user_id}", {"is_active": False})
    outcome = world.undo_request(request)
    assert [one.event.event_type for one in outcome.undone] == ["ticket.updated"]
    assert [one.ending for one in outcome.skipped] == [Ending.REFUSED]
    assert outcome.skipped[0].message
    assert (world.now()["priority"], world.now()["assignee"]["username"]) == ("medium", "smith")


def test_only_people_undo(world, cast):
    world.smith("PATCH", "/tickets/{t}", {"priority": "low"})
    bot = Actor(kind=ActorKind.BOT, user_id=cast.smith.user_id, username="smith")
    request = world.last("ticket.updated")["request_id"]
    with pytest.raises(Forbidden, match="Only humans may do this"):
        world.undo("ticket.updated", actor=bot)
    with pytest.raises(Forbidden, match="Only humans may do this"):
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
    """Either the undo comes first and the change stands, or it sees the change and asks."""
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


def test_a_request_of_many_events_is_undone_in_parts(world, monkeypatch):
    monkeypatch.setattr("app.activity.undoing.MOST_EVENTS", 1)
    fields = {"priority": "low", "assignee_user_id": world.cast.smith.user_id}
    request = world.smith("PATCH", "/tickets/{t}", fields)
    first = world.undo_request(request)
    assert (len(first.undone), first.left_out) == (1, 1)
    # Undone once more, it goes on where it stopped.
    second = world.undo_request(request)
    assert (len(second.undone), second.left_out) == (1, 0)
    assert (world.now()["priority"], world.now()["assignee"]) == ("medium", None)


def test_what_a_refused_event_wrote_before_its_refusal_is_taken_back(world, monkeypatch):
    real = REVERSALS["ticket.updated"]

    def half(actor, event):
        plan = real(actor, event)

        def act():
            plan.act()
            raise Conflict("invariant_violation", "Halfway.")

        return Plan(act)

    fields = {"priority": "low", "assignee_user_id": world.cast.smith.user_id}
    request = world.smith("PATCH", "/tickets/{t}", fields)
    monkeypatch.setitem(REVERSALS, "ticket.updated", half)
    outcome = world.undo_request(request)
    assert [one.message for one in outcome.skipped] == ["Halfway."]
    assert [one.event.event_type for one in outcome.undone] == ["ticket.assigned"]
    assert (world.now()["priority"], world.now()["assignee"]) == ("low", None)
    assert len(world.events("ticket.updated")) == 2
