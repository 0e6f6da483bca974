"""Writes of many threads in one transaction: who takes part, and who learns of a failure."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import event, select

from app.accounts.models import User
from app.core.errors import Unavailable
from app.database import group_commit
from app.database.group_commit import GroupCommit
from app.database.session import db, reading, session
from tests.database.test_units_of_work import new_user
from tests.support.serving import until

OTHERS = 4


class Crowd:
    """A leader that is kept in its transaction while others arrive."""

    def __init__(self, app, spoil=lambda name: None):
        self.app = app
        self.spoil = spoil
        self.goes_on, self.is_in = threading.Event(), threading.Event()
        self.gathering = GroupCommit(self.write)
        self.outcomes = {}

    def write(self, name):
        if name == "leader":
            self.is_in.set()
            assert self.goes_on.wait(10)
        self.spoil(name)
        user = new_user()
        user.display_name = name
        session.add(user)
        session.flush()

    def come(self, name):
        with self.app.app_context():
            try:
                self.gathering.do(name)
            except Exception as error:
                self.outcomes[name] = error
            else:
                self.outcomes[name] = "written"
                # Code that continues finds its row committed.
                assert name in self.written()

    def written(self):
        with self.app.app_context(), reading():
            return set(session.scalars(select(User.display_name)))

    def gather(self):
        """Start the leader, then all others while it is inside; return the commits made."""
        commits = []

        def count(connection):
            commits.append(connection)

        with self.app.app_context():
            engine = db.engine
        event.listen(engine, "commit", count)
        try:
            with ThreadPoolExecutor(OTHERS + 1) as pool:
                pool.submit(self.come, "leader")
                assert self.is_in.wait(10)
                for number in range(OTHERS):
                    pool.submit(self.come, str(number))
                until(lambda: len(self.gathering._queue) >= OTHERS)
                self.goes_on.set()
        finally:
            event.remove(engine, "commit", count)
        return len(commits)


NAMES = {str(number) for number in range(OTHERS)}


def test_who_comes_meanwhile_is_written_at_once_after(app):
    crowd = Crowd(app)
    assert crowd.gather() == 2
    assert crowd.outcomes == dict.fromkeys({"leader"} | NAMES, "written")
    assert crowd.written() == {"leader"} | NAMES
    crowd.come("late")
    assert crowd.outcomes["late"] == "written"


def test_what_one_spoils_the_others_write_alone(app):
    def spoil(name):
        if name == "2":
            raise KeyError(name)

    crowd = Crowd(app, spoil)
    crowd.gather()
    assert isinstance(crowd.outcomes.pop("2"), KeyError)
    assert crowd.outcomes == dict.fromkeys({"leader"} | NAMES - {"2"}, "written")
    assert crowd.written() == {"leader"} | NAMES - {"2"}


def test_all_hear_of_an_outage_and_the_next_is_written(app):
    is_out, tries = True, []

    def spoil(name):
        if name in NAMES and is_out:
            tries.append(name)
            raise Unavailable

    crowd = Crowd(app, spoil)
    crowd.gather()
    assert crowd.outcomes.pop("leader") == "written"
    assert {type(one) for one in crowd.outcomes.values()} == {Unavailable}
    assert crowd.outcomes.keys() == NAMES
    # One try was made on behalf of all.
    assert len(tries) == 1
    is_out = False
    crowd.come("0")
    assert crowd.outcomes["0"] == "written"


def test_all_hear_where_no_transaction_begins(app, monkeypatch):
    crowd = Crowd(app)

    def never(_work, *, async_commit):
        crowd.is_in.set()
        assert crowd.goes_on.wait(10)
        raise Unavailable

    monkeypatch.setattr(group_commit, "run_write", never)
    crowd.gather()
    assert {type(one) for one in crowd.outcomes.values()} == {Unavailable}
    assert crowd.outcomes.keys() == {"leader"} | NAMES
    monkeypatch.undo()
    crowd.come("late")
    assert crowd.outcomes["late"] == "written"


def test_one_alone_hears_what_failed(app):
    def spoil(_):
        raise KeyError

    crowd = Crowd(app, spoil)
    crowd.come("someone")
    assert isinstance(crowd.outcomes["someone"], KeyError)
    with pytest.raises(KeyError), app.app_context():
        crowd.gathering.do("someone")
