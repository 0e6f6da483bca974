"""The bots that a new event may concern: all those with news, and few others."""

from functools import partial

import pytest

from app.audit.service import ticket_event_committed
from app.core.actor import Actor, ActorKind
from app.core.waiting import NewsAwaited, Waiting, run_waiting
from app.database.session import reading
from app.inbox import mentions
from app.inbox.awaited_news import NewsWatch
from tests.support.story import make_ticket, ok


class Watch:
    """The names of the bots that events since the last query may concern."""

    def __init__(self, app, *callers):
        self.app, self.watch = app, NewsWatch()
        self.waiting = {
            one.user_id: Actor(ActorKind.BOT, one.user_id, one.username) for one in callers
        }
        self.names()

    def names(self):
        with self.app.app_context(), reading():
            found = self.watch.look(self.waiting)
        return found and {self.waiting[user_id].username for user_id in found}


@pytest.fixture(name="watch")
def _watch(app, cast, smith, scout, fenced, ada):
    for _ in range(3):
        make_ticket(ada, cast.open_project)
    for bot in (smith, scout, fenced):
        bot.call("get_self")
    return Watch(app, cast.smith, cast.scout, cast.fenced)


def commented(ada, name, body="Hello"):
    ok(ada.post(f"/tickets/{name}/comments", {"body": body}), 201)


def test_nothing_new_is_no_event(watch, ada, cast):
    assert watch.names() is None
    ok(ada.post("/projects", {"key": "NEW", "name": "New"}), 201)
    assert watch.names() is None
    commented(ada, "OPEN-1")
    assert watch.names() == set()
    assert watch.names() is None


def test_whom_an_event_concerns(watch, ada, smith, cast):
    mine = smith.call("create_ticket", project="OPEN", title="Mine")["display_id"]
    smith.call("add_comment", ticket="OPEN-1", body="Hello")
    smith.call("watch_ticket", ticket="OPEN-2")
    # A bot's own changes are no news to it.
    assert watch.names() == set()
    for name in (mine, "OPEN-1", "OPEN-2"):
        commented(ada, name)
        assert watch.names() == {"smith"}, name
    commented(ada, "OPEN-3")
    assert watch.names() == set()
    ok(ada.patch("/tickets/OPEN-3", {"assignee_user_id": cast.smith.user_id}))
    assert watch.names() == {"smith"}


def test_who_claimed_a_ticket_learns_who_took_it(watch, ada, smith, cast):
    smith.call("update_ticket", ticket="OPEN-3", assignee="me")
    assert watch.names() == set()
    ok(ada.patch("/tickets/OPEN-3", {"assignee_user_id": cast.ada.user_id}))
    assert watch.names() == {"smith"}


def test_a_mention_now_and_then(watch, ada, smith):
    commented(ada, "OPEN-1", "Can @Smith look?")
    assert watch.names() == {"smith"}
    smith.call("get_self")
    ok(ada.patch("/tickets/OPEN-1", {"priority": "urgent"}))
    assert watch.names() == {"smith"}
    # A process that does not know a bot's mentions includes it; the bot then checks its news.
    mentions._cached_mentions.clear()
    commented(ada, "OPEN-2")
    assert watch.names() == {"smith", "scout", "fenced"}


def test_events_of_tickets_alone_are_signalled(ada, cast, watch):
    signals = []

    def signal():
        signals.append(1)

    ticket_event_committed.listen(signal)
    try:
        commented(ada, "OPEN-1")
        assert len(signals) == 1
        ok(ada.post("/projects", {"key": "NEW", "name": "New"}), 201)
        assert len(signals) == 1
    finally:
        ticket_event_committed.forget(signal)


@pytest.mark.parametrize("wait", [-1, 26, 10**14])
def test_a_wait_out_of_range(smith, wait):
    error = smith.refused("get_self", wait=wait)
    assert error["code"] == "validation.invalid_field"
    assert error["details"] == {"field": "wait", "reason": "out_of_range"}


def test_only_the_server_lets_a_call_wait(app, ada, smith, cast):
    """A call that will be run again leaves no trace."""
    make_ticket(ada, cast.open_project, assignee_user_id=cast.smith.user_id)
    assert len(smith.call("get_self", wait=25)["news"]) == 1
    path = f"/audit/tools?bot_user_id={cast.smith.user_id}"
    before = len(ok(ada.get(path))["data"])
    with pytest.raises(NewsAwaited) as raised:
        run_waiting(Waiting.ALLOWED, partial(smith.call, "get_self", wait=25))
    assert (raised.value.actor.username, raised.value.seconds) == ("smith", 25)
    assert len(ok(ada.get(path))["data"]) == before
    ok(ada.post("/tickets/OPEN-1/comments", {"body": "Now"}), 201)
    call = partial(smith.call, "get_self", wait=25)
    assert len(run_waiting(Waiting.ALLOWED, call)["news"]) == 1


def test_a_call_that_could_not_wait_says_when_to_ask_again(smith):
    told = {"waited": False, "retry_after_seconds": 5}
    assert told.items() <= smith.lean("get_self", wait=25).items()
    assert told.items() <= smith.call("get_self", wait=1).items()
    over = run_waiting(Waiting.OVER, partial(smith.call, "get_self", wait=25))
    for answer in (over, smith.call("get_self"), smith.call("get_self", wait=0)):
        assert not told.keys() & answer.keys()


def test_news_needs_no_wait(smith, cast, ada):
    make_ticket(ada, cast.open_project, assignee_user_id=cast.smith.user_id)
    answer = smith.call("get_self", wait=25)
    assert answer["news"]
    assert "waited" not in answer
