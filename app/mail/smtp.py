"""Sending by SMTP: verified TLS, with time limits for every step and the whole session."""

import logging
import re
import smtplib
import socket
import ssl
import time
from base64 import b64encode
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from email.utils import parseaddr
from urllib.parse import urlsplit

from app.config import Settings
from app.environment import MailServer, mail_server
from app.http.time_limit import Guard
from app.mail import messages
from app.mail.outbox import HeldMail, Outcome

log = logging.getLogger(__name__)

CONNECT_SECONDS = 10.0
STEP_SECONDS = 30.0
# Shorter than the lease of a claim.
SESSION_SECONDS = 240.0
UNTRIED = Outcome(is_untried=True)
_DOMAIN = re.compile(r"([a-z0-9-]+\.)+[a-z][a-z0-9-]*")
# Servers such as Postfix refuse a recipient where they mean the sender, the client or its login.
_NOT_OF_RECIPIENT = re.compile(r"5\.(1\.[78]|5\.\d+|7\.\d+) ")
# The first match describes a failure.
_KNOWN: tuple[tuple[type[Exception], str], ...] = (
    (smtplib.SMTPNotSupportedError, messages.NO_STARTTLS_OR_LOGIN),
    (ssl.SSLError, messages.TLS_REJECTED),
    (socket.gaierror, messages.SERVER_UNRESOLVED),
    (ConnectionRefusedError, messages.CONNECTION_REFUSED),
    (smtplib.SMTPServerDisconnected, messages.CONNECTION_CLOSED),
    # The library raises the class itself if it knows none of the offered mechanisms.
    (smtplib.SMTPException, messages.NO_PASSWORD_LOGIN),
    (OSError, messages.CONNECTION_FAILED),
)


@dataclass(frozen=True, slots=True)
class Addressed:
    """A message that is ready to be sent."""

    claimed: HeldMail
    address: str
    message: bytes


def send_all(
    mails: Sequence[Addressed], settings: Settings, ended: Callable[[HeldMail, Outcome], None]
) -> None:
    """Send the mails in one session; report each to ``ended`` at once. Failures are outcomes."""
    server = mail_server(settings.smtp_url)
    if server is None or not mails:
        return
    guard = Guard(SESSION_SECONDS)
    try:
        try:
            connection = _open(server, settings, guard)
        except Exception as problem:
            for mail in mails:
                ended(mail.claimed, _failed(problem, guard, is_of_server=True))
            return
        with suppress(smtplib.SMTPException, OSError):
            _send_each(connection, mails, settings, guard, ended)
            connection.quit()
        connection.close()
    finally:
        guard.end()


def refusal(settings: Settings) -> str | None:
    """Why the server would take no mail, or None: connects, secures and logs in; sends nothing."""
    server = mail_server(settings.smtp_url)
    if server is None:
        return messages.SMTP_URL_MISSING
    guard = Guard(SESSION_SECONDS)
    try:
        connection = _open(server, settings, guard)
    except Exception as problem:
        return _failed(problem, guard, is_of_server=True).error
    else:
        with suppress(smtplib.SMTPException, OSError):
            connection.quit()
        connection.close()
        return None
    finally:
        guard.end()


def _open(server: MailServer, settings: Settings, guard: Guard) -> smtplib.SMTP:
    """Open a session: greeted, secured and logged in as SMTP_URL specifies."""
    connected = socket.create_connection((server.host, server.port), CONNECT_SECONDS)
    # From here on the guard can end every step, including the first greeting.
    guard.watch(connected)
    connected.settimeout(STEP_SECONDS)
    hello = _own_name(settings, connected)
    connection = smtplib.SMTP(local_hostname=hello, timeout=STEP_SECONDS)
    connection.sock = connected
    try:
        if server.tls == "implicit":
            _secure(connection, connected, server.host)
        code, greeting = connection.getreply()
        if code != 220:
            raise smtplib.SMTPConnectError(code, greeting)
        if server.tls == "starttls":
            _start_tls(connection, connected, server.host)
        if server.username:
            _log_in(connection, server)
    except BaseException:
        connection.close()
        raise
    return connection


def _own_name(settings: Settings, connected: socket.socket) -> str:
    """The domain of BASE_URL, or if it has none, the address of this end (RFC 5321, 4.1.3)."""
    host = urlsplit(settings.base_url).hostname or ""
    if _DOMAIN.fullmatch(host):
        return host
    address = connected.getsockname()[0].partition("%")[0]
    return f"[IPv6:{address}]" if ":" in address else f"[{address}]"


def _log_in(connection: smtplib.SMTP, server: MailServer) -> None:
    """Log in. The library sends ASCII only; servers take UTF-8 (RFC 4616)."""
    name, password = server.username, server.password
    if (name + password).isascii():
        connection.login(name, password)
        return
    connection.ehlo_or_helo_if_needed()
    offered = connection.esmtp_features.get("auth", "").split()
    if "PLAIN" in offered:
        given = _base64(f"\0{name}\0{password}")
        code, answer = connection.docmd("AUTH", f"PLAIN {given}")
    elif "LOGIN" in offered:
        code, answer = connection.docmd("AUTH", f"LOGIN {_base64(name)}")
        if code == 334:
            code, answer = connection.docmd(_base64(password))
    else:
        raise smtplib.SMTPException
    if code != 235:
        raise smtplib.SMTPAuthenticationError(code, answer)


def _base64(text: str) -> str:
    return b64encode(text.encode()).decode()


def _start_tls(connection: smtplib.SMTP, connected: socket.socket, host: str) -> None:
    connection.ehlo_or_helo_if_needed()
    if not connection.has_extn("starttls"):
        raise smtplib.SMTPNotSupportedError
    code, answer = connection.docmd("STARTTLS")
    if code != 220:
        raise smtplib.SMTPResponseException(code, answer)
    _secure(connection, connected, host)
    # The server's first answer was unprotected, so ask again (RFC 3207).
    connection.helo_resp = connection.ehlo_resp = None
    connection.esmtp_features = {}
    connection.does_esmtp = False


def _secure(connection: smtplib.SMTP, connected: socket.socket, host: str) -> None:
    """Use TLS from here on; cleartext that was received but not read is dropped."""
    connection.file = None
    connection.sock = ssl.create_default_context().wrap_socket(connected, server_hostname=host)


def _send_each(
    connection: smtplib.SMTP,
    mails: Sequence[Addressed],
    settings: Settings,
    guard: Guard,
    ended: Callable[[HeldMail, Outcome], None],
) -> None:
    sender = parseaddr(settings.mail_from)[1]
    if connection.sock is not None:
        # A server may check a text for minutes, and deliver it even if nobody waits any longer.
        connection.sock.settimeout(SESSION_SECONDS)
    # Leaves time for the mail that begins last.
    last_begin = time.monotonic() + SESSION_SECONDS / 2
    for mail in mails:
        if connection.sock is None or guard.has_fired or time.monotonic() > last_begin:
            ended(mail.claimed, UNTRIED)
            continue
        try:
            connection.sendmail(sender, [mail.address], mail.message)
            outcome = Outcome()
        except Exception as problem:
            outcome = _failed(problem, guard)
            if not isinstance(
                problem, smtplib.SMTPResponseException | smtplib.SMTPRecipientsRefused
            ):
                connection.close()
        ended(mail.claimed, outcome)
    if connection.sock is not None:
        # What follows sends nothing that could arrive twice.
        connection.sock.settimeout(STEP_SECONDS)


def _failed(problem: Exception, guard: Guard, *, is_of_server: bool = False) -> Outcome:
    """The outcome of a failure; permanent refusals of a mail or its recipient are not retried."""
    if guard.has_fired or "timed out" in str(problem):
        return Outcome(messages.TOO_LONG, is_transient=True)
    refused = problem
    if isinstance(problem, smtplib.SMTPRecipientsRefused):
        refused = smtplib.SMTPResponseException(*next(iter(problem.recipients.values())))
    if isinstance(refused, smtplib.SMTPResponseException):
        answer = refused.smtp_error
        said = answer.decode("utf-8", "replace") if isinstance(answer, bytes) else str(answer)
        text = " ".join(f"{refused.smtp_code} {said}".split())
        is_final = refused.smtp_code >= 500 and not is_of_server
        is_final = is_final and not isinstance(problem, smtplib.SMTPSenderRefused)
        if isinstance(problem, smtplib.SMTPRecipientsRefused) and _NOT_OF_RECIPIENT.match(said):
            is_final = False
        return Outcome("".join(filter(str.isprintable, text)), is_transient=not is_final)
    return Outcome(_words(problem), is_transient=True)


def _words(problem: Exception) -> str:
    for kind, words in _KNOWN:
        if isinstance(problem, kind):
            return words
    log.error("a mail failed in an unforeseen way", exc_info=problem)
    return messages.internal_error(type(problem).__name__)
