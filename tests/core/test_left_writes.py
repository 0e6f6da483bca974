"""Writes that a request leaves to others, as another writer is in the way: its answer waits."""

import threading
from contextlib import contextmanager, nullcontext

import pytest
from sqlalchemy import select

from app.accounts.models import User
from app.core import gathering
from app.core.db import db, is_postgresql, reading, session
from app.core.errors import Unavailable
from app.core.gathering import Gathering
from app.core.held import Held, hold
from app.core.writer_lock import writer_lock
from tests.core.test_units_of_work import new_user
from tests.support.serving import until


class Leaving:
    """Requests that write a name each before they are answered."""

    def __init__(self):
        self.gathering = Gathering(self.write)
        self.spoilt = set()
        self.outcomes, self.sent, self.left = {}, [], []
        self.meanwhile = lambda: None

    def write(self, name):
        if name in self.spoilt:
            raise KeyError(name)
        user = new_user()
        user.display_name = name
        session.add(user)
        session.flush()

    def come(self, name, guarded=None):
        """A request that is answered, as the gate does it."""
        held = []

        def holds_back(left):
            assert left is self.gathering
            held.append(Held())
            held[0].wait_for_another()
            self.left.append(name)
            self.meanwhile()
            return held[0]

        def hear(writing):
            assert name not in self.outcomes
            try:
                writing()
            except Exception as error:
                self.outcomes[name] = error
            else:
                self.outcomes[name] = "written"

        token = hold.set(holds_back)
        try:
            self.gathering.before_answer(name, guarded or hear)
        finally:
            hold.reset(token)
        for one in held:
            one.made(lambda: self.sent.append(name))
        if not held:
            self.sent.append(name)

    def settle(self, *, waits=True):
        return self.gathering.settle(nullcontext, waits=waits)

    def written(self):
        with reading():
            return set(session.scalars(select(User.display_name)))


@pytest.fixture
def leaving(app):
    with app.app_context():
        yield Leaving()


@contextmanager
def busy():
    """Another writes. On PostgreSQL any write may have to wait, so all are left."""
    with writer_lock(db.engine):
        yield


def test_what_must_wait_is_left_and_its_answer_goes_out_after_it(leaving):
    with busy():
        leaving.come("one")
        assert (leaving.sent, leaving.outcomes, leaving.written()) == ([], {}, set())
        assert leaving.settle(waits=False) is False
        assert leaving.sent == []
    assert leaving.settle() is True
    assert leaving.written() == {"one"}
    assert (leaving.sent, leaving.outcomes) == (["one"], {"one": "written"})
    assert leaving.settle(waits=False) is True


def test_what_need_not_wait_is_written_at_once(leaving):
    leaving.come("one")
    if is_postgresql():
        assert (leaving.left, leaving.sent) == (["one"], [])
        assert leaving.settle() is True
    else:
        assert leaving.left == []
    assert (leaving.sent, leaving.written()) == (["one"], {"one"})


def test_whoever_writes_next_takes_along_what_was_left(leaving):
    with busy():
        leaving.come("one")
        leaving.come("two")
    leaving.gathering.do("three")
    assert leaving.written() == {"one", "two", "three"}
    assert leaving.sent == ["one", "two"]
    assert leaving.outcomes == {"one": "written", "two": "written"}


def test_where_nothing_can_be_held_back_all_wait(leaving):
    leaving.gathering.before_answer("one", lambda writing: writing())
    assert leaving.written() == {"one"}


def test_what_one_spoils_the_others_write_alone(leaving):
    leaving.spoilt = {"two"}
    with busy():
        for name in ("one", "two", "three"):
            leaving.come(name)
    assert leaving.settle() is True
    assert isinstance(leaving.outcomes.pop("two"), KeyError)
    assert leaving.outcomes == {"one": "written", "three": "written"}
    assert leaving.written() == {"one", "three"}
    assert leaving.sent == ["one", "two", "three"]


def test_all_hear_of_an_outage_and_are_answered(leaving, monkeypatch):
    with busy():
        leaving.come("one")
        leaving.come("two")

    def out(_work, **_how):
        raise Unavailable

    monkeypatch.setattr(gathering, "run_write", out)
    assert leaving.settle() is True
    until(lambda: len(leaving.outcomes) == 2)
    assert {type(one) for one in leaving.outcomes.values()} == {Unavailable}
    assert leaving.sent == ["one", "two"]
    monkeypatch.undo()
    leaving.gathering.do("three")
    assert leaving.written() == {"three"}


def test_after_an_outage_nobody_waits_until_all_of_it_is_told(leaving, monkeypatch):
    goes_on, told = threading.Event(), []

    def slowly(writing):
        with pytest.raises(Unavailable):
            writing()
        assert goes_on.wait(10)
        told.append("told")

    def out(_work, **_how):
        raise Unavailable

    with busy():
        leaving.come("slow", slowly)
    with monkeypatch.context() as patched:
        patched.setattr(gathering, "run_write", out)
        assert leaving.settle() is True
    until(lambda: leaving.sent == ["slow"])
    # Others go on meanwhile.
    leaving.gathering.do("other")
    assert leaving.written() == {"other"}
    goes_on.set()
    until(lambda: told == ["told"])


def test_what_one_makes_of_it_keeps_no_other_waiting(leaving):
    def spoilt(_writing):
        raise MemoryError

    with busy():
        leaving.come("spoilt", spoilt)
        leaving.come("one")
    assert leaving.settle() is True
    assert leaving.sent == ["spoilt", "one"]
    assert leaving.outcomes == {"one": "written"}


def test_nobody_settles_beside_who_leads(leaving):
    def within():
        raise AssertionError

    with busy():
        leaving.come("one")
    leaving.gathering._is_led = True
    assert leaving.gathering.settle(within, waits=True) is False
    leaving.gathering._is_led = False
    assert leaving.settle() is True


def test_what_is_written_while_it_is_being_left_is_heard_of_once(leaving):
    def meanwhile():
        held.close()
        leaving.gathering.do("other")

    held = busy_until_closed()
    next(held)
    leaving.meanwhile = meanwhile
    leaving.come("one")
    assert leaving.written() == {"one", "other"}
    assert (leaving.sent, leaving.outcomes) == (["one"], {"one": "written"})


def busy_until_closed():
    with busy():
        yield


def test_only_so_many_are_left(app, leaving, monkeypatch):
    monkeypatch.setattr(gathering, "MOST_LEFT", 1)

    def come():
        with app.app_context():
            leaving.come("two")

    with busy():
        leaving.come("one")
        thread = threading.Thread(target=come)
        thread.start()
        until(lambda: len(leaving.gathering._waiting) == 2 or not thread.is_alive())
    thread.join(10)
    assert leaving.left == ["one"]
    assert leaving.written() == {"one", "two"}
    assert sorted(leaving.sent) == ["one", "two"]
