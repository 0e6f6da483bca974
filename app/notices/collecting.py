"""Finds due notices. Every process looks; a compare-and-set decides which process stores them.

A row of the outbox names a time span of events. The text is checked and written when it is sent.
"""

from collections.abc import Callable
from functools import partial

from sqlalchemy import func, or_, select, update

from app.accounts.login import human_actor
from app.accounts.models import User
from app.audit.event_types import Category
from app.audit.models import AuditEvent
from app.audit.service import stable_until
from app.core.actor import Actor
from app.core.clock import DAY_MS, MINUTE_MS, now_ms
from app.core.ids import id_at
from app.database.session import AnyRow, reading, run_write, session
from app.inbox import service as inbox
from app.mail import outbox
from app.mail.models import Mail, MailKind
from app.notices.service import Frequency, NoticeChoice, next_morning

UNREAD_MS = 10 * MINUTE_MS
# Younger events wait for transactions that have not written yet.
COMMIT_WAIT_MS = 5_000
# The oldest events in a mail, for example after a long stop of the server.
OLDEST_MS = 7 * DAY_MS
# The span of a mail if the clock was ahead at the last look.
CLOCK_SET_BACK_MS = DAY_MS
# More tickets at once go into one digest.
MAX_MAILS = 10
# The most waiting mails of one person.
MAX_WAITING_MAILS = 30
# The most people considered in one look.
PEOPLE = 500


def collect(may_go_on: Callable[[], bool] = lambda: True) -> int:
    """Put due notices into the outbox; returns how many. Opens its own units of work."""
    moment = now_ms()
    with reading():
        due = _due(moment)
    made = 0
    for choice in due:
        if not may_go_on():
            break
        made += _collect(choice, moment)
    return made


def _due(moment: int) -> list[AnyRow]:
    """The people with news from a time that was not considered yet."""
    latest = moment - UNREAD_MS
    statement = (
        select(NoticeChoice, User.id, User.username, User.email)
        .join(User, User.id == NoticeChoice.user_id)
        .where(User.is_active, User.email_confirmed_at.is_not(None))
        .limit(PEOPLE)
    )
    clock_was_ahead = NoticeChoice.noticed_until > moment
    is_due = or_(NoticeChoice.due_at <= moment, clock_was_ahead)
    daily = session.execute(
        statement.where(NoticeChoice.frequency == Frequency.DAILY, is_due)
    ).all()
    newest = session.scalar(
        select(func.max(AuditEvent.created_at)).where(
            AuditEvent.category == Category.ACTIVITY.value, AuditEvent.created_at <= latest
        )
    )
    if newest is None:
        return list(daily)
    # Skip people for whom nothing happened.
    has_news = or_(NoticeChoice.noticed_until < newest, clock_was_ahead)
    prompt = session.execute(
        statement.where(NoticeChoice.frequency == Frequency.MESSAGES, has_news)
    ).all()
    return [*daily, *prompt]


def _collect(row: AnyRow, moment: int) -> int:
    choice: NoticeChoice = row.NoticeChoice
    is_daily = choice.frequency == Frequency.DAILY
    noticed = choice.noticed_until
    if noticed > moment:
        noticed = moment - CLOCK_SET_BACK_MS
    since = max(noticed, moment - OLDEST_MS)
    actor = human_actor(User(id=row.id, username=row.username))
    with reading():
        if outbox.count_waiting(row.id) >= MAX_WAITING_MAILS:
            # The mail server is down; nothing is lost, because nothing is marked as considered.
            return 0
        stable = stable_until(moment - COMMIT_WAIT_MS)
        until = max(noticed, stable if is_daily else min(stable, moment - UNREAD_MS))
        news = inbox.news(actor, limit=MAX_MAILS, cursor=None, after=id_at(since + 1), until=until)
        mailed = _mailed_until(actor, [one.ticket.ticket_id for one in news.data], moment)
        # Skip news that an earlier mail already contained.
        fresh = [
            one.ticket.ticket_id
            for one in news.data
            if one.newest > id_at(mailed.get(one.ticket.ticket_id, 0) + 1)
        ]
    mails: list[tuple[MailKind, str | None, int, int]]
    if is_daily or news.next_cursor is not None:
        mails = [(MailKind.DIGEST, None, since, until)] if news.data else []
    else:
        # A mail about a ticket also covers what happened in the meantime.
        end = max(until, stable)
        mails = [(MailKind.NOTICE, one, max(since, mailed.get(one, 0)), end) for one in fresh]
    return run_write(partial(_put, choice, row.email, mails, until, moment))


def _mailed_until(actor: Actor, ticket_ids: list[str], moment: int) -> dict[str, int]:
    """The time up to which mails covered each ticket, ignoring mails of a clock that was ahead."""
    rows = session.execute(
        select(Mail.ticket_id, func.max(Mail.until))
        .where(Mail.user_id == actor.id, Mail.ticket_id.in_(ticket_ids), Mail.until <= moment)
        .group_by(Mail.ticket_id)
    )
    return {str(row[0]): int(row[1] or 0) for row in rows}


def _put(
    choice: NoticeChoice,
    address: str,
    mails: list[tuple[MailKind, str | None, int, int]],
    until: int,
    moment: int,
) -> int:
    """Mark events as considered and enqueue the mails, unless another process did."""
    claimed = session.execute(
        update(NoticeChoice)
        .where(
            NoticeChoice.user_id == choice.user_id,
            NoticeChoice.frequency == choice.frequency,
            NoticeChoice.noticed_until == choice.noticed_until,
        )
        .values(noticed_until=until, due_at=next_morning(moment, choice.zone))
        .returning(NoticeChoice.user_id)
        .execution_options(synchronize_session=False)
    ).first()
    if claimed is None:
        return 0
    for kind, ticket_id, since, end in mails:
        outbox.enqueue(kind, address, choice.user_id, ticket_id=ticket_id, since=since, until=end)
    return len(mails)
