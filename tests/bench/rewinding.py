"""What a rewind takes where one ticket has all the events, half of a bot and half of others.

    python -m tests.bench.rewinding [--events N] [--database sqlite|postgresql]

Each quarter takes as long as the one before if the time grows with the events and no faster.
"""

import argparse
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import insert, select

from app import create_app
from app.audit.models import AuditEvent
from app.audit.service import WORKSPACE_ID
from app.config import Settings
from app.core import ids
from app.core.actor import Actor, ActorKind
from app.core.clock import now_ms
from app.database import schema
from app.database.session import db, reading, run_write, session
from app.rewind.others import LogReading
from app.rewind.scope import RewindScope
from app.rewind.service import rewind_step
from app.tickets.models import Ticket
from tests.audit.tampering import event_id_at
from tests.bench.data import SECRET, database
from tests.bench.filling import World, fill

CHUNK = 5_000
PARTS = 4


def main() -> None:
    """Print the seconds of each quarter of the bot's events."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.rewinding", description=__doc__)
    parser.add_argument("--events", type=int, default=20_000, help="(20000)")
    parser.add_argument("--database", choices=("sqlite", "postgresql"), default="sqlite")
    asked = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="docket-rewind-") as made,
        database(asked.database, Path(made)) as place,
    ):
        settings = Settings(
            base_url="http://localhost",
            log_level="WARNING",
            instance_dir=Path(made),
            database_url=place.url,
            secret_key=SECRET,
        )
        app = create_app(settings)
        with app.app_context():
            schema.upgrade()
            _rewind(asked.events, fill(settings, 10))
            db.session.remove()
            db.engine.dispose()


def _rewind(count: int, world: World) -> None:
    ada, bot = world.users[:2]
    since = now_ms() - count - 1
    with reading():
        columns = (Ticket.id, Ticket.project_id, Ticket.title)
        ticket = session.execute(select(*columns).limit(1)).one()
    rows = [
        _event(ticket, since + number, number, (bot, ada)[number % 2]) for number in range(count)
    ]
    for start in range(0, count, CHUNK):
        run_write(partial(session.execute, insert(AuditEvent), rows[start : start + CHUNK]))
    scope, log = RewindScope(bot, since, since + count), LogReading()
    actor = Actor(ActorKind.HUMAN, user_id=ada)
    beyond, done, began = None, 0, time.monotonic()
    while True:
        step = run_write(partial(rewind_step, actor, scope, beyond=beyond, log=log))
        done, beyond = done + step.events, step.beyond
        if beyond is None or done % (count // 2 // PARTS) < step.events:
            print(f"{done} events: {time.monotonic() - began:.1f} s", flush=True)
            began = time.monotonic()
        if beyond is None:
            return


def _event(ticket: Any, moment: int, number: int, user_id: str) -> dict[str, Any]:
    """A change of the title by the bot, and one of the priority by the other."""
    values = {"from": f"{number}", "to": f"{number + 2}"}
    return {
        "id": event_id_at(moment),
        "workspace_id": WORKSPACE_ID,
        "category": "activity",
        "event_type": "ticket.updated",
        "actor_user_id": user_id,
        "actor_kind": "human" if number % 2 else "bot",
        "target_kind": "ticket",
        "target_id": ticket.id,
        "project_id": ticket.project_id,
        "ticket_id": ticket.id,
        "payload": {"changes": {"priority" if number % 2 else "title": values}},
        "request_id": ids.new_id(),
        "tool_invocation_log_id": None,
        "created_at": moment,
    }


if __name__ == "__main__":
    main()
