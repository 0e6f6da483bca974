"""Which threads take requests, with a pool as the server has it: each takes the next there is."""

import threading
import time
import weakref

import pytest

from app import threads, worker
from app.core.errors import Unavailable
from app.threads import KEPT_TO_READ
from tests.support.pool import Body, Pool
from tests.support.serving import until

POOL = KEPT_TO_READ + 4


class Application:
    """Answers with the number of requests at work; /stay stays until told to go."""

    def __init__(self):
        self.go = threading.Event()
        self.first_may_go = threading.Event()
        self.guard = threading.Lock()
        self.inside = 0
        self.most = 0
        self.threads = set()

    def __call__(self, environ, start_response):
        with self.guard:
            self.inside += 1
            self.most = max(self.most, self.inside)
            self.threads.add(threading.get_ident())
        path = environ["PATH_INFO"]
        if path == "/stay":
            self.go.wait(10)
        if path == "/first":
            self.first_may_go.wait(10)
        if path == "/busy":
            # Waits again and again, a moment each time.
            while not self.go.is_set():
                with self.pool.takers.waiting():
                    time.sleep(0.001)
        if path == "/wait":
            with self.pool.takers.waiting():
                self.go.wait(10)
        if path == "/read":
            try:
                body = environ["wsgi.input"].read()
            except Unavailable:
                body = b"unread"
        if path == "/fail":
            raise environ["error"]
        time.sleep(0.0002)
        with self.guard:
            self.inside -= 1
        start_response("200 OK", [])
        if path == "/pieces":
            return iter([b"pie", b"ces"])
        return [body if path == "/read" else b"done"]


@pytest.fixture
def application():
    application = Application()
    yield application
    application.go.set()


def pool_of(application, **more):
    application.pool = Pool(application, POOL, **more)
    return application.pool


def answers(exchanges, seconds=5):
    """The statuses, once all are answered."""
    assert all(exchange.answered.wait(seconds) for exchange in exchanges)
    return [exchange.status for exchange in exchanges]


def settled(application, wanted=1):
    """A pool of which each thread has had a request: all rest, but for those that are wanted."""
    pool = pool_of(application, wanted=wanted)
    everyone = [pool.ask("/stay") for _ in range(POOL)]
    until(lambda: application.inside == POOL)
    application.go.set()
    answers(everyone)
    until(lambda: len(pool.takers._resting) == POOL - wanted)
    application.go.clear()
    return pool


@pytest.mark.parametrize("wanted", [1, 2])
def test_no_more_take_requests_than_are_wanted(application, wanted, monkeypatch):
    pool = settled(application, wanted)
    # On a busy machine a request may take as long as the watch waits.
    monkeypatch.setattr(threads, "WATCH_SECONDS", 10)
    time.sleep(0.02)
    application.most = 0
    application.threads.clear()
    assert answers([pool.ask() for _ in range(300)]) == [200] * 300
    assert application.most <= wanted
    assert len(application.threads) <= wanted


def test_another_takes_requests_for_one_that_waits(application):
    pool = pool_of(application)
    answers([pool.ask() for _ in range(100)])
    waiting = [pool.ask("/wait") for _ in range(3)]
    began = time.monotonic()
    answers([pool.ask() for _ in range(20)])
    assert time.monotonic() - began < 1
    assert not any(exchange.answered.is_set() for exchange in waiting)
    application.go.set()
    assert answers(waiting) == [200] * 3


def test_another_takes_requests_for_one_that_takes_long(application):
    pool = pool_of(application)
    answers([pool.ask() for _ in range(100)])
    for _ in range(3):
        pool.ask("/stay")
    began = time.monotonic()
    answers([pool.ask() for _ in range(20)])
    assert time.monotonic() - began < 1


@pytest.mark.parametrize("count", [1, 3, 5 * POOL])
def test_bodies_that_come_slowly_keep_nobody_waiting(application, count):
    pool = pool_of(application)
    bodies = [Body() for _ in range(count)]
    slow = [pool.ask("/read", body) for body in bodies]
    began = time.monotonic()
    assert answers([pool.ask() for _ in range(20)]) == [200] * 20
    assert time.monotonic() - began < 1
    # Of those that are too many it is said at once.
    refused = [exchange for exchange in slow if exchange.answered.is_set()]
    assert {exchange.body for exchange in refused} <= {b"unread"}
    assert bool(refused) == (count > POOL)
    assert count - len(refused) < POOL
    for body in bodies:
        body.sent.set()
    answers(slow)
    assert {exchange.body for exchange in slow if exchange not in refused} == {b"whole"}
    # And all of the pool are there for the next that are slow.
    assert answers([pool.ask() for _ in range(100)]) == [200] * 100
    late = Body()
    slow = pool.ask("/read", late)
    late.sent.set()
    answers([slow])
    assert slow.body == b"whole"


def test_more_than_the_pool_that_wait_are_answered_in_the_end(application):
    pool = pool_of(application)
    many = [pool.ask(path) for path in ("/stay", "/wait") * POOL]
    answers([pool.ask() for _ in range(5)])
    application.go.set()
    assert answers(many) == [200] * 2 * POOL


def test_a_request_is_answered_where_no_thread_can_be_made(application, monkeypatch):
    pool = pool_of(application)

    class NoThread:
        def __init__(self, **_):
            raise RuntimeError("can't start new thread")

    monkeypatch.setattr(worker, "Thread", NoThread)
    many = [pool.ask("/stay") for _ in range(POOL - 1)]
    answers([pool.ask()])
    application.go.set()
    answers(many)


def test_requests_are_taken_when_threads_ended_meanwhile(application):
    pool = pool_of(application)
    answers([pool.ask() for _ in range(200)])
    before = threading.active_count()
    pool.end_one()
    until(lambda: threading.active_count() < before)
    # As the server does when a request comes and its pool is not full.
    threading.Thread(target=pool._work, daemon=True).start()
    assert answers([pool.ask() for _ in range(50)]) == [200] * 50
    waiting = pool.ask("/wait")
    answers([pool.ask() for _ in range(50)])
    assert not waiting.answered.is_set()


@pytest.mark.parametrize("error", [RuntimeError("inside"), SystemExit(1), MemoryError()])
def test_a_failure_is_a_500_and_its_thread_goes_on(application, error):
    pool = pool_of(application, size=1)
    failed = pool.ask("/fail", error=error)
    assert answers([failed, pool.ask()]) == [500, 200]


def test_a_thread_that_rests_keeps_nothing_of_its_request(application):
    class Upload:
        pass

    pool = pool_of(application)
    uploads = [Upload() for _ in range(3 * POOL)]
    known = [weakref.ref(upload) for upload in uploads]
    held = [pool.ask("/stay", upload=upload) for upload in uploads]
    del uploads
    application.go.set()
    answers(held)
    until(lambda: not any(one() for one in known))


def test_others_that_wait_again_and_again_hide_nobody_who_takes_long(application):
    pool = settled(application)
    busy = [pool.ask("/busy") for _ in range(2)]
    until(lambda: application.inside == 2)
    pool.ask("/stay")
    began = time.monotonic()
    answers([pool.ask() for _ in range(20)])
    assert time.monotonic() - began < 1
    assert not any(exchange.answered.is_set() for exchange in busy)


def test_the_first_that_is_done_takes_what_waits(application, monkeypatch):
    """All are at work, no thread can be made, and the watch has nobody to call."""
    pool = pool_of(application, wanted=2)

    class NoThread:
        def __init__(self, **_):
            raise RuntimeError("can't start new thread")

    pool.ask("/first")
    until(lambda: application.inside == 1)
    monkeypatch.setattr(worker, "Thread", NoThread)
    for _ in range(POOL - 1):
        pool.ask("/stay")
    until(lambda: application.inside == POOL)
    until(lambda: not pool.takers._is_watched)
    late = pool.ask()
    application.first_may_go.set()
    assert answers([late], seconds=1) == [200]


def test_an_answer_in_pieces_is_sent_in_pieces(application):
    exchange = pool_of(application).ask("/pieces")
    assert answers([exchange]) == [200]
    assert exchange.body == b"pieces"


def test_the_watch_ends_and_begins_again(application):
    pool = pool_of(application)
    answers([pool.ask()])
    until(lambda: not pool.takers._is_watched)
    pool.ask("/stay")
    answers([pool.ask()])
