"""The addresses that a delivery may connect to."""

import socket
import ssl
import threading
import time
from dataclasses import replace

import pytest

from app.webhooks import connecting
from app.webhooks.attempts import DeliveryAttempt, Event
from app.webhooks.sending import send
from tests.support.receiver import SECRET, receiving

pytestmark = pytest.mark.one_database


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "127.8.9.1", "0.0.0.0", "10.0.0.1", "172.16.0.1", "192.168.1.1"),
        *("169.254.169.254", "100.64.0.1", "192.0.0.8", "192.88.99.1", "198.18.0.1", "224.0.0.1"),
        *("255.255.255.255", "240.0.0.1", "192.0.2.1", "168.63.129.16"),
        *(
            "::1",
            "::",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::127.0.0.1",
            "fe80::1",
            "fe80::1%1",
        ),
        *("fc00::1", "fd12:3456::1", "ff02::1", "fec0::1", "64:ff9b::7f00:1", "64:ff9b:1::1"),
        *("2001::1", "2002:7f00:1::", "2001:db8::1", "100::1"),
    ],
)
def test_addresses_inside_are_refused(address):
    assert not connecting.may_connect(address, ())


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "93.184.216.34", "2606:4700::1111", "::ffff:8.8.8.8"]
)
def test_public_addresses_are_allowed(address):
    assert connecting.may_connect(address, ())


def test_networks_that_the_operator_allows():
    allowed = connecting.networks("10.1.0.0/16, ::1 ,127.0.0.1/8,")
    assert connecting.may_connect("10.1.2.3", allowed)
    assert connecting.may_connect("::ffff:10.1.2.3", allowed)
    assert connecting.may_connect("127.0.0.1", allowed)
    assert connecting.may_connect("::1", allowed)
    assert not connecting.may_connect("10.2.0.1", allowed)
    assert not connecting.all_may(["10.1.2.3", "10.2.0.1"], allowed)
    assert not connecting.all_may([], allowed)
    with pytest.raises(ValueError, match=r"10\.0\.0\.0/99"):
        connecting.networks("10.0.0.0/99")


def attempt(url, **payload):
    event = Event("ticket.created", {"type": "ticket.created", "payload": payload}, None, None)
    return DeliveryAttempt(
        "01a1fbee-4f49-7000-a5a0-999b73e87b69", 1, "w", url, SECRET.encode(), event
    )


def test_a_name_is_resolved_once_and_judged(reach, receiver, monkeypatch):
    asked = []

    def resolver(host, port, **_):
        asked.append(host)
        # Public at first, internal when resolved again: DNS rebinding.
        address = "93.184.216.34" if len(asked) == 1 else "127.0.0.1"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    dialled = []

    def dial(address, timeout):
        dialled.append(address[0])
        raise TimeoutError

    monkeypatch.setattr(connecting.socket, "getaddrinfo", resolver)
    monkeypatch.setattr(connecting.socket, "create_connection", dial)
    outcome = send(attempt("https://rebinding.example/"), replace(reach, allowed=()))
    assert (asked, dialled) == (["rebinding.example"], ["93.184.216.34"])
    assert outcome.is_transient


def test_one_address_inside_among_public_ones_is_enough(reach, monkeypatch):
    def resolver(host, port, **_):
        return [
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))
            for address in ("93.184.216.34", "10.0.0.1")
        ]

    monkeypatch.setattr(connecting.socket, "getaddrinfo", resolver)
    outcome = send(attempt("https://mixed.example/"), replace(reach, allowed=()))
    assert (outcome.error_message, outcome.is_transient) == ("address not allowed", False)


def test_a_name_that_leads_nowhere(reach):
    outcome = send(attempt("https://no-such-name.invalid/"), reach)
    assert "resolved" in outcome.error_message
    assert outcome.is_transient


def test_a_certificate_for_another_name(reach, authority_directory):
    with receiving(authority_directory, "other.example") as other:
        url = f"https://localhost:{other.port}/"
        outcome = send(attempt(url), replace(reach, ca_bundle=str(other.ca_file)))
        assert outcome.error_message.startswith("TLS")
        assert other.received == []


def test_proxies_of_the_environment_are_not_used(reach, receiver, monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    assert send(attempt(receiver.url), reach).http_status == 200


def test_redirects_are_not_followed(reach, receiver):
    receiver.answer = 307
    receiver.headers = {"Location": receiver.url + "/elsewhere"}
    outcome = send(attempt(receiver.url), reach)
    assert (outcome.http_status, outcome.is_transient) == (307, False)
    assert len(receiver.received) == 1


class Raw:
    """A receiver that speaks TLS and then handles the connection with ``behave``."""

    def __init__(self, directory, behave, *, tls=True):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.behave = behave
        self.context = None
        self.sent = 0
        if tls:
            with receiving(directory) as known:
                self.ca_file = known.ca_file
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.load_cert_chain(directory / "chain-localhost.pem")
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        try:
            with self.listener:
                connection, _ = self.listener.accept()
            with connection:
                if self.context is None:
                    self.behave(self, connection)
                    return
                with self.context.wrap_socket(connection, server_side=True) as secured:
                    self.behave(self, secured)
        except OSError:
            return


def stalls(raw, connection):
    connection.settimeout(8)
    while connection.recv(65536):
        pass


def drips_headers(raw, connection):
    connection.recv(65536)
    connection.sendall(b"HTTP/1.1 200 OK\r\n")
    for _ in range(80):
        connection.sendall(b"X-Drip: x\r\n")
        time.sleep(0.1)


def drips_body(raw, connection):
    connection.recv(65536)
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
    for _ in range(80):
        connection.sendall(b"x")
        time.sleep(0.1)


def pours(raw, connection):
    connection.recv(65536)
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n")
    while raw.sent < 100_000_000:
        raw.sent += connection.send(b"x" * 65536)


@pytest.mark.parametrize(
    ("behave", "tls", "status"),
    [
        pytest.param(stalls, True, None, id="never answers"),
        pytest.param(stalls, False, None, id="never ends the handshake"),
        pytest.param(drips_headers, True, None, id="never ends its headers"),
        # Once the headers have arrived, the status line decides.
        pytest.param(drips_body, True, 200, id="drips a body"),
    ],
)
def test_an_attempt_has_a_deadline_in_all(reach, authority_directory, behave, tls, status):
    raw = Raw(authority_directory, behave, tls=tls)
    bundle = str(raw.ca_file) if tls else reach.ca_bundle
    began = time.monotonic()
    outcome = send(
        attempt(f"https://localhost:{raw.port}/"), replace(reach, total=1.0, ca_bundle=bundle)
    )
    assert time.monotonic() - began < 2.5
    assert outcome.http_status == status
    if status is None:
        assert "timeout" in outcome.error_message
        assert outcome.is_transient


def test_little_is_read_of_an_endless_answer(reach, authority_directory):
    raw = Raw(authority_directory, pours)
    outcome = send(
        attempt(f"https://localhost:{raw.port}/"), replace(reach, ca_bundle=str(raw.ca_file))
    )
    assert outcome.is_success
    assert raw.sent < 20_000_000


def never_reads(raw, connection):
    time.sleep(8)


def test_a_receiver_that_does_not_read_is_given_up(reach, authority_directory, monkeypatch):
    monkeypatch.setattr(connecting, "WRITE_SECONDS", 1.0)
    raw = Raw(authority_directory, never_reads)
    began = time.monotonic()
    outcome = send(
        attempt(f"https://localhost:{raw.port}/", body="x" * 20_000_000),
        replace(reach, ca_bundle=str(raw.ca_file)),
    )
    assert 0.9 < time.monotonic() - began < 4
    assert (outcome.http_status, outcome.is_transient) == (None, True)
    assert "timeout" in outcome.error_message


def test_a_peer_that_was_not_judged_gets_nothing(reach, receiver, monkeypatch):
    dial = connecting._dial
    # A broken resolver library or a socket hook could redirect like this.
    monkeypatch.setattr(connecting, "_dial", lambda _found, port: dial(["127.0.0.1"], port))
    monkeypatch.setattr(connecting, "_resolve_name", lambda *_: ["127.0.0.2"])
    outcome = send(attempt(receiver.url), reach)
    assert (outcome.error_message, outcome.is_transient) == ("address not allowed", False)
    assert receiver.received == []


@pytest.mark.parametrize(
    "url",
    [
        "https://①②⑦.⓪.⓪.①/",
        "https://127.1/",
        "https://2130706433/",
        "https://0x7f.0.0.1/",
        "https://0177.0.0.1/",
        "https://[::ffff:127.0.0.1]/",
        "https://[::ffff:7f00:1]/",
        "https://127.0.0.1./",
        "https://localhost/",
        "https://localhost./",
        "https://0/",
    ],
)
def test_no_way_of_writing_this_machine_leads_to_it(reach, url, monkeypatch):
    dialled = []
    monkeypatch.setattr(connecting, "_dial", lambda found, _: dialled.append(found))
    outcome = send(attempt(url), replace(reach, allowed=()))
    assert dialled == []
    assert outcome.http_status is None


def test_only_https_is_ever_spoken(reach, receiver):
    outcome = send(attempt(receiver.url.replace("https:", "http:")), reach)
    assert (outcome.http_status, receiver.received) == (None, [])
