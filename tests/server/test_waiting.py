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
BOTS = 500 if IS_LONG else 150


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
            closing(asked(served, second, wait=4)) as other,
        ):
            # With one thread, others work.
            assert office.owner.call("GET", "/auth/me")["username"] == "ada"
            assert answered([one, other], 1) == []
            began = time.monotonic()
            office.comment(ticket, "Are you there?")
            assert answered([one], 5) == [one]
            assert time.monotonic() - began < 1
            assert news(one) == ["Are you there?"]
            assert answered([other], 1) == []
            assert answered([other], 6) == [other]
            assert news(other) == []


@pytest.mark.quiet
def test_other_processes_wake_within_a_second(settings, tmp_path):
    """The system spreads the connections over three workers."""
    with serving(tmp_path / "instance", command=FORKED, WORKERS=3, **settings) as served:
        office = Office(served)
        bot, ticket = office.bot()
        for number in range(8):
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
        for number in range(40):
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
        waiting = [
            held.enter_context(closing(asked(served, bot, wait=25)))
            for _ in range(MAX_WAITING_PER_BOT)
        ]
        assert answered(waiting, 1) == []
        with closing(asked(served, bot, wait=25)) as surplus:
            assert answered([surplus], 2) == [surplus]
            assert result(surplus)["waited"] is False
        for one in waiting[:2]:
            one.close()
        time.sleep(0.5)
        for _ in range(2):
            again = held.enter_context(closing(asked(served, bot, wait=25)))
            assert answered([again], 1) == []


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


@pytest.mark.quiet
@pytest.mark.one_database
def test_many_bots_wait_and_all_are_woken(settings, tmp_path):
    with serving(tmp_path / "instance", command=FORKED, **settings) as served:
        office = Office(served)
        for _ in range(BOTS):
            office.bot()
        worker = psutil.Process(served.workers()[0])
        alone, before = typical(office), worker.memory_info().rss
        with office.waits() as waiting:
            assert answered(waiting, 1) == []
            # Others are as fast, but for what the machine makes of it.
            until(lambda: typical(office) < alone * 1.2 + 0.001)
            assert worker.memory_info().rss - before < BOTS * 200 * 1024
        with office.waits() as waiting:
            for ticket in office.tickets:
                office.comment(ticket)
            assert len(answered(waiting, 20)) == BOTS
            assert [news(one) for one in waiting] == [["Now"]] * BOTS


def typical(office):
    return office.times(40)[20]
