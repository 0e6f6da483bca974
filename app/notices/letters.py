"""The texts of notices, worded as in the inbox and checked when they are sent."""

from typing import Any

from app.accounts.login import human_actor
from app.accounts.mailing import person_of
from app.accounts.models import User
from app.core.actor import Actor
from app.core.ids import id_at
from app.database.session import session
from app.http.current import current_settings
from app.inbox import inbox_page
from app.inbox import service as inbox
from app.inbox.mentions import COMMENT_CREATED, mention_pattern
from app.inbox.service import TicketNews
from app.mail import writing
from app.mail.models import Mail, MailKind
from app.mail.writing import Letter, Line, Section
from app.notices import messages
from app.notices.service import Frequency, NoticeChoice, unsubscribe_token
from app.tickets.pages import feed
from app.tickets.stream_queries import names_of
from app.web.filters import utc

MAX_TICKETS = 25


def install() -> None:
    """Register the writers of notices."""
    writing.install(MailKind.NOTICE, _notice)
    writing.install(MailKind.DIGEST, _digest)


def _notice(mail: Mail) -> Letter | None:
    user = _subscriber(mail)
    if user is None:
        return None
    news, _ = _news(user, mail)
    if not news:
        return None
    (section,) = _sections(user, news)
    return Letter(
        subject=section.title,
        heading=section.title,
        button=(messages.OPEN_TICKET, section.address),
        sections=(section,),
        reason=_reason(user),
        about=mail.ticket_id or "",
        unsubscribe=_unsubscribe(user),
    )


def _digest(mail: Mail) -> Letter | None:
    user, settings = _subscriber(mail), current_settings()
    if user is None:
        return None
    news, has_more = _news(user, mail)
    if not news:
        return None
    tickets = messages.tickets(len(news))
    if has_more:
        tickets = messages.more_than(len(news))
    return Letter(
        subject=messages.news_subject(settings.app_name, tickets),
        heading=messages.news_heading(tickets),
        button=(messages.OPEN_INBOX, f"{settings.base_url}/inbox"),
        sections=_sections(user, news),
        reason=_reason(user),
        unsubscribe=_unsubscribe(user),
    )


def _subscriber(mail: Mail) -> User | None:
    """The recipient of the mail, if they still want it at this address."""
    user = person_of(mail)
    if user is None or user.email_confirmed_at is None:
        return None
    choice = session.get(NoticeChoice, user.id)
    return user if choice is not None and choice.frequency != Frequency.OFF else None


def _news(user: User, mail: Mail) -> tuple[list[TicketNews], bool]:
    """The unread, unmuted and visible news of the span, and whether there is more."""
    found = inbox.news(
        _actor(user),
        limit=MAX_TICKETS,
        cursor=None,
        after=id_at((mail.since or 0) + 1),
        until=mail.until,
        ticket_id=mail.ticket_id,
    )
    return found.data, found.next_cursor is not None


def _actor(user: User) -> Actor:
    return human_actor(user)


def _sections(user: User, news: list[TicketNews]) -> tuple[Section, ...]:
    settings = current_settings()
    events = [event for one in news for event in one.events]
    names = names_of(feed.mentioned(events)) | {user.id: "you"}
    mention = mention_pattern(user.username)

    def line(event: dict[str, Any]) -> Line:
        actor = event["actor"]
        name = actor["display_name"] if actor else messages.SYSTEM
        if actor and actor["type"] == "bot":
            name += " (bot)"
        sentence = inbox_page.sentence_of(event, names, user.username)
        quote = event["text"] if event["event_type"] == COMMENT_CREATED else ""
        said, is_cut = inbox_page.excerpt(quote, mention)
        return Line(
            messages.happened(name, sentence),
            utc(event["created_at"]),
            f"{said} …" if is_cut else said,
        )

    return tuple(
        Section(
            f"{one.ticket.display_id} {one.ticket.title}",
            f"{settings.base_url}/tickets/{one.ticket.display_id}",
            # Oldest first, in reading order.
            tuple(line(event) for event in reversed(one.events)),
            one.more,
        )
        for one in news
    )


def _reason(user: User) -> str:
    settings = current_settings()
    return messages.reason(user.username, settings.base_url)


def _unsubscribe(user: User) -> str:
    return f"{current_settings().base_url}/mail/unsubscribe/{unsubscribe_token(user)}"
