"""File uploads: spooled to disk, with their own limit and deadlines."""

import asyncio
import gc
import io
from functools import partial
from threading import Event

import pytest

from app.core.errors import RateLimited, RequestTimeout, Unavailable
from app.serving import client_limits, uploads
from tests.serving.conftest import LIMIT, Client, Wsgi, ask, read_failed

pytestmark = pytest.mark.one_database

FILE = {
    "content-type": "multipart/form-data; boundary=b",
    "transfer-encoding": "chunked",
    "x-api-key": "a key",
}
PART = bytes(range(256)) * 100


def a_file(**changed):
    """Return the scope of an upload request."""
    headers = {**FILE, **changed}.items()
    raw = [(name.encode(), value.encode()) for name, value in headers if value]
    return {"path": b"/api/v1/tickets/OPS-1/files", "headers": raw}


def test_a_file_goes_over_the_disk_and_arrives_whole(application, monkeypatch):
    monkeypatch.setattr(uploads, "IN_MEMORY_BYTES", 1000)
    wsgi = Wsgi()
    assert ask(application(wsgi), Client(*[PART] * 20), **a_file()).status == 200
    assert wsgi.bodies == [PART * 20]
    assert len(PART * 20) > LIMIT


class Last(bytes):
    """The last part of a body, which records that it is read."""

    def __new__(cls, content):
        made = super().__new__(cls, content)
        made.received = Event()
        return made

    def __getitem__(self, which):
        self.received.set()
        return super().__getitem__(which)


class SlowFile(io.BytesIO):
    """A file whose disk writes nothing until the last part is received."""

    def __init__(self, last):
        super().__init__()
        self._last = last

    def write(self, content):
        assert self._last.received.wait(10)
        return super().write(content)


def opened_late(last):
    assert last.received.wait(10)
    return io.BytesIO()


@pytest.mark.parametrize("slow", [opened_late, SlowFile])
def test_a_slow_disk_loses_nothing_of_a_file(application, monkeypatch, slow):
    last = Last(b"the end")
    monkeypatch.setattr(uploads, "IN_MEMORY_BYTES", 1000)
    monkeypatch.setattr(uploads.tempfile, "TemporaryFile", lambda **_: slow(last))
    wsgi = Wsgi()
    ask(application(wsgi), Client(PART, b"the middle", last), **a_file())
    assert wsgi.bodies == [PART + b"the middlethe end"]


class StuckFile(io.BytesIO):
    """A file whose disk blocks a write until ``over``, and then has no space."""

    def __init__(self):
        super().__init__()
        self.over, self.happened = Event(), []

    def write(self, _content):
        assert self.over.wait(20)
        self.happened.append("written")
        raise OSError(28, "No space left on device")

    def close(self):
        self.happened.append("closed")
        super().close()


def test_a_file_that_is_given_up_is_closed_when_its_disk_lets_go(application, monkeypatch, caplog):
    file = StuckFile()

    class Sender(Client):
        async def receive(self):
            # After the deadline, unless the event loop is blocked.
            asyncio.get_running_loop().call_later(0.6, file.over.set)
            return await super().receive()

    monkeypatch.setattr(uploads, "IN_MEMORY_BYTES", 1000)
    monkeypatch.setattr(uploads, "LAST_BYTE_OF_FILE_SECONDS", 0.3)
    monkeypatch.setattr(uploads.tempfile, "TemporaryFile", lambda **_: file)
    with pytest.raises(RequestTimeout):
        read_failed(application, Sender(PART, PART, more=True), **a_file())
    assert file.happened == ["written", "closed"]
    gc.collect()
    assert caplog.messages == []


@pytest.mark.parametrize("changed", [{"x-api-key": ""}, {"content-type": "application/json"}])
def test_what_is_no_file_of_somebody_has_the_usual_limit(application, changed):
    wsgi = Wsgi()
    ask(application(wsgi), Client(*[PART] * 20), **a_file(**changed))
    assert [len(body) for body in wsgi.bodies] == [LIMIT + 1]


def test_a_file_that_stops_coming_is_told_so(application, monkeypatch):
    monkeypatch.setattr(uploads, "IDLE_SECONDS", 0.05)
    monkeypatch.setattr(uploads, "LAST_BYTE_OF_FILE_SECONDS", 60)
    with pytest.raises(RequestTimeout):
        read_failed(application, Client(PART, more=True), **a_file())


def test_a_client_sends_few_files_at_a_time(application, monkeypatch):
    monkeypatch.setattr(client_limits, "FILES_AT_ONCE", 0)
    with pytest.raises(RateLimited):
        read_failed(application, Client(PART), **a_file())


def test_all_clients_together_send_so_many_files_at_a_time(application, monkeypatch):
    monkeypatch.setattr(client_limits, "FILES_OF_ALL", 0)
    with pytest.raises(Unavailable):
        read_failed(application, Client(PART), **a_file())


def test_a_file_for_which_there_is_no_room_is_refused(application, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(uploads, "IN_MEMORY_BYTES", 1000)
    monkeypatch.setattr(uploads.tempfile, "TemporaryFile", full)
    with pytest.raises(Unavailable):
        read_failed(application, Client(*[PART] * 3), **a_file())


def test_what_is_left_of_a_file_without_room_fails_no_answer(application, monkeypatch):
    # The buffer keeps what the disk rejects, and closing the file writes it again.
    full = partial(open, "/dev/full", "w+b")
    monkeypatch.setattr(uploads, "IN_MEMORY_BYTES", 1000)
    monkeypatch.setattr(uploads.tempfile, "TemporaryFile", lambda **_: full())
    with pytest.raises(Unavailable):
        read_failed(application, Client(*[PART[:2000]] * 3), **a_file())
