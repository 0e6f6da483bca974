"""flask audit: the audit log as JSON lines, and its checkpoints."""

import base64
import sys
import time
from typing import Any

import click
import orjson
from sqlalchemy import select

from app.activity.service import events_json
from app.audit import checkpoints
from app.audit.event_types import EVENTS
from app.audit.models import AuditEvent
from app.commands import messages
from app.core.actor import SYSTEM
from app.core.ids import NIL_ID, as_uuid
from app.core.text import counted
from app.database.session import AnySelect, reading, session
from app.http.current import current_settings
from app.jobs import verifying
from app.jobs.checkpointing import FILE, make

BATCH = 500
# Events may commit out of the order of their ids, so each poll rereads this many ids.
OVERLAP = 1_000
POLL_SECONDS = 1.0
# Of an Ed25519 public key.
KEY_BYTES = 32

TYPE = click.option(
    "--type", "event_type", help="Only this event type, or a prefix such as ticket.*"
)


@click.group("audit")
def audit() -> None:
    """Read the audit log as JSON lines, and check that nobody changed it."""


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
        raise click.BadParameter(messages.unknown_event_type(event_type))
    return statement.where(AuditEvent.event_type.in_(types))


def _print(rows: Any) -> None:
    for event in events_json(rows, SYSTEM):
        click.echo(orjson.dumps(event))


@audit.command("export")
@TYPE
def export(event_type: str | None) -> None:
    """Print all events, oldest first."""
    events, after = _events(event_type), NIL_ID
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


@audit.command("checkpoint")
def checkpoint() -> None:
    """Create the checkpoints that are due, for example before a backup.

    The server can keep running.
    """
    made = make(current_settings(), commit_wait_ms=0)
    if made is None:
        raise click.ClickException(messages.OTHER_MAKES_CHECKPOINTS)
    click.echo(messages.checkpoints_made(counted(made, "checkpoints")))


def _public_keys(_context: Any, _option: Any, values: tuple[str, ...]) -> tuple[str, ...]:
    for value in values:
        try:
            is_key = len(base64.b64decode(value, validate=True)) == KEY_BYTES
        except ValueError:
            is_key = False
        if not is_key:
            raise click.BadParameter(messages.not_a_public_key(value))
    return values


@audit.command("verify")
@click.option(
    "--key",
    "keys",
    multiple=True,
    callback=_public_keys,
    help="Also accept signatures by this public key.",
)
def verify(keys: tuple[str, ...]) -> None:
    """Compare all events with the checkpoints of the log.

    Exits with 1 if an event was changed, removed or inserted, or a checkpoint is wrong; the first
    is named first. The server can keep running.
    """
    settings = current_settings()
    own = [one for one in (settings.secret_key, settings.secret_key_previous) if one]
    accepted = {*keys, *map(checkpoints.public_key, own)}
    with reading():
        length = verifying.count()
    with click.progressbar(length=length, label=messages.CHECKPOINTS, file=sys.stderr) as bar:
        found = verifying.verify(accepted, settings.instance_dir / FILE, bar.update)
    for line in found.wrong:
        click.echo(line)
    if found.more:
        click.echo(messages.and_more(found.more))
    click.echo(
        messages.covered(
            counted(found.events, "events"),
            counted(found.checkpoints, "checkpoints"),
            found.uncovered,
        )
    )
    if not found.is_good:
        raise SystemExit(1)
    click.echo(messages.LOG_MATCHES)


@audit.command("proof")
@click.argument("event")
def proof(event: str) -> None:
    """Print the proof that a checkpoint has an event; docs/check_proof.py checks it."""
    event_id = as_uuid(event)
    with reading():
        known = event_id and session.get(AuditEvent, event_id)
        found = checkpoints.proof_of(event_id) if event_id else None
    if found is None:
        raise click.ClickException(messages.NOT_IN_CHECKPOINT if known else messages.NO_SUCH_EVENT)
    click.echo(orjson.dumps(found, option=orjson.OPT_INDENT_2))


@audit.command("key")
def key() -> None:
    """Print the public key that signs checkpoints. Keep a copy of it elsewhere."""
    click.echo(checkpoints.public_key(current_settings().secret_key))
