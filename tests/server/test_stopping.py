"""Starting and stopping: requests in flight finish, and nothing serves unsupervised."""

import fcntl
import os
import random
import re
import signal
import socket
import sqlite3
import threading
import time
from contextlib import contextmanager

import psutil
import pytest
from click import ClickException

from app.database.messages import MADE_BY_A_NEWER_RELEASE
from app.serving.parent import _only_server_on
from tests.support.forking import FORKED
from tests.support.serving import is_healthy, refused_start, serving, start, until, unused_port

KEY = "a secret key of the tests, long enough"
ADMIN = {"username": "ada", "password": "correct horse battery"}


def is_running(process):
    return psutil.pid_exists(process) and psutil.Process(process).status() != "zombie"


@contextmanager
def writers_wait(instance):
    """Hold SQLite's writer lock, so that a write request stays in flight."""
    with (instance / "docket.db.write").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def in_flight(served, answers):
    """Send a write request, and return once the server works on it."""

    def send():
        answers.append(served.request("POST", "/api/v1/setup/admin", ADMIN))

    thread = threading.Thread(target=send)
    thread.start()
    connections = psutil.Process(served.workers()[0]).net_connections
    until(lambda: [one for one in connections("tcp") if one.status == "ESTABLISHED"])
    return thread


def test_the_first_start_names_the_page_that_sets_it_up(tmp_path):
    """Only its owner may access its files, and after a stop the database is a single file."""
    instance = tmp_path / "instance"
    instance.mkdir()
    with serving(instance) as served:
        assert f"Docket is ready. Set it up at {served.url}/setup\n" in served.output()
        assert served.request("POST", "/api/v1/setup/admin", ADMIN).status == 201
        modes = {path.name: path.stat().st_mode & 0o077 for path in instance.iterdir()}
        assert {"docket.db", "docket.db-wal", "secret_key"} <= modes.keys()
        assert set(modes.values()) == {0}
        assert served.stop() == 0
    log = instance / "docket.db-wal"
    assert not log.exists() or log.stat().st_size == 0
    with serving(instance, command=FORKED) as served:
        assert f"Docket is ready at {served.url}\n" in served.output()


@pytest.mark.parametrize("address", ["{}/notify", "@{}"])
def test_systemd_is_told_when_the_server_answers(tmp_path, address):
    address = address.format(tmp_path)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(address.replace("@", "\0"))
        systemd.settimeout(5)
        with serving(tmp_path / "instance", command=FORKED, NOTIFY_SOCKET=address) as served:
            assert systemd.recv(100) == b"READY=1"
            assert served.request("GET", "/readyz").status == 200


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_request_in_flight_finishes_before_the_server_ends(tmp_path, how):
    instance = tmp_path / "instance"
    with serving(instance, command=FORKED) as served:
        answers = []
        with writers_wait(instance):
            sending = in_flight(served, answers)
            served.process.send_signal(how)
            until(lambda: not is_healthy(served))
        sending.join()
        assert answers[0].status == 201
        assert served.process.wait(timeout=20) == 0


def test_ctrl_c_in_a_terminal_goes_to_the_whole_group_and_still_finishes_requests(tmp_path):
    instance = tmp_path / "instance"
    with serving(instance) as served:
        answers = []
        with writers_wait(instance):
            sending = in_flight(served, answers)
            os.killpg(served.process.pid, signal.SIGINT)
            until(lambda: not is_healthy(served))
        sending.join()
        assert answers[0].status == 201
        assert served.process.wait(timeout=20) == 0


def test_a_service_manager_that_signals_every_process_still_finishes_requests(tmp_path):
    instance = tmp_path / "instance"
    with serving(instance, command=FORKED) as served:
        answers = []
        with writers_wait(instance):
            sending = in_flight(served, answers)
            for process in (*served.workers(), served.process.pid):
                os.kill(process, signal.SIGTERM)
            until(lambda: not is_healthy(served))
        sending.join()
        assert answers[0].status == 201
        assert served.process.wait(timeout=20) == 0


def test_connections_that_idle_or_stall_do_not_keep_the_server_from_ending(tmp_path):
    with serving(tmp_path / "instance", command=FORKED) as served:
        idle = served.connect(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert idle.recv(15) == b"HTTP/1.1 200 OK"
        stalled = served.connect(
            b"POST /api/v1/auth/login HTTP/1.1\r\nHost: localhost\r\nContent-Le"
        )
        until(lambda: is_healthy(served))
        assert served.stop() == 0
        idle.close()
        stalled.close()


# The number of servers to stop; 200 take ten minutes.
STOPS = int(os.environ.get("STOPS", "4"))


@pytest.mark.parametrize("to_group", [False, True])
def test_signals_at_any_moment_end_the_server(tmp_path, to_group):
    """Single and double signals, up to 50 microseconds apart, right after the start or later."""
    chance = random.Random(to_group)
    for number in range(STOPS // 2):
        with serving(tmp_path / f"{number}", command=FORKED, WORKERS=2) as served:
            age, gap = chance.choice([0, 0, chance.random()]), chance.choice([None, 0, 5e-5])
            time.sleep(age)
            send = os.killpg if to_group else os.kill
            began = time.monotonic()
            send(served.process.pid, signal.SIGTERM)
            if gap is not None:
                pause = time.perf_counter() + gap * chance.random()
                while time.perf_counter() < pause:
                    pass
                send(served.process.pid, signal.SIGTERM)
            assert served.process.wait(timeout=20) == 0, served.output()
            assert time.monotonic() - began < 5, (age, gap)


def test_a_second_server_on_the_same_database_is_refused(tmp_path):
    instance = tmp_path / "instance"
    with serving(instance, command=FORKED) as served:
        said = refused_start(instance, unused_port(), command=FORKED)
        assert said == (
            f"Error: Another server (process {served.process.pid}) already serves "
            f"{instance / 'docket.db'}; SQLite allows one."
        )
        assert is_healthy(served)


def test_a_database_that_may_only_be_read_is_refused(tmp_path):
    database = tmp_path / "docket.db"
    database.touch(0o400)
    said = refused_start(tmp_path, unused_port())
    assert said == f"Error: {database} must be a file that this user can write to."


def test_of_the_files_beside_a_database_its_own_must_be_writable(tmp_path, monkeypatch):
    database, log, other = (tmp_path / f"docket.db{end}" for end in ("", "-wal", ".2026-11-20"))
    for path in (database, log, other):
        path.touch()
    # File modes do not restrict root.
    monkeypatch.setattr(os, "access", lambda path, _: path == database)
    refusal = re.escape(f"{log} must be a file that this user can write to.")
    with pytest.raises(ClickException, match=refusal), _only_server_on(database):
        pass
    # Other files beside the database are left alone.
    log.unlink()
    with _only_server_on(database):
        assert other.exists()


def test_a_port_in_use_is_refused(tmp_path):
    with serving(tmp_path / "one", command=FORKED) as served:
        said = refused_start(tmp_path / "two", served.port, command=FORKED)
        assert said == f"Error: PORT {served.port} is in use. Choose another one."


def test_a_killed_worker_is_replaced(tmp_path):
    with serving(tmp_path / "instance", command=FORKED) as served:
        (worker,) = served.workers()
        os.kill(worker, signal.SIGKILL)
        until(lambda: served.workers() not in ([], [worker]) and is_healthy(served), seconds=5)
        assert served.stop() == 0


def test_a_worker_that_cannot_live_ends_the_server_with_an_error(tmp_path):
    with serving(tmp_path / "instance", command=FORKED) as served:
        for _ in range(2):
            (worker,) = until(served.workers)
            until(lambda: is_healthy(served) or served.process.poll() is not None)
            os.kill(worker, signal.SIGKILL)
            until(lambda gone=worker: not psutil.pid_exists(gone))
        assert served.process.wait(timeout=20) == 1


def test_a_worker_does_not_outlive_its_parent_and_the_next_server_takes_over(tmp_path):
    instance = tmp_path / "instance"
    with serving(instance, command=FORKED) as killed:
        (worker,) = killed.workers()
        os.kill(killed.process.pid, signal.SIGKILL)
        killed.process.wait()
        with serving(instance, command=FORKED) as served:
            assert is_healthy(served)
            assert not is_running(worker)


def test_postgresql_may_have_several_workers(tmp_path, cluster, template):
    url = cluster.create_database("served", template)
    settings = {
        "DATABASE_URL": url,
        "SECRET_KEY": "a secret key of the tests, long enough",
        "WORKERS": 2,
    }
    served = start(tmp_path / "instance", command=FORKED, **settings)
    try:
        assert len(served.workers()) == 2
        assert served.request("POST", "/api/v1/setup/admin", ADMIN).status == 201
        assert served.stop() == 0
    finally:
        cluster.drop_database("served")


def test_a_database_out_of_reach_is_said_in_a_sentence(tmp_path):
    url = "postgresql://nobody:hidden-password@127.0.0.1:1/docket"
    said = refused_start(
        tmp_path,
        unused_port(),
        command=FORKED,
        DATABASE_URL=url,
        SECRET_KEY="a secret key of the tests, long enough",
    )
    assert said.startswith("Error: The database cannot be reached: ")
    assert "hidden-password" not in said


def test_a_database_of_a_newer_release_is_refused(tmp_path):
    with sqlite3.connect(tmp_path / "docket.db") as connection:
        connection.execute("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL)")
        connection.execute("INSERT INTO alembic_version VALUES ('9999')")
    connection.close()
    said = refused_start(tmp_path, unused_port(), command=FORKED)
    assert said == f"Error: {MADE_BY_A_NEWER_RELEASE}"
