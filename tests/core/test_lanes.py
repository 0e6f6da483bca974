"""Where a request is processed, and how a rule is charged for blocking the event loop."""

import pytest

from app.core import lanes
from app.core.lanes import Lane, LaneRequired, enter_rule, require, run


class Clock:
    """Replaces the module time in the lanes; it advances only by ``sleep``."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def monotonic(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    monkeypatch.setattr(lanes, "_off_loop", {})
    clock = Clock()
    monkeypatch.setattr(lanes, "time", clock)
    return clock


@pytest.mark.parametrize("here", Lane)
@pytest.mark.parametrize("wanted", Lane)
def test_a_lane_allows_what_those_before_it_do(here, wanted):
    if wanted <= here:
        run(here, lambda: require(wanted))
        return
    with pytest.raises(LaneRequired) as raised:
        run(here, lambda: require(wanted))
    assert raised.value.lane is wanted


def test_outside_the_server_anything_may_wait():
    require(Lane.LONG)


TOO_LONG = lanes.MAX_LOOP_SECONDS + 0.001


def test_a_rule_that_held_the_loop_is_answered_by_threads_for_a_minute(clock):
    def hold_the_loop(rule, seconds):
        enter_rule(rule)
        clock.sleep(seconds)

    run(Lane.LOOP, lambda: hold_the_loop("/quick", lanes.MAX_LOOP_SECONDS - 0.001))
    run(Lane.LOOP, lambda: hold_the_loop("/slow", TOO_LONG))
    run(Lane.LOOP, lambda: enter_rule("/quick"))
    with pytest.raises(LaneRequired):
        run(Lane.LOOP, lambda: enter_rule("/slow"))
    run(Lane.POOL, lambda: enter_rule("/slow"))
    clock.sleep(lanes.OFF_LOOP_SECONDS)
    run(Lane.LOOP, lambda: enter_rule("/slow"))


def test_a_thread_may_take_long(clock):
    def take_long():
        enter_rule("/slow")
        clock.sleep(TOO_LONG)

    run(Lane.POOL, take_long)
    run(Lane.LOOP, lambda: enter_rule("/slow"))
