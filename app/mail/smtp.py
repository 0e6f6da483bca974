"""Sending by SMTP: verified TLS, with time limits for every step and the whole session."""

import logging
import smtplib
import socket
import ssl
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
# The first match describes a failure.
_KNOWN: tuple[tuple[type[Exception], str], ...] = (
    (smtplib.SMTPNotSupportedError, messages.NO_STARTTLS_OR_LOGIN),
    (ssl.SSLError, messages.TLS_REJECTED),
    (socket.gaierror, messages.SERVER_UNRESOLVED),
    (ConnectionRefusedError, messages.CONNECTION_REFUSED),
    (smtplib.SMTPException, messages.CONNECTION_CLOSED),
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
    hello = urlsplit(settings.base_url).hostname or "localhost"
    connected = socket.create_connection((server.host, server.port), CONNECT_SECONDS)
    # From here on the guard can end every step, including the first greeting.
    guard.watch(connected)
    connected.settimeout(STEP_SECONDS)
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
            connection.login(server.username, server.password)
    except BaseException:
        connection.close()
        raise
    return connection


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
    for mail in mails:
        if connection.sock is None or guard.has_fired:
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
        return Outcome("".join(filter(str.isprintable, text)), is_transient=not is_final)
    return Outcome(_words(problem), is_transient=True)


def _words(problem: Exception) -> str:
    for kind, words in _KNOWN:
        if isinstance(problem, kind):
            return words
    log.error("a mail failed in an unforeseen way", exc_info=problem)
    return messages.internal_error(type(problem).__name__)
