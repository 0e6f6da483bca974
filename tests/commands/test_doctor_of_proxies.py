"""flask doctor sends requests through the proxies, and reports who arrived."""

import http.client
import threading
from contextlib import ExitStack, contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from app.accounts import arrival
from app.config import Settings
from tests.commands.test_copy_and_restore import KEY, command
from tests.support.forking import FORKED
from tests.support.receiver import receiving
from tests.support.serving import serving

pytestmark = [pytest.mark.one_database, pytest.mark.slow]


@contextmanager
def proxy(port, adding):
    """Run a proxy for this port; ``adding`` maps X-Forwarded-For and peer to the new header."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            names = {name.lower(): value for name, value in self.headers.items()}
            forwarded = adding(names.pop("x-forwarded-for", ""), self.client_address[0])
            # nginx does this by default.
            passed = {name: value for name, value in names.items() if "_" not in name}
            asking = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
            asking.request("GET", self.path, headers=passed | {"X-Forwarded-For": forwarded})
            answer = asking.getresponse()
            body = answer.read()
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)
            asking.close()

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def appended(forwarded, client):
    return f"{forwarded}, {client}"


def replaced(_forwarded, client):
    return client


def kept(forwarded, _client):
    return forwarded


@pytest.fixture(scope="module")
def trusting(tmp_path_factory):
    """Return a function that starts a server trusting this many proxies, and its directory."""
    with ExitStack() as held:

        @cache
        def start(trusted):
            instance = tmp_path_factory.mktemp("doctor") / "instance"
            settings = {"SECRET_KEY": KEY, "TRUSTED_PROXIES": trusted}
            return held.enter_context(serving(instance, command=FORKED, **settings)), instance

        yield start


@pytest.mark.parametrize(
    ("trusted", "adding", "said"),
    [
        (0, None, "ok   proxies: a request from here arrives from 127.0.0.1"),
        (1, None, "FAIL proxies: a request from here arrives from 192.0.2.77"),
        (1, appended, "ok   proxies: a request from here arrives from 127.0.0.1"),
        (1, replaced, "ok   proxies: a request from here arrives from 127.0.0.1"),
        (1, kept, "Clients can forge their address"),
        (2, appended, "Clients can forge their address"),
        (0, appended, "Set TRUSTED_PROXIES"),
    ],
)
def test_what_arrives_is_said_with_what_to_do(trusting, trusted, adding, said):
    served, instance = trusting(trusted)
    if adding is None:
        found = command(instance, "doctor", code=1, BASE_URL=served.url)
    else:
        with proxy(served.port, adding) as url:
            found = command(instance, "doctor", code=1, BASE_URL=url)
    # No people were set up, so there is always a failure.
    assert "FAIL people" in found
    assert said in found


def test_a_server_with_another_secret_key_is_another_server(trusting):
    served, instance = trusting(1)
    another = "another secret key of the tests, as long"
    found = command(instance, "doctor", code=1, SECRET_KEY=another, BASE_URL=served.url)
    assert "is not a server with this SECRET_KEY" in found


def test_where_nobody_answers_it_is_only_noted(tmp_path):
    found = command(tmp_path, "doctor", code=1, BASE_URL="http://127.0.0.1:1")
    assert "note proxies: http://127.0.0.1:1 cannot be reached from here" in found


def test_the_authorities_that_are_named_are_trusted(tmp_path, monkeypatch):
    with receiving(tmp_path) as other:

        def found(named):
            monkeypatch.setenv("REQUESTS_CA_BUNDLE", named)
            url = f"https://localhost:{other.port}"
            return command(tmp_path, "doctor", code=1, BASE_URL=url)

        assert "cannot be reached from here (SSLError)" in found("")
        assert "is not a server with this SECRET_KEY" in found(str(other.ca_file))
        assert "cannot be reached from here (OSError)" in found("missing.pem")


@pytest.mark.parametrize("spoiled", ["", "x", "1.x", "{old}", "{other}"])
def test_nobody_without_the_secret_key_is_told(app, client, spoiled, monkeypatch):
    settings: Settings = app.config["SETTINGS"]
    probe = arrival.signed(settings)
    assert arrival.ARRIVED in client.get("/healthz", headers={arrival.PROBE: probe}).headers
    # Nor in any other response.
    assert arrival.ARRIVED not in client.get("/login", headers={arrival.PROBE: probe}).headers
    monkeypatch.setattr(arrival, "now_ms", lambda: int(probe.partition(".")[0]) - 100_000)
    sent = spoiled.format(old=arrival.signed(settings), other=probe[:-1] + "g")
    monkeypatch.undo()
    assert arrival.ARRIVED not in client.get("/healthz", headers={arrival.PROBE: sent}).headers
