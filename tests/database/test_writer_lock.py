"""SQLite's writer lock between processes; two locks on one file stand in for two processes."""

import fcntl
import os
import threading

import pytest
from sqlalchemy import create_engine

from app.core.errors import Unavailable
from app.core.lanes import Lane, LaneRequired, run
from app.database import messages
from app.database import writer_lock as locks
from app.database.writer_lock import WriterLock, writer_lock
from tests.support.serving import until


def is_locked(path):
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def test_who_writes_all_the_time_lets_others_write_between(tmp_path):
    busy, other = (WriterLock(str(tmp_path / "write")) for _ in range(2))
    order = []

    def write_once():
        with other.locked():
            order.append("other")

    thread = threading.Thread(target=write_once)
    with busy.locked():
        thread.start()
        until(lambda: is_locked(tmp_path / "write-next"))
    with busy.locked():
        order.append("busy")
    thread.join()
    assert order == ["other", "busy"]


def test_a_writer_waits_only_so_long_and_leaves_the_turn_to_others(tmp_path, monkeypatch, logged):
    monkeypatch.setattr(locks, "LOCK_SECONDS", 0.05)
    holder, waiter = (WriterLock(str(tmp_path / "write")) for _ in range(2))
    with holder.locked(), pytest.raises(Unavailable), waiter.locked():
        pass
    assert logged() == [messages.WRITES_TOO_LONG]
    assert not is_locked(tmp_path / "write-next")
    with waiter.locked():
        assert is_locked(tmp_path / "write")


def test_who_finds_others_waiting_does_not_go_before_them(tmp_path):
    mine = WriterLock(str(tmp_path / "write"))
    held = threading.Event()

    def write():
        with mine.locked():
            held.set()

    with (tmp_path / "write-next").open("w") as waiting:
        fcntl.flock(waiting, fcntl.LOCK_EX)
        thread = threading.Thread(target=write)
        thread.start()
        assert not held.wait(0.05)
    assert held.wait(10)
    thread.join()


def test_a_thread_waits_for_another_of_its_process(tmp_path):
    lock = WriterLock(str(tmp_path / "write"))
    held = threading.Event()

    def write():
        with lock.locked():
            held.set()

    with lock.locked():
        thread = threading.Thread(target=write)
        thread.start()
        assert not held.wait(0.05)
    assert held.wait(10)
    thread.join()


def test_no_write_begins_on_the_event_loop(tmp_path):
    engine = create_engine(f"sqlite:///{tmp_path / 'some.db'}")

    def write():
        with writer_lock(engine):
            pass

    with pytest.raises(LaneRequired) as raised:
        run(Lane.LOOP, write)
    assert raised.value.lane is Lane.POOL
    run(Lane.POOL, write)


def test_a_forked_process_does_not_share_its_parents_lock(tmp_path, monkeypatch):
    monkeypatch.setattr(locks, "LOCK_SECONDS", 0.05)
    engine = create_engine(f"sqlite:///{tmp_path / 'some.db'}")
    with writer_lock(engine):
        pass
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.read(read, 1)
        try:
            with writer_lock(engine):
                os._exit(1)
        except Unavailable:
            os._exit(0)
        finally:
            os._exit(2)
    with writer_lock(engine):
        os.write(write, b"x")
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 0
        # The child closed only its own descriptor: the parent still holds the lock.
        assert is_locked(tmp_path / "some.db.write")
    os.close(read)
    os.close(write)
