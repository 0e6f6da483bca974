"""Where issue files are downloaded from, how they are requested, and what ends a run."""

from pathlib import Path

import pytest

from app.importing.issues import Issue, IssueFile
from app.importing.report import ImportReport
from app.importing.trackers import file_downloads
from app.importing.trackers.client import ApiClient, LimitReached, TrackerError
from app.importing.trackers.file_downloads import FileDownloads
from app.webhooks.connecting import Limits, networks
from tests.importing.tracker_server import Reply, TrackerServer
from tests.support.receiver import make_authority

GONE = "HTTP 404; only a run with --fresh asks for it again"


@pytest.fixture
def away(app, waits, tmp_path):
    """Yield a function that fetches files; the tracker, and two TLS servers of files."""
    authority, chain = make_authority(tmp_path)
    servers = [TrackerServer(lambda _server, _asked: Reply({}, 404)) for _ in range(3)]
    own, host, other = servers
    host.serve_tls(chain)
    other.serve_tls(chain)
    addresses = [one.url.replace("http://127.0.0.1", "https://localhost") for one in (host, other)]
    client = ApiClient("Tracker", own.url, {"Authorization": "s3cret"}, tell=lambda _: None)

    def fetch(
        *addresses, hosts=("localhost",), public=(), allowed="127.0.0.0/8,::1/128", report=None
    ):
        limits = Limits(networks(allowed), str(authority), "docket")
        downloads = FileDownloads(client, app.config["SETTINGS"], limits, hosts, public)
        wanted = tuple(IssueFile(address, address, "a.txt") for address in addresses)
        issue = Issue("1", "One", files=wanted)
        report = report or ImportReport()
        with downloads.prepared([issue], report) as made:
            found = [one.content.path.read_bytes() for one in made["1"].files.values()]
        return found or [reason for _, reason, _ in report.notes]

    yield fetch, own, host, other, *addresses
    for server in servers:
        server.close()


@pytest.mark.one_database
def test_where_a_token_goes_and_what_is_followed(away, waits):
    fetch, own, host, other, host_url, other_url = away

    def tokens(server):
        found = [one.headers.get("authorization") for one in server.asked]
        server.asked.clear()
        return found

    host.files["/f"] = Reply(raw=b"dark")
    assert fetch(f"{host_url}/f") == [b"dark"]
    assert tokens(host) == ["s3cret"]
    assert fetch(f"{host_url}/f", hosts=(), public=("localhost",)) == [b"dark"]
    assert tokens(host) == [None]
    opened = [one.readlink().name for one in Path("/dev/fd").iterdir() if one.is_symlink()]
    assert not [name for name in opened if name.startswith("imported-")]
    # A redirect to another origin is followed without the token, even from the tracker itself.
    other.files["/g"] = Reply(raw=b"light")
    moved = Reply(None, 302, {"Location": f"{other_url}/g?signed=1"})
    host.files["/f"] = own.files["/f"] = moved
    assert fetch(f"{host_url}/f") == fetch(f"{own.url}/f") == [b"light"]
    assert tokens(other) == [None, None]
    # Readable by everybody, but not with this token.
    host.files["/f"] = Reply({}, 403)
    assert fetch(f"{host_url}/f") == ["file not imported: HTTP 403"]
    host.asked.clear()
    host.faults.extend([Reply({}, 404), Reply(raw=b"public")])
    assert fetch(f"{host_url}/f") == [b"public"]
    assert tokens(host) == ["s3cret", None]
    # A file missing with the token is missing; without it, private files always look missing.
    for first, then, reason in ((401, 404, "HTTP 401"), (403, 410, "HTTP 403"), (404, 403, GONE)):
        host.faults.extend([Reply({}, first), Reply({}, then)])
        assert fetch(f"{host_url}/f") == [f"file not imported: {reason}"]
    host.files["/f"] = Reply(None, 302, {"Location": "/f"})
    assert fetch(f"{host_url}/f") == ["file not imported: too many redirects"]
    for location in (f"{own.url}/f", "file:///etc/passwd", "https://user@localhost/"):
        host.files["/f"] = Reply(None, 302, {"Location": location})
        own.asked.clear()
        assert fetch(f"{host_url}/f") == ["file not imported: its address is not https"]
        assert own.asked == []
    host.files["/f"] = own.files["/f"] = Reply(None, 302, {"Location": "https://["})
    assert fetch(f"{host_url}/f") == ["file not imported: no response"]
    assert fetch(f"{own.url}/f") == ["file not imported: no response"]
    host.files["/f"] = Reply(raw=b"dark")
    host.asked.clear()
    for path in ("/a/../f", "/%2e%2e/f", "/a%2ff", "/a%5cf"):
        for url in (host_url, own.url):
            assert fetch(url + path) == ["file not imported: its address is ambiguous"]
    assert fetch(f"{host_url}/f", allowed="") == [
        "file not imported: its host is in a private network"
    ]
    assert fetch(f"{host_url}/f", hosts=()) == ["file not imported: it is on another host"]
    assert host.asked == []
    host.files["/f"] = Reply(raw=b"dark", announced=9)
    waits.clear()
    assert fetch(f"{host_url}/f") == ["file not imported: no response"]
    host.faults.append(Reply({}, 429, {"Retry-After": "9"}))
    host.files["/f"] = Reply(raw=b"dark")
    assert fetch(f"{host_url}/f") == [b"dark"]
    assert waits == [1, 2, 9]


@pytest.mark.one_database
@pytest.mark.parametrize("fault", [Reply({}, 502), Reply(raw=b"dark", announced=9)])
def test_a_host_that_fails_again_and_again_ends_the_import(away, fault):
    fetch, own, host, _, host_url, _ = away
    host.files |= {f"/{number}": fault for number in range(9)}
    own.files |= {
        f"/{number}": Reply(None, 302, {"Location": f"{host_url}/{number}"}) for number in range(9)
    }
    for url in (own.url, host_url):
        few, many = ([f"{url}/{number}" for number in range(most)] for most in (4, 9))
        assert len(fetch(*few)) == 4
        with pytest.raises(TrackerError, match=r"Files of localhost .* With --no-files"):
            fetch(*many)
    # Failures that another run would only repeat.
    host.files |= {f"/{number}": Reply(None, 302, {"Location": "https://["}) for number in range(9)}
    assert len(fetch(*many)) == 9


@pytest.mark.one_database
def test_files_that_cannot_be_had_hide_none(app, away, monkeypatch):
    monkeypatch.setattr(file_downloads, "MAX_FILES", 2)
    fetch, own, *_ = away
    own.files |= {f"/{name}": Reply(raw=name.encode()) for name in "abc"}
    own.files["/gone"] = Reply({}, 410)
    own.files["/page"] = Reply(raw=b"<p>", headers={"Content-Type": "text/html"})
    missing = [f"{own.url}/{name}" for name in ("x", "gone", "page", "z")]
    report = ImportReport()
    assert fetch(*missing, *(f"{own.url}/{name}" for name in "abc"), report=report) == [b"a", b"b"]
    assert [reason for _, reason, _ in report.notes] == [
        *(
            f"file not imported: HTTP {n}; only a run with --fresh asks for it again"
            for n in (404, 410)
        ),
        "file not imported: the response is a web page",
        f"file not imported: {GONE}",
        "more than 2 files; run the same command again for more",
    ]
    assert list(app.config["SETTINGS"].incoming_dir.iterdir()) == []
    # Each run requests only some of many files, and not always the same ones.
    monkeypatch.setattr(file_downloads, "MAX_ATTEMPTS", 4)
    many = [f"{own.url}/page?{number}" for number in range(5)]
    for _ in range(99):
        own.asked.clear()
        found = fetch(*many, f"{own.url}/c")
        assert len(own.asked) == 4
        if found == [b"c"]:
            break
        assert found[-1] == "more than 2 files; run the same command again for more"
    assert found == [b"c"]


@pytest.mark.one_database
def test_the_limit_of_a_host_of_files_is_kept(away, waits):
    fetch, _, host, _, host_url, _ = away
    host.files["/f"] = Reply(raw=b"dark")
    host.faults.extend([Reply({}, 429, {"Retry-After": "9"})] * 8)
    host.faults.append(Reply({}, 503, {"Retry-After": "3"}))
    assert fetch(f"{host_url}/f") == [b"dark"]
    assert waits == [9] * 8 + [3]
    host.files["/f"] = Reply({}, 429, {"Retry-After": "86400"})
    with pytest.raises(LimitReached, match=r"localhost is reached.* again in 1,440 minutes"):
        fetch(f"{host_url}/f")


@pytest.mark.one_database
def test_a_full_disk_ends_the_import(away, waits, monkeypatch):
    fetch, own, host, _, host_url, _ = away
    host.files["/f"] = own.files["/f"] = Reply(raw=b"dark")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "open", full)
    for url in (host_url, own.url):
        with pytest.raises(TrackerError, match=r"Files cannot be written to .*: No space left"):
            fetch(f"{url}/f")
    assert waits == []
