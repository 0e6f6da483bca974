"""SQLite writers that wait for one another commit together, and fail individually."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from sqlalchemy import create_engine, event, func, select, text
from sqlalchemy.exc import IntegrityError

from app.accounts.models import User
from app.core import lanes
from app.core.errors import Unavailable
from app.core.lanes import Lane, LaneRequired
from app.database import messages, shared_transactions
from app.database.connect import for_writing, prepare
from app.database.session import _transactions as unit_transactions
from app.database.session import after_commit, db, is_postgresql, reading, run_write, session
from app.database.shared_transactions import SharedTransactionFailed, SharedTransactions
from app.database.writer_lock import LOCK_SECONDS, writer_lock
from tests.database.test_units_of_work import new_user
from tests.support.serving import until

NAMES = ["first", "second", "third", "fourth"]


class Writers:
    """A first writer that is kept in its transaction while others queue, each in its own thread."""

    def __init__(self, path):
        self.engine = create_engine(f"sqlite:///{path}")
        prepare(self.engine)
        self.is_out, self.deadlines, self.queued_at = False, [], 0.0
        self.transactions = SharedTransactions(self.begin)
        self.commits, self.outcomes = [], {}
        self.is_in, self.may_go_on = threading.Event(), threading.Event()
        with self.engine.begin() as connection:
            connection.execute(text("CREATE TABLE names (name TEXT UNIQUE)"))
        event.listen(self.engine, "commit", self.commits.append)

    @contextmanager
    def begin(self, deadline):
        self.deadlines.append(deadline)
        if self.is_out:
            self.is_in.set()
            assert self.may_go_on.wait(10)
            raise Unavailable
        with (
            writer_lock(self.engine, deadline),
            self.engine.connect() as connection,
            for_writing(connection).begin(),
        ):
            yield connection

    def write(self, name, spoil):
        try:
            with self.transactions.member() as connection:
                if name == "first":
                    self.is_in.set()
                    assert self.may_go_on.wait(10)
                connection.execute(text("INSERT INTO names VALUES (:name)"), {"name": name})
                spoil(name, connection)
        except Exception as error:
            self.outcomes[name] = type(error)
            return
        # A writer that continues is committed.
        self.outcomes[name] = "written" if name in self.written() else "lost"

    def written(self):
        with self.engine.connect() as connection:
            return set(connection.execute(text("SELECT name FROM names")).scalars())

    def run(self, names=NAMES, spoil=lambda name, connection: None):
        with ThreadPoolExecutor(len(names)) as pool:
            pool.submit(self.write, names[0], spoil)
            assert self.is_in.wait(10)
            others = []
            for waiting, name in enumerate(names[1:], 1):
                others.append(pool.submit(self.write, name, spoil))
                until(lambda waiting=waiting: len(self.transactions._queue) == waiting)
            self.queued_at = time.monotonic()
            self.may_go_on.set()
        for other in others:
            other.result()


@pytest.fixture
def writers(tmp_path, monkeypatch):
    monkeypatch.setattr(shared_transactions, "MAX_AGE_SECONDS", 10.0)
    made = Writers(tmp_path / "shared.db")
    yield made
    made.engine.dispose()


def test_those_who_wait_commit_together(writers):
    writers.run()
    assert writers.outcomes == dict.fromkeys(NAMES, "written")
    assert len(writers.commits) == 1


def test_one_alone_commits_at_once(writers):
    writers.write("second", lambda name, connection: None)
    writers.write("third", lambda name, connection: None)
    assert writers.outcomes == dict.fromkeys(["second", "third"], "written")
    assert len(writers.commits) == 2


def test_a_transaction_has_so_many_members(writers):
    names = [*NAMES, *map(str, range(shared_transactions.MAX_MEMBERS))]
    writers.run(names)
    assert writers.outcomes == dict.fromkeys(names, "written")
    assert len(writers.commits) == 2


def test_a_transaction_that_is_open_for_long_takes_no_more(writers, monkeypatch):
    monkeypatch.setattr(shared_transactions, "MAX_AGE_SECONDS", 0.0)
    writers.run()
    assert writers.outcomes == dict.fromkeys(NAMES, "written")
    assert len(writers.commits) == len(NAMES)


@pytest.mark.parametrize("failing", NAMES)
def test_work_that_fails_is_rolled_back_alone(writers, failing):
    def spoil(name, _connection):
        if name == failing:
            raise KeyError(name)

    writers.run(spoil=spoil)
    assert writers.outcomes == dict.fromkeys(NAMES, "written") | {failing: KeyError}
    assert writers.written() == set(NAMES) - {failing}


def test_no_error_is_told_before_the_commit(writers):
    """The error may depend on an earlier member's writes, which can still be lost."""
    was_told = threading.Event()

    def spoil(name, connection):
        if name == "second":
            raise KeyError(name)
        if name == "third":
            assert "second" not in writers.outcomes
            was_told.set()
            connection.get_transaction().rollback()
            raise KeyError(name)

    writers.run(["first", "second", "third"], spoil=spoil)
    assert was_told.is_set()
    again = dict.fromkeys(["first", "second", "third"], SharedTransactionFailed)
    assert writers.outcomes == again


def test_a_transaction_that_is_lost_fails_all_that_were_in_it(writers):
    def spoil(name, connection):
        if name == "third":
            connection.get_transaction().rollback()
            raise KeyError(name)

    writers.run(spoil=spoil)
    # The members of the transaction run again alone; the later writer had its own transaction.
    again = dict.fromkeys(["first", "second", "third"], SharedTransactionFailed)
    assert writers.outcomes == {**again, "fourth": "written"}
    assert writers.written() == {"fourth"}


def test_one_that_must_run_elsewhere_is_told_at_once(writers):
    """The request restarts in another lane, so it does not respond."""

    def spoil(name, _connection):
        if name == "second":
            raise LaneRequired(Lane.LONG)

    with pytest.raises(LaneRequired):
        writers.run(spoil=spoil)
    assert writers.outcomes == dict.fromkeys(["first", "third", "fourth"], "written")


def test_a_follower_that_loses_the_transaction_unseen_fails_all(writers):
    """SQLite does this for a full disk, if the error is caught."""

    def spoil(name, connection):
        if name == "third":
            roll_back_driver(connection)

    writers.run(spoil=spoil)
    again = dict.fromkeys(["first", "second", "third"], SharedTransactionFailed)
    assert writers.outcomes == {**again, "fourth": "written"}


def roll_back(connection):
    connection.get_transaction().rollback()


def roll_back_driver(connection):
    connection.connection.dbapi_connection.rollback()


def begin_anew(connection):
    """A compiled statement does this after a rollback."""
    roll_back(connection)
    connection.connection.dbapi_connection.execute("BEGIN")


@pytest.mark.parametrize("lose", [roll_back, roll_back_driver, begin_anew])
def test_a_first_member_that_lost_the_transaction_hands_nothing_over(writers, lose):
    others = []

    def spoil(name, connection):
        if name == "first":
            lose(connection)
        else:
            others.append(connection)

    writers.run(spoil=spoil)
    assert writers.outcomes == dict.fromkeys(NAMES, "written") | {"first": "lost"}
    # The others share a new transaction.
    assert len(writers.deadlines) == 2
    assert len(set(map(id, others))) == 1


def test_one_that_is_handed_a_transaction_as_its_time_ends_takes_it(writers, monkeypatch):
    class Late(threading.Event):
        def wait(self, timeout=None):
            return super().wait(timeout) and False

    waiter = shared_transactions._Waiter
    monkeypatch.setattr(shared_transactions, "_Waiter", lambda: waiter(woken=Late()))
    writers.run()
    assert writers.outcomes == dict.fromkeys(NAMES, "written")


def test_a_commit_that_fails_fails_all(writers):
    def refuse(_connection):
        raise OSError

    event.listen(writers.engine, "commit", refuse)
    writers.run()
    event.remove(writers.engine, "commit", refuse)
    assert writers.outcomes == dict.fromkeys(NAMES, SharedTransactionFailed)
    assert writers.written() == set()
    writers.write("late", lambda name, connection: None)
    assert writers.outcomes["late"] == "written"


def test_the_failing_commit_of_one_alone_is_its_own(writers):
    def refuse(_connection):
        raise OSError("full")

    event.listen(writers.engine, "commit", refuse)
    with pytest.raises(OSError, match="full") as caught, writers.transactions.member():
        pass
    event.remove(writers.engine, "commit", refuse)
    # The handler of the error can write.
    writers.write("third", lambda name, connection: None)
    assert (caught.type, writers.outcomes) == (OSError, {"third": "written"})


def test_each_asks_for_the_database_itself_after_an_outage(writers):
    writers.is_out = True
    writers.run()
    assert writers.outcomes == dict.fromkeys(NAMES, Unavailable)
    # Time spent in the queue counts.
    assert len(writers.deadlines) == len(NAMES)
    assert max(writers.deadlines) < writers.queued_at + LOCK_SECONDS
    writers.is_out = False
    writers.write("late", lambda name, connection: None)
    assert writers.outcomes["late"] == "written"


def test_one_waits_only_so_long(writers, monkeypatch, logged):
    monkeypatch.setattr(shared_transactions, "LOCK_SECONDS", 0.05)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(writers.write, "first", lambda name, connection: None)
        assert writers.is_in.wait(10)
        writers.write("second", lambda name, connection: None)
        writers.may_go_on.set()
        first.result(10)
    assert writers.outcomes == {"second": Unavailable, "first": "written"}
    assert logged() == [messages.WRITES_TOO_LONG]


@pytest.mark.one_database
def test_a_unit_of_work_that_was_lost_with_another_runs_again(app, monkeypatch):
    """Its callbacks run once, after its own commit. Only on SQLite are transactions shared."""
    with app.app_context():
        engine = db.engine
        if is_postgresql():
            return
    monkeypatch.setattr(shared_transactions, "MAX_AGE_SECONDS", 10.0)
    is_in, may_go_on, runs, committed = threading.Event(), threading.Event(), [], []
    user = new_user()

    def first():
        runs.append("first")
        session.add(new_user())
        session.flush()
        after_commit(lambda: committed.append(list(runs)))
        is_in.set()
        assert may_go_on.wait(10)

    def second():
        runs.append("second")
        # A failed flush rolls back the transaction.
        session.add_all([user, replica(user)])
        session.flush()

    def request(work):
        with app.app_context():
            lanes.run(Lane.POOL, lambda: run_write(work))

    with ThreadPoolExecutor(2) as pool:
        kept = pool.submit(request, first)
        assert is_in.wait(10)
        lost = pool.submit(request, second)
        until(lambda: len(unit_transactions[engine]._queue) == 1)
        may_go_on.set()
        assert isinstance(lost.exception(10), IntegrityError)
        assert kept.result(10) is None
    assert sorted(runs) == ["first", "first", "second", "second"]
    assert len(committed) == 1
    assert committed[0].count("first") == 2
    with app.app_context(), reading():
        assert session.scalar(select(func.count()).select_from(User)) == 1


def replica(user):
    other = new_user()
    other.username = user.username
    return other
