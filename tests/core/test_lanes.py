"""Where a request is answered, and what it costs a rule to hold the event loop."""

import time

import pytest

from app.core import lanes
from app.core.lanes import Lane, LaneRequired, enter_rule, require, run


@pytest.fixture(autouse=True)
def _none_is_off_the_loop(monkeypatch):
    monkeypatch.setattr(lanes, "_off_loop", {})


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


def hold_the_loop(rule, seconds):
    enter_rule(rule)
    time.sleep(seconds)


def test_a_rule_that_held_the_loop_is_answered_by_threads_for_a_minute(monkeypatch):
    run(Lane.LOOP, lambda: hold_the_loop("/quick", 0))
    run(Lane.LOOP, lambda: hold_the_loop("/slow", lanes.LONGEST_ON_LOOP_SECONDS + 0.01))
    run(Lane.LOOP, lambda: enter_rule("/quick"))
    with pytest.raises(LaneRequired):
        run(Lane.LOOP, lambda: enter_rule("/slow"))
    run(Lane.POOL, lambda: enter_rule("/slow"))
    later = time.monotonic() + lanes.OFF_LOOP_SECONDS
    monkeypatch.setattr(lanes.time, "monotonic", lambda: later)
    run(Lane.LOOP, lambda: enter_rule("/slow"))


def test_a_thread_may_take_long():
    run(Lane.POOL, lambda: hold_the_loop("/slow", lanes.LONGEST_ON_LOOP_SECONDS + 0.01))
    run(Lane.LOOP, lambda: enter_rule("/slow"))
