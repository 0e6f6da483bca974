"""Sending by SMTP: TLS, logins, and servers that are down, slow, full or refuse."""

import socket
import threading
import time
from contextlib import contextmanager
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from app.core import ids
from app.mail import smtp, writing
from app.mail.outbox import HeldMail, Outcome
from app.mail.smtp import UNTRIED, Addressed, send_all
from app.mail.writing import Letter
from tests.support.mailbox import PASSWORD, mail_server
from tests.support.serving import until

pytestmark = pytest.mark.one_database

ESCAPED = "p%40ss%2Fword%3A1"


def send(app, *addresses):
    """Send a letter to each address; return the outcomes by address."""
    settings = app.config["SETTINGS"]
    outcomes = {}
    with app.app_context():
        mails = []
        for address in addresses or ("ada@example.org",):
            mail_id = ids.new_id()
            message = writing.message(Letter("Hello", "Hello"), mail_id, address, settings)
            mails.append(Addressed(HeldMail(mail_id, 1), address, message))
        by_id = {mail.claimed.mail_id: mail.address for mail in mails}
        send_all(mails, settings, lambda one, how: outcomes.setdefault(by_id[one.mail_id], how))
    return outcomes


def outcome_of(app):
    (outcome,) = send(app).values()
    return outcome


def test_a_message_arrives(app, mailbox, posting):
    assert outcome_of(app) == Outcome()
    (message,) = mailbox.received
    assert message["To"] == "ada@example.org"
    assert message["From"] == "Docket <docket@mail.example.org>"
    assert message["Auto-Submitted"] == "auto-generated"
    assert message["Message-ID"].endswith("@mail.example.org>")
    assert mailbox.senders == ["docket@mail.example.org"]
    assert "Hello" in mailbox.text()
    assert "<h1" in mailbox.html()


@pytest.mark.parametrize("scheme", ["smtp", "smtps"])
def test_it_logs_in_over_verified_tls(app, authority, using, scheme, monkeypatch):
    ca_file, certificate = authority
    monkeypatch.setenv("SSL_CERT_FILE", str(ca_file))
    with mail_server(certificate=certificate, implicit=scheme == "smtps") as box:
        using(f"{scheme}://docket:{ESCAPED}@localhost:{box.port}")
        assert outcome_of(app) == Outcome()
    assert len(box.received) == 1
    assert box.logins == ["docket"]


@pytest.mark.parametrize("without", [[], ["PLAIN"]])
def test_a_password_may_have_any_letters(app, authority, using, monkeypatch, without):
    ca_file, certificate = authority
    monkeypatch.setenv("SSL_CERT_FILE", str(ca_file))
    with mail_server(certificate=certificate, password="pässwörd", without=without) as box:
        using(f"smtp://docket:p%C3%A4ssw%C3%B6rd@localhost:{box.port}")
        assert outcome_of(app) == Outcome()
        using(f"smtp://docket:w%C3%A4ssw%C3%B6rd@localhost:{box.port}")
        outcome = outcome_of(app)
    assert outcome.is_transient
    assert outcome.error.startswith("535")


@pytest.mark.parametrize("password", ["secret", "p%C3%A4ss"])
def test_a_server_that_knows_no_login_with_a_password(app, using, password):
    def answer(connected):
        connected.sendall(b"220 hello\r\n")
        connected.recv(1000)
        connected.sendall(b"250-hello\r\n250 AUTH XOAUTH2\r\n")
        connected.recv(1000)

    with listening(answer) as port:
        using(f"smtp://docket:{password}@127.0.0.1:{port}?starttls=off")
        outcome = outcome_of(app)
    assert outcome.is_transient
    assert "login" in outcome.error
    assert "closed" not in outcome.error


def test_a_server_that_refuses_the_login_sees_no_password(app, using):
    heard = []

    def answer(connected):
        connected.sendall(b"220 hello\r\n")
        connected.recv(1000)
        connected.sendall(b"250-hello\r\n250 AUTH LOGIN\r\n")
        connected.recv(1000)
        connected.sendall(b"454 4.7.0 Temporary failure\r\n")
        heard.append(connected.recv(1000))

    with listening(answer) as port:
        using(f"smtp://docket:p%C3%A4ss@127.0.0.1:{port}?starttls=off")
        outcome = outcome_of(app)
    assert (outcome.is_transient, outcome.error) == (True, "454 4.7.0 Temporary failure")
    until(lambda: heard)
    assert heard == [b""]


@pytest.mark.parametrize(
    ("base_url", "name"),
    [
        ("https://docket.example.org", "docket.example.org"),
        ("http://192.0.2.7:8000", "[127.0.0.1]"),
        ("http://docket:8000", "[127.0.0.1]"),
        ("http://[2001:db8::7]:8000", "[127.0.0.1]"),
    ],
)
def test_it_greets_with_a_domain_or_an_address(app, using, base_url, name):
    greetings = []

    def answer(connected):
        connected.sendall(b"220 hello\r\n")
        greetings.append(connected.recv(1000))

    with listening(answer) as port:
        using(f"smtp://127.0.0.1:{port}?starttls=off", base_url=base_url)
        outcome_of(app)
    assert greetings == [f"ehlo {name}\r\n".encode()]


def test_it_greets_with_an_address_of_ipv6(using):
    settings = using("smtp://mail.example.org", base_url="http://docket:8000")
    # Not every machine has IPv6.
    connected = Mock(getsockname=lambda: ("fe80::1%eth0", 4321, 0, 2))
    assert smtp._own_name(settings, connected) == "[IPv6:fe80::1]"


@pytest.mark.parametrize("scheme", ["smtp", "smtps"])
def test_an_unknown_authority_is_refused_and_sees_no_password(app, authority, using, scheme):
    _, certificate = authority
    with mail_server(certificate=certificate, implicit=scheme == "smtps") as box:
        using(f"{scheme}://docket:{ESCAPED}@localhost:{box.port}")
        outcome = outcome_of(app)
    assert (outcome.is_transient, outcome.error) == (
        True,
        "TLS: the certificate or handshake was rejected",
    )
    assert box.logins == box.received == []


def test_a_certificate_of_another_name_is_refused(app, authority, using, monkeypatch):
    ca_file, certificate = authority
    monkeypatch.setenv("SSL_CERT_FILE", str(ca_file))
    with mail_server(certificate=certificate) as box:
        using(f"smtp://docket:{ESCAPED}@127.0.0.1:{box.port}")
        assert "TLS" in outcome_of(app).error
    assert box.logins == []


def test_without_starttls_nothing_is_sent_unless_the_address_says_so(app, mailbox, using):
    using(f"smtp://127.0.0.1:{mailbox.port}")
    outcome = outcome_of(app)
    assert (outcome.is_transient, outcome.error) == (
        True,
        "the server does not offer STARTTLS or a login",
    )
    assert mailbox.received == []


def test_a_wrong_password_is_tried_again_later_and_stands_nowhere(
    app, authority, using, monkeypatch
):
    ca_file, certificate = authority
    monkeypatch.setenv("SSL_CERT_FILE", str(ca_file))
    with mail_server(certificate=certificate) as box:
        using(f"smtp://docket:wrong-pass@localhost:{box.port}")
        outcome = outcome_of(app)
    assert outcome.is_transient
    assert outcome.error.startswith("535")
    assert "wrong-pass" not in outcome.error
    assert PASSWORD not in repr(app.config["SETTINGS"])
    assert "wrong-pass" not in repr(app.config["SETTINGS"])


def test_a_dead_server(app, using):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    using(f"smtp://127.0.0.1:{port}?starttls=off")
    assert outcome_of(app) == Outcome("connection refused", is_transient=True)


@contextmanager
def listening(answer):
    """Run a server that passes each connection to ``answer``."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(5)

        def run():
            try:
                connected, _ = server.accept()
                with connected:
                    answer(connected)
            except OSError:
                pass

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        yield server.getsockname()[1]


def say_nothing(connected):
    time.sleep(2)


def drip(connected):
    """Send a byte at a time, so that no single step times out."""
    while True:
        connected.sendall(b"2")
        time.sleep(0.05)


@pytest.mark.parametrize("answer", [say_nothing, drip])
def test_a_slow_server_is_given_up(app, using, monkeypatch, answer):
    monkeypatch.setattr(smtp, "STEP_SECONDS", 0.3)
    monkeypatch.setattr(smtp, "SESSION_SECONDS", 0.5)
    with listening(answer) as port:
        using(f"smtp://127.0.0.1:{port}?starttls=off")
        began = time.monotonic()
        outcome = outcome_of(app)
    assert time.monotonic() - began < 2
    assert outcome.is_transient
    assert outcome.error.startswith("timeout")


def test_a_text_may_be_checked_longer_than_a_step_takes(app, mailbox, posting, monkeypatch):
    monkeypatch.setattr(smtp, "STEP_SECONDS", 1.0)
    mailbox.on_text = lambda: time.sleep(1.5)
    assert outcome_of(app) == Outcome()


def test_an_end_that_is_not_answered_takes_a_step(app, using, monkeypatch):
    monkeypatch.setattr(smtp, "STEP_SECONDS", 0.5)

    def answer(connected):
        for said in (b"220 hello", b"250 hello", b"250 OK", b"250 OK", b"354 Go on", b"250 OK"):
            connected.sendall(said + b"\r\n")
            connected.recv(10_000)
        time.sleep(4)

    with listening(answer) as port:
        using(f"smtp://127.0.0.1:{port}?starttls=off")
        began = time.monotonic()
        assert outcome_of(app) == Outcome()
    assert time.monotonic() - began < 3


def test_a_mail_that_could_not_end_in_time_is_not_begun(app, mailbox, posting, monkeypatch):
    now = 0.0

    def check_for_long():
        nonlocal now
        now += smtp.SESSION_SECONDS * 0.6

    monkeypatch.setattr(smtp, "time", SimpleNamespace(monotonic=lambda: now))
    mailbox.on_text = check_for_long
    outcomes = list(send(app, "ada@example.org", "bo@example.org").values())
    assert outcomes == [Outcome(), UNTRIED]
    assert mailbox.recipients == ["ada@example.org"]


def hang_up(connected):
    connected.sendall(b"220 hello\r\n")


def talk_nonsense(connected):
    connected.sendall(b"HTTP/1.1 200 OK\r\n\r\n")


def flood(connected):
    connected.sendall(b"2" * 100_000)


@pytest.mark.parametrize("answer", [hang_up, talk_nonsense, flood])
def test_what_is_no_mail_server_is_tried_again_later(app, using, answer):
    with listening(answer) as port:
        using(f"smtp://127.0.0.1:{port}?starttls=off")
        outcome = outcome_of(app)
    assert outcome.is_transient
    assert outcome.error
    assert "internal" not in outcome.error
    assert len(outcome.error) < 70_000


@pytest.mark.parametrize(
    ("recipient", "text", "is_transient"),
    [
        ("451 4.7.1 Greylisted, try again", "250 OK", True),
        ("550 5.1.1 No such user", "250 OK", False),
        ("550 No such user", "250 OK", False),
        ("553 5.7.1 <docket@x>: Sender address rejected: not owned by user", "250 OK", True),
        ("554 5.7.1 <unknown[192.0.2.7]>: Client host rejected", "250 OK", True),
        ("504 5.5.2 <docket>: Helo command rejected", "250 OK", True),
        ("550 5.1.8 <docket@x>: Sender address rejected: Domain not found", "250 OK", True),
        ("250 OK", "452 4.2.2 Mailbox full", True),
        ("250 OK", "554 5.7.1 Spam", False),
    ],
)
def test_a_refusal_for_now_is_tried_again_and_one_for_good_is_not(
    app, mailbox, posting, recipient, text, is_transient
):
    mailbox.to_recipient, mailbox.to_text = recipient, text
    outcome = outcome_of(app)
    assert outcome.is_transient is is_transient
    assert outcome.error == (text if recipient.startswith("250") else recipient)


def test_one_refused_recipient_keeps_no_other_from_theirs(app, mailbox, posting):
    mailbox.to_recipient = lambda address: "550 No" if address.startswith("bo") else "250 OK"
    outcomes = send(app, "ada@example.org", "bo@example.org", "carol@example.org")
    assert [one.error for one in outcomes.values()] == [None, "550 No", None]
    assert mailbox.recipients == ["ada@example.org", "carol@example.org"]


def test_after_a_lost_connection_the_rest_counts_as_untried(app, mailbox, posting):
    mailbox.to_text = "421 Closing"
    outcomes = list(send(app, "ada@example.org", "bo@example.org").values())
    assert outcomes[0].is_transient
    assert outcomes[1].is_untried
