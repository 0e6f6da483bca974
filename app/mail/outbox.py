"""The outbox of mail: a claim counts an attempt and postpones the mail for other processes.

If a process dies, its mails are due again after ``LEASE_MS``, with the same Message-ID. So each
mail arrives at least once, or is ``failed`` after the last attempt.
"""

import base64
import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import case, delete, func, or_, select

from app.core import ids
from app.core.actor import Access, Actor, operation
from app.core.clock import HOUR_MS, MINUTE_MS, now_ms
from app.core.logs import scrub
from app.database.locks import Lock, acquire
from app.database.pagination import Page, page
from app.database.session import AfterCommitSignal, session
from app.http.current import current_settings
from app.mail import writing
from app.mail.models import Mail, MailKind, MailState

outbox_filled = AfterCommitSignal()

# The delay after each failed attempt: two days in total.
BACKOFF_MS = (
    *(MINUTE_MS, 5 * MINUTE_MS, 15 * MINUTE_MS, HOUR_MS, 3 * HOUR_MS),
    *(6 * HOUR_MS, 12 * HOUR_MS, 24 * HOUR_MS),
)
LAST_ATTEMPT = len(BACKOFF_MS) + 1
# Longer than sending one claimed batch takes (app/mail/smtp.py).
LEASE_MS = 10 * MINUTE_MS
# A mail due later than this was postponed before the clock was set back.
MAX_DELAY_MS = BACKOFF_MS[-1]
BATCH = 10
ERROR_LENGTH = 300
# Mails that a person is waiting for go first.
_NOTICES = (MailKind.NOTICE.value, MailKind.DIGEST.value)
_PENDING = Mail.state == MailState.PENDING.value


@dataclass(frozen=True, slots=True)
class HeldMail:
    """A claimed mail and the number of the attempt, which only the claimant may end."""

    mail_id: str
    attempt: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an attempt ended; without an error it was sent."""

    error: str | None = None
    is_transient: bool = False
    # Nothing was tried, so the attempt does not count.
    is_untried: bool = False
    # The reason to send it is gone.
    is_dropped: bool = False


def is_on() -> bool:
    """Whether this installation sends mail."""
    return bool(current_settings().smtp_url)


def enqueue(
    kind: MailKind,
    address: str,
    user_id: str | None,
    *,
    ticket_id: str | None = None,
    since: int | None = None,
    until: int | None = None,
    has_token: bool = False,
) -> Mail | None:
    """Add a mail to the outbox in the current transaction; returns None if mail is off.

    It replaces a mail of the same kind and address that has had no attempt, unless it is about a
    span of events.
    """
    if not is_on():
        return None
    if since is None:
        session.execute(
            delete(Mail).where(
                _PENDING, Mail.kind == kind, Mail.address == address, Mail.attempts == 0
            )
        )
    identifier = ids.new_id()
    mail = Mail(
        id=identifier,
        kind=kind.value,
        address=address,
        user_id=user_id,
        token_hash=_hashed(token_of(identifier)) if has_token else None,
        ticket_id=ticket_id,
        since=since,
        until=until,
        state=MailState.PENDING.value,
        attempts=0,
        due_at=now_ms(),
        created_at=ids.created_ms(identifier),
    )
    session.add(mail)
    session.flush()
    outbox_filled.emit_after_commit()
    return mail


def token_of(mail_id: str, *, secret_key: str | None = None) -> str:
    """The token of the link in a mail: 256 bits derived from SECRET_KEY; no row stores it."""
    key = secret_key if secret_key is not None else current_settings().secret_key
    digest = hmac.new(key.encode(), f"mail:{mail_id}".encode(), hashlib.sha256).digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def stored_token(mail: Mail) -> str | None:
    """The token that matches the mail's hash; None if SECRET_KEY was replaced twice."""
    settings = current_settings()
    for key in (settings.secret_key, settings.secret_key_previous):
        token = token_of(mail.id, secret_key=key)
        if _hashed(token) == mail.token_hash:
            return token
    return None


def by_token(token: str, kind: MailKind) -> Mail | None:
    return session.scalar(select(Mail).where(Mail.token_hash == _hashed(token), Mail.kind == kind))


def _hashed(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def count_since(kind: MailKind, user_id: str, moment: int) -> int:
    """The number of mails of this kind put into the outbox for a person since ``moment``."""
    statement = select(func.count()).where(
        Mail.user_id == user_id, Mail.kind == kind, Mail.created_at >= moment
    )
    return session.scalar(statement) or 0


def count_waiting(user_id: str) -> int:
    """The number of mails waiting for a person."""
    return session.scalar(select(func.count()).where(_PENDING, Mail.user_id == user_id)) or 0


def claim(limit: int = BATCH) -> list[HeldMail]:
    """Claim mails that are due; needs a writing unit of work."""
    acquire(Lock.MAIL)
    moment = now_ms()
    is_notice = case((Mail.kind.in_(_NOTICES), 1), else_=0)
    due = session.scalars(
        select(Mail)
        .where(_PENDING, or_(Mail.due_at <= moment, Mail.due_at > moment + MAX_DELAY_MS))
        .order_by(is_notice, Mail.due_at, Mail.id)
        .limit(limit)
    ).all()
    claimed = []
    for mail in due:
        if not writing.prepare(mail):
            session.delete(mail)
            continue
        mail.attempts += 1
        mail.due_at = moment + LEASE_MS
        claimed.append(HeldMail(mail.id, mail.attempts))
    session.flush()
    return claimed


def finish(results: Sequence[tuple[HeldMail, Outcome]]) -> None:
    """Record how attempts ended; needs a writing unit of work. Ignores results of lost claims."""
    acquire(Lock.MAIL)
    for claimed, outcome in results:
        mail = session.get(Mail, claimed.mail_id)
        if mail is None or mail.state != MailState.PENDING or mail.attempts != claimed.attempt:
            continue
        _finish(mail, outcome)
    session.flush()


def _finish(mail: Mail, outcome: Outcome) -> None:
    moment = now_ms()
    mail.error = scrub(outcome.error)[:ERROR_LENGTH] if outcome.error else None
    if outcome.is_untried:
        mail.attempts -= 1
        mail.due_at = moment + MINUTE_MS
    elif outcome.is_dropped:
        mail.state, mail.finished_at = MailState.DROPPED.value, moment
    elif outcome.error is None:
        mail.state, mail.finished_at = MailState.SENT.value, moment
    elif outcome.is_transient and mail.attempts < LAST_ATTEMPT:
        mail.due_at = moment + BACKOFF_MS[mail.attempts - 1]
    else:
        mail.state, mail.finished_at = MailState.FAILED.value, moment


def has_due() -> bool:
    """Whether a mail is due; read-only, so that an idle worker is cheap."""
    moment = now_ms()
    is_due = or_(Mail.due_at <= moment, Mail.due_at > moment + MAX_DELAY_MS)
    return session.scalar(select(Mail.id).where(_PENDING, is_due).limit(1)) is not None


def depth() -> tuple[int, int]:
    """The number of waiting mails, and the age of the oldest in milliseconds."""
    oldest = func.min(Mail.created_at)
    count, first = session.execute(select(func.count(), oldest).where(_PENDING)).one()
    return count, max(0, now_ms() - first) if first else 0


@operation(Access.HUMAN)
def list_mails(actor: Actor, *, limit: int, cursor: str | None) -> Page:
    """All mails of the last month, newest first."""
    return page(
        select(Mail, Mail.id, Mail.created_at),
        kind="mail",
        sort=Mail.created_at,
        id_column=Mail.id,
        limit=limit,
        cursor=cursor,
        build=lambda rows: [row.Mail for row in rows],
    )
