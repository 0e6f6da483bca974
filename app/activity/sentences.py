"""The sentence of each event, without its subject: who did it stands in front."""

from collections.abc import Iterable, Mapping
from typing import Any

from app.audit.models import AuditEvent
from app.tickets.pages import feed
from app.tickets.stream_queries import names_of

# Events whose sentences are in ``feed``.
OF_TICKETS = ("ticket.", "comment.")
# Braces enclose keys of the payload.
SENTENCES: dict[str, str] = {
    "auth.login.success": "logged in",
    "auth.password.failure": "gave a wrong current password as {username}",
    "auth.login.failure": "failed to log in as {username} ({reason})",
    "auth.login.rate_limited": "was kept from logging in as {username}: too many attempts",
    "auth.logout": "logged out",
    "auth.session.expired": "had a session end ({reason})",
    "auth.bot.success": "was let in with the token app_{token_prefix}…",
    "auth.bot.failure": "was turned away: a token that is not valid",
    "auth.bot.write_attempt_in_read_mode": "was refused {operation}: it may only read",
    "auth.bot.write_attempt_outside_allowlist": "was refused {operation}: outside its projects",
    "user.created": "created the user {username}",
    "user.updated": "changed a user",
    "bot.created": "created the bot {username} ({mode})",
    "bot.updated": "changed a bot",
    "bot.enabled": "switched the bot {username} on",
    "bot.disabled": "switched the bot {username} off",
    "bot.token.created": "issued the token app_{token_prefix}…",
    "bot.token.rotated": "rotated a token to app_{token_prefix}…",
    "bot.token.revoked": "revoked the token app_{token_prefix}…",
    "bot.tool_invoked": "called {tool_name}: {result_status}, {duration_ms} ms",
    "bot.resource_read": "read {uri}: {result_status}",
    "workspace.bots_paused": "paused all bots",
    "workspace.bots_resumed": "let bots write again",
    "project.created": "created the project {key}, {name}",
    "project.updated": "changed a project",
    "project.deleted": "deleted the project {key}, {name}",
    "project.restored": "restored the project {key}, {name}",
    "workflow_state.created": "added the state {name}",
    "workflow_state.updated": "changed a state",
    "workflow_state.reordered": "put states into another order",
    "workflow_state.deleted": "deleted the state {name}",
    "label.created": "added the label {name}",
    "label.updated": "changed a label",
    "label.deleted": "deleted the label {name}",
    "wiki.render_failed": "met a page that could not be laid out ({error})",
    "webhook.created": "subscribed {url}",
    "webhook.updated": "changed a webhook",
    "webhook.secret_rotated": "gave a webhook a new secret",
    "webhook.deleted": "ended the webhook to {url}",
    "webhook.delivery_succeeded": "delivered {event_type} (attempt {attempt})",
    "webhook.delivery_failed": "could not deliver {event_type} (attempt {attempt}): {error}",
    "webhook.delivery_retried": "sent {event_type} once more",
    "system.sweeper_ran": "swept {sweeper}: {deleted} deleted",
    "audit.orphaned": "lost an event of type {event_type} ({reason})",
    "wiki.created": "wrote the page {title}",
    "wiki.updated": "saved the page {slug} (revision {revision_number})",
    "wiki.deleted": "deleted the page {title}",
    "wiki.restored": "restored the page {title}",
    "sticky_note.created": "put up a note",
    "sticky_note.updated": "changed a note",
    "sticky_note.deleted": "took a note down",
    "sticky_note.converted": "turned a note into {display_id}",
}

# An en dash.
NOTHING_SAID = "\u2013"


class _Values(dict[str, Any]):
    """The payload, with a dash for a missing key."""

    def __missing__(self, key: str) -> str:
        return NOTHING_SAID


def in_words(events: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The events with their sentences and the display ids of their tickets; needs a unit of work.

    Each has its type, payload, actor and ticket id.
    """
    events = list(events)
    ticket_ids = {event["ticket_id"] for event in events} - {None}
    names = names_of(feed.mentioned(events) | ticket_ids)
    return [
        {
            **event,
            "display_id": names.get(event["ticket_id"]),
            "sentence": sentence(event, names, names.get(event["ticket_id"], "a ticket")),
        }
        for event in events
    ]


def as_mapping(event: AuditEvent) -> dict[str, Any]:
    """A row of the audit log as ``in_words`` and ``feed`` take it, without its actor."""
    return {
        "event_type": event.event_type,
        "payload": event.payload,
        "ticket_id": event.ticket_id,
        "actor": None,
    }


def sentence(event: Mapping[str, Any], names: Mapping[str, str], ticket: str = "") -> str:
    """The sentence of one event; ``ticket`` is the display id of its ticket, where it is said."""
    event_type, payload = event["event_type"], event["payload"]
    if event_type.startswith(OF_TICKETS):
        return feed.sentence(event, event["ticket_id"], names, ticket)
    values = _Values(
        {key: NOTHING_SAID if value is None else value for key, value in payload.items()}
    )
    if payload.get("tool_name") == "":
        values["tool_name"] = "(no name)"
    if event_type == "auth.password.failure" and "username" not in payload:
        return "opened a password link that does not work"
    if payload.get("password_link_issued"):
        return "created a link to choose a password"
    return SENTENCES[event_type].format_map(values)
