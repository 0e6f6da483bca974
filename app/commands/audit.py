"""flask audit tail|export: the audit log as JSON lines."""

import time
from typing import Any

import click
import orjson
from sqlalchemy import select

from app.activity.service import events_json
from app.audit.catalogue import EVENTS
from app.audit.models import AuditEvent
from app.core.actor import SYSTEM
from app.database.session import AnySelect, reading, session

BATCH = 500
FIRST = "00000000-0000-0000-0000-000000000000"
# Another process may commit an event after this one commits a later id, so each poll rereads these.
OVERLAP = 1_000
POLL_SECONDS = 1.0

TYPE = click.option(
    "--type", "event_type", help="Only this event type, or a prefix such as ticket.*"
)


@click.group("audit")
def audit() -> None:
    """Read the audit log as JSON lines."""


def _events(event_type: str | None) -> AnySelect:
    statement = select(AuditEvent)
    if event_type is None:
        return statement
    prefix = event_type[:-1] if event_type.endswith(".*") else None
    types = [
        name
        for name in EVENTS
        if name == event_type or (prefix is not None and name.startswith(prefix))
    ]
    if not types:
        raise click.BadParameter(f"Unknown event type: {event_type}.")
    return statement.where(AuditEvent.event_type.in_(types))


def _print(rows: Any) -> None:
    for event in events_json(rows, SYSTEM):
        click.echo(orjson.dumps(event))


@audit.command("export")
@TYPE
def export(event_type: str | None) -> None:
    """Print all events, oldest first."""
    events, after = _events(event_type), FIRST
    while True:
        with reading():
            rows = session.scalars(
                events.where(AuditEvent.id > after).order_by(AuditEvent.id).limit(BATCH)
            ).all()
            _print(rows)
        if len(rows) < BATCH:
            return
        after = rows[-1].id


@audit.command("tail")
@TYPE
@click.option("-n", "--lines", type=click.IntRange(0, BATCH), default=10, show_default=True)
@click.option(
    "-f", "--follow", is_flag=True, help="Keep printing new events. Press Ctrl+C to stop."
)
def tail(event_type: str | None, lines: int, follow: bool) -> None:
    """Print the newest events. Use -f to follow new ones."""
    newest = _events(event_type).order_by(AuditEvent.id.desc()).limit(OVERLAP)
    with reading():
        events = session.scalars(newest).all()
        _print(events[:lines][::-1])
    while follow:
        seen = {event.id for event in events}
        time.sleep(POLL_SECONDS)
        with reading():
            events = session.scalars(newest).all()
            _print([event for event in events[::-1] if event.id not in seen])
