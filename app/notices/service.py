"""The verbs of notices: choosing how often they come, and unsubscribing without a login."""

import base64
import hashlib
import hmac
from datetime import UTC, datetime, timedelta, tzinfo
from enum import StrEnum
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from sqlalchemy import ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from app.accounts import emails
from app.accounts.models import User
from app.accounts.personal import lock_or_insert
from app.core import text
from app.core.actor import Access, Actor, operation
from app.core.clock import now_ms
from app.core.errors import InvalidField, NotFound
from app.core.ids import as_uuid
from app.core.logs import REDACTED
from app.database.columns import Id, Moment, one_of, short_text
from app.database.session import Base, session
from app.http.current import current_settings
from app.notices import messages

# The hour of the daily mail.
MORNING = 8
ZONE_LENGTH = 64
UTC_NAME = "UTC"
_ID_LENGTH = 36


class Frequency(StrEnum):
    """Nothing, a mail for each ticket after some minutes unread, or one mail a day."""

    OFF = "off"
    MESSAGES = "messages"
    DAILY = "daily"


class NoticeChoice(Base):
    """How often a person gets notices; a person without a row gets none."""

    __tablename__ = "notice_choices"
    __table_args__ = (one_of("frequency", Frequency), Index(None, "frequency", "due_at"))

    user_id: Mapped[str] = mapped_column(Id, ForeignKey("users.id"), primary_key=True)
    frequency: Mapped[str] = mapped_column(short_text(16))
    # The IANA name of the time zone; the daily mail is sent in its morning.
    zone: Mapped[str] = mapped_column(short_text(64))
    # Events up to this time were considered.
    noticed_until: Mapped[int] = mapped_column(Moment)
    # When the next daily mail is due.
    due_at: Mapped[int] = mapped_column(Moment)


@operation(Access.HUMAN)
def choice_of(actor: Actor) -> tuple[str, str]:
    """The frequency and the time zone that the person chose."""
    row = session.get(NoticeChoice, actor.id)
    return (row.frequency, row.zone) if row is not None else (Frequency.OFF.value, UTC_NAME)


@operation(Access.HUMAN)
def choose(actor: Actor, *, frequency: str | None = None, zone: str | None = None) -> None:
    """Choose how often notices come; raises InvalidField. Earlier events send none."""
    chosen = choice_of(actor)
    frequency = chosen[0] if frequency is None else frequency
    zone = chosen[1] if zone is None else zone
    if frequency not in list(Frequency):
        raise InvalidField("frequency", "not_found", messages.SELECT_HOW_OFTEN)
    _store(actor.id, frequency, _zone(zone))


def _store(user_id: str, frequency: str, zone: str) -> None:
    moment = now_ms()
    due_at = next_morning(moment, zone)
    new = NoticeChoice(
        user_id=user_id, frequency=frequency, zone=zone, noticed_until=moment, due_at=due_at
    )
    row = lock_or_insert(new, user_id)
    if row is None:
        return
    if row.frequency != frequency:
        row.noticed_until = moment
    row.frequency, row.zone, row.due_at = frequency, zone, due_at
    session.flush()


def _zone(name: str) -> str:
    """The name of a time zone; raises InvalidField."""
    name = text.checked(name, "zone", ZONE_LENGTH).strip() or UTC_NAME
    if name != UTC_NAME and _known(name) is None:
        raise InvalidField("zone", "not_found", messages.ENTER_A_TIME_ZONE)
    return name


def _known(name: str) -> ZoneInfo | None:
    try:
        return ZoneInfo(name)
    # Names are looked up as files, so the name of a folder raises OSError.
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def next_morning(moment: int, zone: str) -> int:
    """The next ``MORNING`` of a time zone after ``moment``, in milliseconds."""
    # A host without this zone, or without any zone database, uses UTC.
    known: tzinfo = (_known(zone) if zone != UTC_NAME else None) or UTC
    now = datetime.fromtimestamp(moment / 1000, UTC).astimezone(known)
    morning = now.replace(hour=MORNING, minute=0, second=0, microsecond=0)
    if morning <= now:
        morning = (now.replace(tzinfo=None) + timedelta(days=1)).replace(
            hour=MORNING, minute=0, second=0, microsecond=0, tzinfo=known
        )
    return round(morning.timestamp() * 1000)


def unsubscribe_token(user: User) -> str:
    """The token that unsubscribes this person, valid until the email address changes."""
    return user.id + _mark(user, current_settings().secret_key)


def _mark(user: User, secret_key: str) -> str:
    message = f"unsubscribe:{user.id}:{user.email}".encode()
    digest = hmac.new(secret_key.encode(), message, hashlib.sha256).digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


@operation(Access.PUBLIC)
def subscriber(actor: Actor, token: str) -> User:
    """The person whom this token unsubscribes; raises NotFound."""
    identifier = as_uuid(token[:_ID_LENGTH])
    user = session.get(User, identifier) if identifier is not None else None
    settings, mark = current_settings(), token[_ID_LENGTH:].encode()
    keys = (settings.secret_key, settings.secret_key_previous)
    if (
        user is None
        or emails.proven(user) is None
        or not any(key and hmac.compare_digest(_mark(user, key).encode(), mark) for key in keys)
    ):
        raise NotFound("mail_link", REDACTED)
    return user


@operation(Access.PUBLIC)
def unsubscribe(actor: Actor, token: str) -> None:
    """Unsubscribe the person to whom the token belongs; raises NotFound."""
    user = subscriber(actor, token)
    row = session.get(NoticeChoice, user.id)
    if row is not None:
        _store(user.id, Frequency.OFF.value, row.zone)
