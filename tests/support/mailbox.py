"""A mail server in the test process: aiosmtpd with configurable replies."""

import email
import email.policy
import ssl
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import EmailMessage
from pathlib import Path
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

USER, PASSWORD = "docket", "p@ss/word:1"


@dataclass
class Mailbox:
    """The received mail, and the server's replies to the recipient and to the text."""

    port: int = 0
    received: list[EmailMessage] = field(default_factory=list)
    raw: list[bytes] = field(default_factory=list)
    recipients: list[str] = field(default_factory=list)
    senders: list[str] = field(default_factory=list)
    to_recipient: str | Callable[[str], str] = "250 OK"
    to_text: str = "250 OK"
    logins: list[str] = field(default_factory=list)
    password: str = PASSWORD
    # Called when a text has arrived, before the reply.
    on_text: Callable[[], None] | None = None

    async def handle_RCPT(  # noqa: N802 - named by aiosmtpd
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: Any
    ) -> str:
        said = self.to_recipient(address) if callable(self.to_recipient) else self.to_recipient
        if said.startswith("250"):
            envelope.rcpt_tos.append(address)
        return said

    async def handle_DATA(  # noqa: N802 - named by aiosmtpd
        self, server: SMTP, session: Session, envelope: Envelope
    ) -> str:
        if self.on_text is not None:
            self.on_text()
        if self.to_text.startswith("250"):
            content = envelope.content
            raw = content if isinstance(content, bytes) else (content or "").encode()
            self.raw.append(raw)
            self.received.append(
                email.message_from_bytes(raw, EmailMessage, policy=email.policy.default)
            )
            self.recipients += envelope.rcpt_tos
            self.senders.append(envelope.mail_from or "")
        return self.to_text

    def text(self, index: int = -1) -> str:
        """Return the plain text of a message."""
        part = self.received[index].get_body(("plain",))
        assert part is not None
        return str(part.get_content())

    def html(self, index: int = -1) -> str:
        part = self.received[index].get_body(("html",))
        assert part is not None
        return str(part.get_content())


def _authenticator(box: Mailbox) -> Callable[..., AuthResult]:
    def check(server: Any, session: Any, envelope: Any, mechanism: str, data: Any) -> AuthResult:
        assert isinstance(data, LoginPassword)
        given = (data.login.decode(), data.password.decode())
        box.logins.append(given[0])
        return AuthResult(success=given == (USER, box.password), handled=False)

    return check


class _Controller(Controller):
    """A controller on a port that the system chooses."""

    def _trigger_server(self) -> None:
        self.port = self.server.sockets[0].getsockname()[1]
        super()._trigger_server()


@contextmanager
def mail_server(
    *,
    certificate: Path | None = None,
    implicit: bool = False,
    password: str = PASSWORD,
    without: Sequence[str] = (),
) -> Iterator[Mailbox]:
    """Run a server; with a certificate it requires STARTTLS, or speaks implicit TLS.

    It takes any login but those ``without``.
    """
    box = Mailbox(password=password)
    options: dict[str, Any] = {"auth_exclude_mechanism": without}
    context = None
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        options |= {"auth_required": True, "authenticator": _authenticator(box)}
        if implicit:
            options |= {"ssl_context": context, "auth_require_tls": False, "auth_required": False}
        else:
            options |= {"tls_context": context, "require_starttls": True}
    controller = _Controller(box, hostname="127.0.0.1", port=0, **options)
    controller.start()
    box.port = controller.port
    try:
        yield box
    finally:
        controller.stop()
