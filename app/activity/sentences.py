"""The sentence of each event without its actor, who precedes it."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from app.activity import messages
from app.audit.models import AuditEvent
from app.core.text import without_bidi_controls
from app.tickets.pages import feed
from app.tickets.stream_queries import names_of

# ``feed`` has the sentences of these events.
OF_TICKETS = ("ticket.", "comment.")
# ``feed`` also has the sentences of files on tickets.
OF_FILES = ("file.added", "file.deleted")
# What the names of fields end with that hold ids.
_IDS = re.compile(r"(_user)?_ids?$")


class _Values(dict[str, Any]):
    """A payload with a dash for each missing key."""

    def __missing__(self, key: str) -> str:
        return messages.NOTHING_SAID


def in_words(
    events: Iterable[Mapping[str, Any]], *, beside_ticket: bool = False
) -> list[dict[str, Any]]:
    """The events with their sentences and the display ids of their tickets; needs a unit of work.

    Each needs its type, payload, actor and ticket id. ``beside_ticket`` omits the ticket's name.
    """
    events = list(events)
    ticket_ids = {event["ticket_id"] for event in events} - {None}
    names = names_of(feed.mentioned(events) | ticket_ids)
    return [
        {
            **event,
            "display_id": names.get(event["ticket_id"]),
            "sentence": sentence(
                event,
                names,
                "" if beside_ticket else names.get(event["ticket_id"], messages.A_TICKET),
            ),
        }
        for event in events
    ]


def in_words_of_many(event_type: str, count: int) -> str:
    """The sentence of several events of one type."""
    return messages.MANY[event_type].format(count=f"{count:,}")


def as_mapping(event: AuditEvent) -> dict[str, Any]:
    """A row of the audit log in the form that ``in_words`` and ``feed`` take, without its actor."""
    return {
        "event_type": event.event_type,
        "payload": event.payload,
        "ticket_id": event.ticket_id,
        "actor": None,
    }


def sentence(event: Mapping[str, Any], names: Mapping[str, str], ticket: str = "") -> str:
    """The sentence of one event; ``ticket`` is the display id of the ticket that it names."""
    event_type, payload = event["event_type"], event["payload"]
    if event_type.startswith(OF_TICKETS) or (event_type in OF_FILES and event["ticket_id"]):
        return feed.sentence(event, event["ticket_id"], names, ticket)
    values = _Values(
        {key: messages.NOTHING_SAID if value is None else value for key, value in payload.items()}
    )
    if payload.get("changes"):
        fields = (_IDS.sub("", name).replace("_", " ") for name in payload["changes"])
        values["changed"] = ", ".join(fields)
    if payload.get("tool_name") == "":
        values["tool_name"] = messages.NO_NAME
    if event_type == "auth.password.failure" and "username" not in payload:
        return messages.INVALID_PASSWORD_LINK
    if payload.get("password_link_issued"):
        return messages.PASSWORD_LINK_CREATED
    if payload.get("email_confirmed"):
        return messages.EMAIL_CONFIRMED
    return without_bidi_controls(messages.SENTENCES[event_type].format_map(values))
