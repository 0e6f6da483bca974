"""The gate by itself: a few requests at a time."""

import threading
import time
from contextlib import nullcontext

import pytest

from app import gate as gates
from app.core.context import STREAMED, out_of_turn, waiting_outside
from app.core.held import hold
from app.gate import HELD, LIVENESS, gate
from app.threads import Takers


class Recorder:
    """An application that remembers whether its answers were closed."""

    def __init__(self):
        self.closed = 0

    def __call__(self, environ, start_response):
        start_response("200 OK", [])
        return Parts(self)


class Parts:
    """An answer in two parts that wants to be closed."""

    def __init__(self, recorder):
        self.recorder = recorder

    def __iter__(self):
        return iter([b"one", b"two"])

    def close(self):
        self.recorder.closed += 1


def call(application, path="/"):
    statuses = []
    environ = {"PATH_INFO": path}
    parts = application(environ, lambda status, _headers: statuses.append(status))
    return statuses[0], parts


def test_the_answer_comes_whole_and_is_closed():
    recorder = Recorder()
    assert call(gate(recorder, Takers(1), places=1)) == ("200 OK", [b"onetwo"])
    assert recorder.closed == 1


class Busy:
    """An application whose requests stay until told to go."""

    def __init__(self):
        self.go = threading.Event()
        self.guard = threading.Lock()
        self.inside = 0
        self.most = 0

    def __call__(self, environ, start_response):
        if environ["PATH_INFO"] != LIVENESS:
            with self.guard:
                self.inside += 1
                self.most = max(self.most, self.inside)
            self.go.wait(10)
            with self.guard:
                self.inside -= 1
        start_response("200 OK", [])
        return []


def test_only_so_many_are_inside_and_liveness_does_not_wait():
    busy = Busy()
    gated = gate(busy, Takers(1), places=3)
    threads = [threading.Thread(target=call, args=(gated,)) for _ in range(10)]
    for thread in threads:
        thread.start()
    while busy.inside < 3:
        time.sleep(0.001)
    assert call(gated, path=LIVENESS)[0] == "200 OK"
    busy.go.set()
    for thread in threads:
        thread.join()
    assert busy.most == 3


def test_a_failure_inside_gives_the_place_back():
    def failing(environ, start_response):
        raise RuntimeError("inside")

    gated = gate(failing, Takers(1), places=1)
    for _ in range(3):
        with pytest.raises(RuntimeError, match="inside"):
            call(gated)


@pytest.mark.parametrize(("patience", "side_by_side"), [(30.0, 1), (0.001, 3)])
def test_requests_take_turns_for_so_long(monkeypatch, patience, side_by_side):
    monkeypatch.setattr(gates, "TURN_SECONDS", patience)
    busy = Busy()
    gated = gate(busy, Takers(1), places=3, takes_turns=True)
    threads = [threading.Thread(target=call, args=(gated,)) for _ in range(3)]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + (0.2 if side_by_side == 1 else 10)
    while busy.inside < 3 and time.monotonic() < deadline:
        time.sleep(0.001)
    busy.go.set()
    for thread in threads:
        thread.join(10)
    assert busy.most == side_by_side
    assert call(gated)[0] == "200 OK"


@pytest.mark.parametrize("waiting", [waiting_outside, out_of_turn])
def test_a_request_that_waits_for_something_lets_others_in(monkeypatch, waiting):
    """For another server, and gives its place away; or for the disk, and ends its turn."""
    monkeypatch.setattr(gates, "TURN_SECONDS", 30.0)
    elsewhere, go = threading.Event(), threading.Event()

    def application(environ, start_response):
        if environ["PATH_INFO"] == "/waits":
            with waiting.get()(), waiting.get()() if waiting is out_of_turn else nullcontext():
                elsewhere.set()
                assert go.wait(10)
        start_response("200 OK", [])
        return []

    places = 1 if waiting is waiting_outside else 2
    gated = gate(application, Takers(1), places=places, takes_turns=True)
    waits = threading.Thread(target=call, args=(gated,), kwargs={"path": "/waits"})
    waits.start()
    assert elsewhere.wait(10)
    passing = threading.Thread(target=call, args=(gated,), daemon=True)
    passing.start()
    passing.join(5)
    assert not passing.is_alive()
    go.set()
    waits.join(5)
    # It came back in before it left: there is one place and one turn still, not two and not none.
    assert call(gated)[0] == "200 OK"


def streaming(parts):
    """An application that makes its answer while it is sent."""

    def application(environ, start_response):
        start_response("200 OK", [])
        environ[STREAMED] = True
        return parts()

    return application


def test_a_streamed_answer_has_a_place_for_each_piece_and_none_in_between():
    made = []

    class Pieces(list):
        def close(self):
            made.append("closed")

        def __iter__(self):
            for number in range(3):
                made.append(number)
                yield b"%d" % number

    gated = gate(streaming(Pieces), Takers(1), places=1)
    _, first = call(gated)
    pieces = iter(first)
    assert (next(pieces), made) == (b"0", [0])
    # While its reader is slow, another one is answered.
    _, other = call(gated)
    assert b"".join(other) == b"012"
    assert list(pieces) == [b"1", b"2"]
    first.close()
    assert made[-1] == "closed"


class Settled:
    """What a request left; settled at once, in a turn."""

    def __init__(self):
        self.within = threading.Event()

    def settle(self, within, *, waits):
        with within():
            self.within.set()
        return True


def test_an_answer_can_be_held_back_where_requests_take_turns():
    left, held = Settled(), []

    def application(environ, start_response):
        held.extend(hold.get()(left) for _ in range(2))
        start_response("200 OK", [])
        return [b"answer"]

    gated = gate(application, Takers(1), places=1, takes_turns=True)
    environ = {"PATH_INFO": "/"}
    assert gated(environ, lambda *_: None) == [b"answer"]
    assert left.within.wait(10)
    assert environ[HELD] is held[0] is held[1]
    assert hold.get() is None
    sent = []
    held[0].made(lambda: sent.append("sent"))
    held[0].done()
    assert sent == []
    held[0].done()
    assert sent == ["sent"]


def test_what_was_left_needs_no_place():
    left, go = Settled(), threading.Event()

    def application(environ, start_response):
        start_response("200 OK", [])
        if environ["PATH_INFO"] == "/long":
            with out_of_turn.get()():
                hold.get()(left)
                assert go.wait(10)
        return []

    gated = gate(application, Takers(1), places=1, takes_turns=True)
    long = threading.Thread(target=call, args=(gated,), kwargs={"path": "/long"})
    long.start()
    assert left.within.wait(5)
    go.set()
    long.join(10)


def test_no_answer_is_held_back_where_requests_take_no_turns():
    def application(environ, start_response):
        assert hold.get() is None
        start_response("200 OK", [])
        return []

    assert call(gate(application, Takers(1), places=1))[0] == "200 OK"
