"""Bots that wait for news in a running server."""

import signal
import time
from contextlib import ExitStack, closing

import psutil
import pytest

from app.serving.waiting import MAX_WAITING_PER_BOT
from tests.support.forking import FORKED
from tests.support.serving import serving, until
from tests.support.sizes import IS_LONG
from tests.support.waiting import Office, answered, asked, news, result

KEY = "a secret key of the tests, long enough"
BOTS, ROUNDS = (500, 40) if IS_LONG else (60, 10)


@pytest.fixture
def settings(migrated_url):
    return {"DATABASE_URL": migrated_url, "SECRET_KEY": KEY}


@pytest.mark.quiet
def test_a_comment_wakes_whom_it_concerns(settings, tmp_path):
    with serving(tmp_path / "instance", command=FORKED, THREADS=1, **settings) as served:
        office = Office(served)
        (first, ticket), (second, _) = office.bot(), office.bot()
        with (
            closing(asked(served, first, wait=20)) as one,
            closing(asked(served, second, wait=3)) as other,
        ):
            # The server has one thread, yet it serves others.
            assert office.owner.call("GET", "/auth/me")["username"] == "ada"
            assert answered([one, other], 0.5) == []
            began = time.monotonic()
            office.comment(ticket, "Are you there?")
            assert answered([one], 5) == [one]
            assert time.monotonic() - began < 1
            assert news(one) == ["Are you there?"]
            assert answered([other], 0.5) == []
            assert answered([other], 6) == [other]
            assert news(other) == []


@pytest.mark.quiet
def test_other_processes_wake_within_a_second(settings, tmp_path):
    """The system spreads the connections over three workers."""
    with serving(tmp_path / "instance", command=FORKED, WORKERS=3, **settings) as served:
        office = Office(served)
        bot, ticket = office.bot()
        for number in range(4):
            with closing(asked(served, bot, wait=20)) as waiting:
                assert answered([waiting], 0.3) == []
                office.comment(ticket, str(number))
                began = time.monotonic()
                assert answered([waiting], 5) == [waiting]
                assert time.monotonic() - began < 1
                assert news(waiting) == [str(number)]


def test_an_event_while_the_call_arrives_is_not_missed(settings, tmp_path):
    with serving(tmp_path / "instance", command=FORKED, **settings) as served:
        office = Office(served)
        bot, ticket = office.bot()
        for number in range(ROUNDS):
            with closing(asked(served, bot, wait=20)) as waiting:
                time.sleep(number % 10 / 1000)
                office.comment(ticket, str(number))
                assert answered([waiting], 2) == [waiting], number
                assert news(waiting) == [str(number)]


def test_a_bot_has_so_many_places_and_leaving_frees_one(settings, tmp_path):
    with (
        serving(tmp_path / "instance", command=FORKED, **settings) as served,
        ExitStack() as held,
    ):
        office = Office(served)
        bot, _ = office.bot()

        def call():
            return held.enter_context(closing(asked(served, bot, wait=25)))

        def place():
            """Start a waiting call, once the server has noticed that others left."""
            made = call()
            return not answered([made], 1) and made

        waiting = all_but_one_wait([call() for _ in range(MAX_WAITING_PER_BOT + 1)])
        for one in waiting[:2]:
            one.close()
        waiting[:2] = [until(place), until(place)]
        # All places are taken again.
        all_but_one_wait([*waiting, call()])


def all_but_one_wait(calls):
    """Return the waiting calls; exactly one, whichever it is, is refused as one too many."""
    (refused,) = until(lambda: answered(calls, 0.1))
    assert result(refused)["waited"] is False
    waiting = [one for one in calls if one is not refused]
    assert answered(waiting, 0.5) == []
    return waiting


def test_who_waits_is_answered_when_the_server_stops(settings, tmp_path):
    with serving(tmp_path / "instance", command=FORKED, **settings) as served:
        office = Office(served)
        bot, _ = office.bot()
        with closing(asked(served, bot, wait=25)) as waiting:
            assert answered([waiting], 1) == []
            began = time.monotonic()
            served.process.send_signal(signal.SIGTERM)
            assert answered([waiting], 5) == [waiting]
            assert result(waiting)["retry_after_seconds"] == 5
            assert served.process.wait(timeout=20) == 0
            assert time.monotonic() - began < 5
        assert "Traceback" not in served.output()


def test_a_token_that_was_revoked_gets_nothing(settings, tmp_path):
    with serving(tmp_path / "instance", command=FORKED, **settings) as served:
        office = Office(served)
        bot, ticket = office.bot()
        with closing(asked(served, bot, wait=25)) as waiting:
            assert answered([waiting], 0.5) == []
            office.owner.call("POST", f"/bots/{bot.id}/tokens/revoke")
            office.comment(ticket)
            assert answered([waiting], 5) == [waiting]
            assert waiting.recv(65_536).startswith(b"HTTP/1.1 401 ")


@pytest.mark.one_database
def test_many_bots_wait_and_all_are_woken(settings, tmp_path):
    with serving(tmp_path / "instance", command=FORKED, **settings) as served:
        office = Office(served)
        for _ in range(BOTS):
            office.bot()
        worker = psutil.Process(served.workers()[0])

        def others_are_as_fast():
            """Except for the machine's own variation, which differs from one sample to the next."""
            alone, before = typical(office), worker.memory_info().rss
            with office.waits() as waiting:
                assert answered(waiting, 1) == []
                assert worker.memory_info().rss - before < BOTS * 200 * 1024
                # The first commit may wake all of them; then they wait again.
                return any(typical(office) < alone * 1.2 + 0.001 for _ in range(3))

        until(others_are_as_fast, 60)
        with office.waits() as waiting:
            for ticket in office.tickets:
                office.comment(ticket)
            assert len(answered(waiting, 20)) == BOTS
            assert [news(one) for one in waiting] == [["Now"]] * BOTS


def typical(office):
    return office.times(20)[10]
