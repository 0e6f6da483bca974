"""Clients that are slow, hostile or careless, against the real server."""

import fcntl
import time
from contextlib import ExitStack, closing, contextmanager, suppress

import pytest

from app.threads import KEPT_FREE, POOL
from tests.support.serving import serving, until

MANY = 500
LIMIT = 65_536
LOGIN = b"POST /api/v1/auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    instance = tmp_path_factory.mktemp("served") / "instance"
    with serving(instance, MAX_REQUEST_BYTES=LIMIT) as served:
        yield served


@contextmanager
def stalled(served, sent):
    """Many clients that have sent this much, and send no more."""
    with ExitStack() as held:
        for _ in range(MANY):
            held.enter_context(closing(served.connect(sent)))
        yield
    # Their threads notice in a moment that they left.
    until(lambda: served.request("POST", "/api/v1/auth/login", b"{").status != 503)


def read_status(connection):
    """The status of the answer on a raw connection."""
    received = b""
    while b"\r\n" not in received:
        piece = connection.recv(4096)
        assert piece, "the connection was closed without an answer"
        received += piece
    return int(received.split(b" ", 2)[1])


def chunked(*chunks, end=True):
    body = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks)
    return LOGIN + b"Transfer-Encoding: chunked\r\n\r\n" + body + (b"0\r\n\r\n" if end else b"")


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(LOGIN, id="half-sent headers"),
        pytest.param(LOGIN + b'Content-Length: 100\r\n\r\n{"use', id="half-sent body"),
        pytest.param(chunked(b'{"use', end=False), id="half-sent chunked body"),
    ],
)
def test_500_stalled_clients_keep_no_one_waiting(served, sent):
    with stalled(served, sent):
        for _ in range(10):
            began = time.monotonic()
            assert served.request("GET", "/healthz").status == 200
            assert served.request("GET", "/api/v1/setup/status").status == 200
            assert time.monotonic() - began < 1


def test_bodies_that_come_late_arrive_or_are_told_so(tmp_path):
    """More of them than threads of the server's: most have one, the others may try again."""
    body = b'{"username": 5}'
    sent = LOGIN + b"Content-Length: %d\r\n\r\n" % len(body) + body[:3]
    with serving(tmp_path / "instance", WORKERS=1) as served, ExitStack() as held:
        late = [held.enter_context(closing(served.connect(sent))) for _ in range(2 * POOL)]
        assert served.request("GET", "/api/v1/setup/status").status == 200
        for connection in late:
            with suppress(ConnectionError):
                connection.sendall(body[3:])
        statuses = [read_status(connection) for connection in late]
        assert set(statuses) == {422, 503}
        assert statuses.count(422) >= POOL - KEPT_FREE
        assert served.request("POST", "/api/v1/auth/login", body).status == 422


def test_liveness_does_not_wait_for_requests_that_wait_for_the_database(served):
    """More writers than places wait for the writer lock; the process still says that it lives."""
    body = b'{"username": "ada", "password": "wrong"}'
    head = LOGIN + b"Content-Length: %d\r\n\r\n" % len(body)
    writers = served.log.parent / "instance" / "docket.db.write"
    with ExitStack() as held, writers.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for _ in range(200):
            held.enter_context(closing(served.connect(head + body)))
        time.sleep(0.5)
        assert served.request("GET", "/healthz", timeout=2).status == 200


def test_an_oversized_chunked_body_is_refused(served):
    with closing(served.connect(chunked(b"x" * LIMIT, b"x"))) as connection:
        assert read_status(connection) == 413
    with closing(served.connect(chunked(b"x" * LIMIT))) as connection:
        assert read_status(connection) in (400, 422)


@pytest.mark.parametrize("size", [LIMIT + 1, 8 * 1024 * 1024])
def test_an_oversized_body_of_stated_length_is_refused(served, size):
    answer = served.request("POST", "/api/v1/auth/login", b"x" * size)
    assert answer.status == 413
    assert answer.json["error"]["code"] == "request.too_large"


def test_a_body_that_breaks_off_changes_nothing(served):
    body = b'{"username": "eve", "password": "correct horse battery"}'
    head = LOGIN.replace(b"auth/login", b"setup/admin")
    sent = head + b"Content-Length: %d\r\n\r\n" % (len(body) + 1) + body
    with closing(served.connect(sent)):
        pass
    time.sleep(0.3)
    assert served.request("GET", "/api/v1/setup/status").json == {"needs_setup": True}


@pytest.mark.parametrize("path", ["/%E2%82%AC", "/%FF", "/%00", "/a%2Fb", "/api/v1/%E2%82%AC"])
def test_odd_addresses_are_not_found(served, path):
    assert served.request("GET", path).status == 404


def test_headers_of_unbounded_length_are_refused(served):
    sent = b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: " + b"x" * 1_000_000 + b"\r\n\r\n"
    with closing(served.connect()) as connection:
        try:
            connection.sendall(sent)
            assert read_status(connection) == 431
        except (ConnectionResetError, BrokenPipeError):
            pass
    assert served.request("GET", "/healthz").status == 200
