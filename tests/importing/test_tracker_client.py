"""Requests to other trackers: what is retried or refused, and where a token is sent."""

import gzip

import pytest

from app.importing.trackers.client import (
    ApiClient,
    Refused,
    TrackerError,
    Waits,
    checked_base,
    parsed,
)
from app.importing.trackers.download import DownloadStep, download
from app.importing.trackers.download_file import DownloadFile, FetchedPage
from tests.importing.tracker_server import Reply, TrackerServer
from tests.support.receiver import make_authority


@pytest.fixture
def slept(monkeypatch):
    seconds = []
    monkeypatch.setattr(Waits, "sleep", staticmethod(seconds.append))
    return seconds


@pytest.fixture
def server(slept):
    found = TrackerServer(lambda _server, asked: Reply({"path": asked.path}))
    yield found
    found.close()


@pytest.fixture
def other():
    found = TrackerServer(lambda _server, _asked: Reply([]))
    yield found
    found.close()


@pytest.fixture
def client(server):
    return ApiClient("Tracker", server.url, {"Authorization": "Bearer s3cret"}, tell=lambda _: None)


def test_a_redirect_is_followed_on_the_same_host_alone(server, other, client):
    server.faults.append(Reply(None, 301, {"Location": "/elsewhere?a=1"}))
    assert client.get("/x").body == {"path": "/elsewhere"}
    for location in (
        other.url,
        f"{other.url}/x",
        "//example.com/x",
        "https://127.0.0.1/",
        "https://[x",
    ):
        server.faults.append(Reply(None, 302, {"Location": location}))
        with pytest.raises(TrackerError, match="another host"):
            client.get("/x")
    assert other.asked == []
    server.faults.extend([Reply(None, 302, {"Location": "/again"})] * 5)
    with pytest.raises(TrackerError, match="too many times"):
        client.get("/x")


@pytest.mark.parametrize(
    "address",
    [
        "http://user@127.0.0.1/",
        "http://127.0.0.1@example.com/",
        "http://127.0.0.1\\@example.com/",
        "https://[::1/",
        "ftp://127.0.0.1/",
    ],
)
def test_a_page_of_another_host_is_not_asked_for(client, address):
    with pytest.raises(TrackerError, match="another host"):
        client.get(address)


@pytest.mark.parametrize(
    "fault",
    [
        Reply({}, 500),
        Reply(raw=b"[1, 2", announced=50),
        Reply(raw=b"[" * 100_000),
        Reply(raw=b'{"a": NaN}'),
        Reply(raw=b"no gzip", headers={"Content-Encoding": "gzip"}),
    ],
)
def test_failures_are_retried_a_few_times(server, client, slept, fault):
    server.faults.append(fault)
    assert client.get("/x").body == {"path": "/x"}
    server.faults.extend([fault] * 6)
    with pytest.raises(TrackerError, match="Run the same command again"):
        client.get("/x")
    assert 20 < sum(slept) < 60


def test_an_answer_is_bounded_also_when_it_is_unpacked(server, client, monkeypatch):
    monkeypatch.setattr("app.importing.trackers.client.ANSWER_BYTES", 100_000)
    bomb = gzip.compress(b" " * 10_000_000)
    server.faults.extend([Reply(raw=bomb, headers={"Content-Encoding": "gzip"})] * 6)
    with pytest.raises(TrackerError, match="too long"):
        client.get("/x")


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "9"}, 9),
        ({"Retry-After": "Fri, 31 Dec 1999 23:59:59 GMT"}, 1),
        ({"X-RateLimit-Reset": "1"}, 1),
        ({"X-RateLimit-Reset": "2000-01-01T00:00:00Z"}, 1),
        ({"Retry-After": "soon"}, 60),
        ({}, 60),
    ],
)
def test_limits_are_kept(server, client, slept, headers, seconds):
    server.faults.append(Reply({}, 429, headers))
    client.get("/x")
    assert slept == [seconds]


def test_a_limit_that_lasts_too_long_ends_the_run(server, client, slept):
    server.faults.append(Reply({}, 429, {"Retry-After": "86400"}))
    with pytest.raises(TrackerError, match="again in 1,440 minutes"):
        client.get("/x")
    server.faults.extend([Reply({}, 429, {"Retry-After": "1"})] * 20)
    with pytest.raises(TrackerError, match="limit"):
        client.get("/x")
    assert sum(slept) < 20


def test_a_refusal_says_what_the_tracker_says_on_one_line(server, client):
    server.faults.append(Reply({"message": "No\n\x1b[31mway."}, 403))
    with pytest.raises(Refused, match=r"403\): No \[31mway\.$") as caught:
        client.get("/x")
    assert caught.value.status == 403
    assert "s3cret" not in str(caught.value)


def test_halves_of_characters_are_replaced():
    assert parsed(b'["\\ud83d cut"]') == ["? cut"]


@pytest.mark.parametrize("base", ["", "x", "http://example.com", "https://a:b@c", "https://a?x=1"])
def test_bases_that_are_refused(base):
    with pytest.raises(TrackerError):
        checked_base(base)


def test_one_run_at_a_time_downloads_a_source(tmp_path):
    first = DownloadFile(tmp_path, {"of": "lamp"})
    with pytest.raises(TrackerError, match="Another run"):
        DownloadFile(tmp_path, {"of": "lamp"})
    first.append("issues", FetchedPage([1, 2], "next"))
    other = DownloadFile(tmp_path, {"of": "desk"})
    assert not other.has_earlier
    first.close(remove=False)
    again = DownloadFile(tmp_path, {"of": "lamp"})
    assert (again.position("issues"), list(again.items("issues"))) == ("next", [1, 2])
    again.close(remove=True)
    other.close(remove=True)
    assert list((tmp_path / "imports").iterdir()) == []


def test_pages_that_form_a_cycle_are_left(tmp_path):
    following = {None: "2", "2": "3", "3": "2"}
    step = DownloadStep("issues", lambda position: FetchedPage([1], following[position]))

    class Cyclic:
        title = "Lamp"

        def steps(self, file):
            return [step]

    file = DownloadFile(tmp_path, {})
    with pytest.raises(TrackerError, match="Lamp returned the same page twice"):
        download(Cyclic(), file, lambda name, count: None)
    assert file.count("issues") == 2
    file.close(remove=True)


def test_a_list_without_an_end_is_left(tmp_path, monkeypatch):
    monkeypatch.setattr("app.importing.trackers.download_file.MAX_PAGES", 3)
    file = DownloadFile(tmp_path, {})
    for number in range(3):
        file.append("issues", FetchedPage([], str(number)))
    with pytest.raises(TrackerError, match="more than 3 pages"):
        file.append("issues", FetchedPage([], "4"))
    file.close(remove=True)


def test_a_download_has_a_bound(tmp_path, monkeypatch):
    monkeypatch.setattr("app.importing.trackers.download_file.MAX_BYTES", 1_000)
    file = DownloadFile(tmp_path, {})
    with pytest.raises(TrackerError, match="8 GiB"):
        file.append("issues", FetchedPage(["x" * 2_000], None))
    file.close(remove=True)


def test_a_certificate_that_nobody_vouches_for_is_refused(other, slept, tmp_path):
    authority, chain = make_authority(tmp_path)
    other.serve_tls(chain)
    asked = other.url.replace("http://127.0.0.1", "https://localhost")
    vouched = ApiClient("Tracker", asked, {}, tell=lambda _: None, ca_bundle=str(authority))
    assert vouched.get("/").body == []
    by_number = ApiClient(
        "Tracker",
        asked.replace("localhost", "127.0.0.1"),
        {"Authorization": "s3cret"},
        tell=lambda _: None,
        ca_bundle=str(authority),
    )
    unknown = ApiClient("Tracker", asked, {"Authorization": "s3cret"}, tell=lambda _: None)
    for client in (by_number, unknown):
        with pytest.raises(TrackerError, match="certificate"):
            client.get("/")
    assert len(other.asked) == 1
