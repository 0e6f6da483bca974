"""Letters, and the messages built from them (RFC 5322, in plain text and HTML)."""

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.header import Header
from email.message import EmailMessage
from email.policy import EmailPolicy
from email.utils import format_datetime, parseaddr
from typing import Any

from flask import current_app

from app.config import Settings
from app.core.ids import created_ms
from app.core.text import BIDI_CONTROLS, JOINERS
from app.mail.models import Mail, MailKind

SUBJECT_LENGTH = 200
# Control characters and lone surrogates, which a mail must not contain.
_CONTROL = re.compile(rf"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029{BIDI_CONTROLS}\ud800-\udfff]")
_NO_TEXT = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
# Do not fold long addresses: folding would encode them.
_WHOLE = frozenset({"message-id", "in-reply-to", "references", "list-unsubscribe"})


@dataclass(frozen=True, slots=True)
class Line:
    """One event: its sentence, its time and its quote."""

    text: str
    at: str = ""
    quote: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """What happened to one ticket."""

    title: str
    address: str
    lines: tuple[Line, ...]
    more: int = 0


@dataclass(frozen=True, slots=True)
class Letter:
    """What a mail says. ``about`` is the subject of a thread, such as a ticket's id."""

    subject: str
    heading: str
    paragraphs: tuple[str, ...] = ()
    # The label and the address of the button.
    button: tuple[str, str] | None = None
    sections: tuple[Section, ...] = ()
    # Why the recipient gets it, in small print.
    reason: str = ""
    about: str = ""
    unsubscribe: str = ""


# Returns None if the reason to send the mail is gone. Needs a reading unit of work.
Writer = Callable[[Mail], Letter | None]
# Called in the unit of work that claims the mail; returns False to discard the mail.
Preparer = Callable[[Mail], bool]

_writers: dict[str, tuple[Writer, Preparer | None]] = {}


def install(kind: MailKind, writer: Writer, preparer: Preparer | None = None) -> None:
    """Have mails of this kind written by ``writer``."""
    _writers[kind] = (writer, preparer)


def prepare(mail: Mail) -> bool:
    """Create what the mail needs before it is written; returns False if it is to be discarded."""
    preparer = _writers[mail.kind][1]
    return preparer is None or preparer(mail)


def write(mail: Mail) -> Letter | None:
    return _writers[mail.kind][0](mail)


class _Policy(EmailPolicy):
    def fold(self, name: str, value: Any) -> str:
        if name == "Subject" and not value.isascii():
            # The base class loses spaces between words that it encodes.
            value = Header(value, "utf-8", header_name=name).encode(linesep="\r\n")
            return f"{name}: {value}\r\n"
        return f"{name}: {value}\r\n" if name.lower() in _WHOLE else super().fold(name, value)

    def fold_binary(self, name: str, value: Any) -> bytes:
        return self.fold(name, value).encode("ascii")


_POLICY = _Policy(linesep="\r\n", cte_type="7bit")


def message(letter: Letter, mail_id: str, address: str, settings: Settings) -> bytes:
    """The message with its headers; the same mail has the same Message-ID each time."""
    made = EmailMessage(policy=_POLICY)
    made["From"] = settings.mail_from
    made["To"] = address
    made["Subject"] = one_line(letter.subject)
    made["Date"] = format_datetime(datetime.fromtimestamp(created_ms(mail_id) // 1000, UTC))
    made["Message-ID"] = f"<{mail_id}@{domain(settings)}>"
    if letter.about:
        thread = f"<{letter.about}@{domain(settings)}>"
        made["In-Reply-To"] = made["References"] = thread
    # Ask machines not to answer (RFC 3834).
    made["Auto-Submitted"] = "auto-generated"
    made["X-Auto-Response-Suppress"] = "All"
    if letter.unsubscribe:
        made["List-Unsubscribe"] = f"<{letter.unsubscribe}>"
        made["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
    context = {"letter": letter, "app_name": settings.app_name, "base_url": settings.base_url}
    templates = current_app.jinja_env
    plain = templates.get_template("mail/letter.txt").render(context)
    made.set_content(_clean(plain), cte="quoted-printable")
    html = templates.get_template("mail/letter.html").render(context)
    made.add_alternative(_clean(html), subtype="html", cte="quoted-printable")
    return made.as_bytes()


def domain(settings: Settings) -> str:
    return parseaddr(settings.mail_from)[1].rpartition("@")[2]


def one_line(text: str) -> str:
    """A header's text: one line without control characters, at most ``SUBJECT_LENGTH``.

    Joiners stay, as emoji and some scripts need them.

    Text that looks like an encoded word (RFC 2047) is split, or clients would decode it.
    """
    kept = "".join(
        " " if unicodedata.category(one) in _NO_TEXT and one not in JOINERS else one for one in text
    )
    return " ".join(kept.replace("=?", "= ?").split())[:SUBJECT_LENGTH]


def _clean(text: str) -> str:
    return _CONTROL.sub("", text)
