"""SQLite's writer lock between processes; two locks of one file stand for two processes."""

import fcntl
import os
import threading
from contextlib import ExitStack

import pytest
from sqlalchemy import create_engine

from app.core import writer_lock as locks
from app.core.errors import Unavailable
from app.core.writer_lock import WriterLock, writer_lock
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
        with other.hold():
            order.append("other")

    thread = threading.Thread(target=write_once)
    with busy.hold():
        thread.start()
        until(lambda: is_locked(tmp_path / "write-next"))
    with busy.hold():
        order.append("busy")
    thread.join()
    assert order == ["other", "busy"]


def test_a_writer_waits_only_so_long_and_leaves_the_turn_to_others(tmp_path, monkeypatch):
    monkeypatch.setattr(locks, "LOCK_SECONDS", 0.05)
    holder, waiter = (WriterLock(str(tmp_path / "write")) for _ in range(2))
    with holder.hold(), pytest.raises(Unavailable), waiter.hold():
        pass
    assert not is_locked(tmp_path / "write-next")
    with waiter.hold():
        assert is_locked(tmp_path / "write")


@pytest.mark.parametrize("holds", [True, False])
def test_who_must_wait_says_so_before_and_who_need_not_does_not(tmp_path, holds):
    other, mine = (WriterLock(str(tmp_path / "write")) for _ in range(2))
    told, held = [], ExitStack()
    if holds:
        held.enter_context(other.hold())

    def tell():
        told.append(is_locked(tmp_path / "write"))
        held.close()

    with mine.hold(tell):
        assert told == ([True] if holds else [])
    assert not is_locked(tmp_path / "write-next")


def test_who_finds_others_waiting_does_not_go_before_them(tmp_path):
    mine = WriterLock(str(tmp_path / "write"))
    told = []
    with (tmp_path / "write-next").open("w") as waiting:
        fcntl.flock(waiting, fcntl.LOCK_EX)

        def tell():
            told.append("must wait")
            fcntl.flock(waiting, fcntl.LOCK_UN)

        with mine.hold(tell):
            assert told == ["must wait"]


def test_a_thread_waits_for_another_of_its_process(tmp_path):
    lock = WriterLock(str(tmp_path / "write"))
    told = threading.Event()
    order = []

    def write_after():
        with lock.hold(told.set):
            order.append("after")

    with lock.hold():
        thread = threading.Thread(target=write_after)
        thread.start()
        assert told.wait(10)
        order.append("before")
    thread.join()
    assert order == ["before", "after"]


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
        # What the child closed was its own: the parent holds the lock as before.
        assert is_locked(tmp_path / "some.db.write")
    os.close(read)
    os.close(write)
