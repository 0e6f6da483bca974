"""The thread that settles what requests left."""

import threading
from contextlib import contextmanager

import pytest

from app import settling
from app.settling import Settler
from tests.support.serving import until


class Left:
    """Something that can be settled at a later look only."""

    def __init__(self, looks, fails=()):
        self.looks, self.fails = looks, fails
        self.waits = []
        self.is_settled = threading.Event()

    def settle(self, within, *, waits):
        with within():
            self.waits.append(waits)
            if len(self.waits) in self.fails:
                raise KeyError
            if len(self.waits) < self.looks:
                return False
        self.is_settled.set()
        return True


@pytest.fixture
def inside():
    return []


@pytest.fixture
def settler(inside):
    @contextmanager
    def within():
        inside.append("in")
        yield
        inside.append("out")

    return Settler(within)


def test_it_looks_until_all_is_settled_and_waits_in_line_after_a_while(
    settler, inside, monkeypatch
):
    monkeypatch.setattr(settling, "PATIENCE_SECONDS", 0.05)
    left = Left(looks=3)
    settler.call(left)
    assert left.is_settled.wait(10)
    assert left.waits == [False] * 3
    until(lambda: len(inside) == 6)
    assert inside == ["in", "out"] * 3
    monkeypatch.setattr(settling, "PATIENCE_SECONDS", 0)
    again = Left(looks=1)
    settler.call(again)
    assert again.is_settled.wait(10)
    assert again.waits == [True]


def test_what_fails_does_not_end_it(settler, monkeypatch):
    monkeypatch.setattr(settling, "PAUSE_SECONDS", 0.001)
    left, other = Left(looks=2, fails=(1,)), Left(looks=1)
    settler.call(left)
    settler.call(other)
    assert left.is_settled.wait(10)
    assert other.is_settled.wait(10)
