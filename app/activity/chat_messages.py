"""Audit events as chat messages: the sentences of the pages, with links."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy import bindparam, select

from app.accounts.models import User, UserType
from app.activity import messages
from app.activity.sentences import as_mapping, in_words
from app.audit.models import AuditEvent
from app.config import Settings
from app.core.actor import ActorKind
from app.database.session import AnyRow, session
from app.http.current import current_settings
from app.projects.models import Project
from app.tickets.models import Ticket
from app.web.wiki_addresses import address_of
from app.webhooks.chats import ChatMessage, message
from app.wiki.models import WikiPage

_EVENTS = (
    select(
        AuditEvent,
        User.display_name,
        User.type,
        Project.key,
        Ticket.display_id,
        Ticket.title,
        WikiPage.slug,
        WikiPage.title.label("page_title"),
    )
    .outerjoin(User, User.id == AuditEvent.actor_user_id)
    .outerjoin(Project, Project.id == AuditEvent.project_id)
    .outerjoin(Ticket, Ticket.id == AuditEvent.ticket_id)
    .outerjoin(WikiPage, WikiPage.id == AuditEvent.target_id)
    .where(AuditEvent.id.in_(bindparam("ids", expanding=True)))
)
# The pages for events about other targets.
_PAGES = {
    "bot": (messages.BOTS, "/bots"),
    "user": (messages.PEOPLE, "/people"),
    "webhook": (messages.WEBHOOKS, "/webhooks"),
}


def messages_about(audit_event_ids: Sequence[str]) -> dict[str, ChatMessage]:
    """The messages about these events; needs a unit of work."""
    rows = session.execute(_EVENTS, {"ids": list(set(audit_event_ids))}).all()
    events = in_words(_without_addresses(as_mapping(row.AuditEvent), row) for row in rows)
    settings = current_settings()
    return {
        row.AuditEvent.id: _message(row, event["sentence"], settings)
        for row, event in zip(rows, events, strict=True)
    }


def _without_addresses(event: dict[str, Any], row: AnyRow) -> Mapping[str, Any]:
    """The event with only the host of a webhook's address, as the address can hold a secret."""
    payload = dict(event["payload"])
    if isinstance(payload.get("url"), str):
        payload["url"] = urlsplit(payload["url"]).netloc
    return {**event, "payload": payload, "actor": {"id": row.AuditEvent.actor_user_id}}


def _message(row: AnyRow, sentence: str, settings: Settings) -> ChatMessage:
    title, path = _subject(row)
    event: AuditEvent = row.AuditEvent
    quote = event.payload.get("body") if event.event_type == "comment.created" else ""
    address = f"{settings.base_url}{path}" if path else ""
    return message(f"{_actor(row, settings)} {sentence}", title, address, quote or "")


def _actor(row: AnyRow, settings: Settings) -> str:
    if row.display_name is None:
        is_system = row.AuditEvent.actor_kind == ActorKind.SYSTEM
        return settings.app_name if is_system else messages.SOMEONE
    name: str = row.display_name
    return messages.named_bot(name) if row.type == UserType.BOT else name


def _subject(row: AnyRow) -> tuple[str, str]:
    """The name and the page of the event's subject; "" if it has none."""
    if row.display_id is not None:
        return f"{row.display_id} {row.title}", f"/tickets/{row.display_id}"
    if row.slug is not None:
        return row.page_title, address_of(row.key, row.slug, row.AuditEvent.target_id)
    if row.key is not None:
        return row.key, f"/projects/{row.key}"
    return _PAGES.get(row.AuditEvent.target_kind or "", ("", ""))
