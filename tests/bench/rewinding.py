"""The time of a rewind if one subject has all events, half by a bot and half by others.

    python -m tests.bench.rewinding [--of ticket|page|note] [--events N]
        [--database sqlite|postgresql]

Each quarter takes as long as the one before if the time is linear in the events.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import insert, select, update

from app import create_app
from app.audit.models import AuditEvent
from app.audit.service import WORKSPACE_ID
from app.config import Settings
from app.core import ids
from app.core.actor import Actor, ActorKind
from app.core.clock import now_ms
from app.database import schema
from app.database.session import db, run_write, session
from app.rewind.others import LogReading
from app.rewind.scope import RewindScope
from app.rewind.service import Fate, rewind_step
from app.sticky_notes import service as notes
from app.tickets.models import Ticket
from app.wiki import service as wiki
from app.wiki.models import WikiRevision
from tests.audit.tampering import event_id_at
from tests.bench.data import SECRET, database
from tests.bench.filling import World, fill

CHUNK = 5_000
PARTS = 4


def main() -> None:
    """Print the seconds of each quarter of the bot's events."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.rewinding", description=__doc__)
    parser.add_argument("--of", choices=tuple(SUBJECTS), default="ticket")
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
            _rewind(asked.of, asked.events, fill(settings, 10))
            db.session.remove()
            db.engine.dispose()


def _rewind(of: str, count: int, world: World) -> None:
    ada, bot = world.users[:2]
    since = now_ms() - count - 1
    event = run_write(partial(SUBJECTS[of], Actor(ActorKind.HUMAN, user_id=ada), world, count))
    rows = [
        _of_user((bot, ada)[number % 2], number, since + number, event(number))
        for number in range(count)
    ]
    for start in range(0, count, CHUNK):
        run_write(partial(session.execute, insert(AuditEvent), rows[start : start + CHUNK]))
    scope, log = RewindScope(bot, since, since + count), LogReading()
    actor = Actor(ActorKind.HUMAN, user_id=ada)
    beyond, done, back, began = None, 0, 0, time.monotonic()
    while True:
        step = run_write(partial(rewind_step, actor, scope, beyond=beyond, log=log))
        done, beyond, back = done + step.events, step.beyond, back + step.count(Fate.BACK)
        if beyond is None or done % (count // 2 // PARTS) < step.events:
            print(f"{done} events, {back} back: {time.monotonic() - began:.1f} s", flush=True)
            began = time.monotonic()
        if beyond is None:
            return


# The varying fields of an event, by its number.
Event = Callable[[int], dict[str, Any]]


def _ticket(_: Actor, world: World, count: int) -> Event:
    """The bot changes the title, and the other the priority."""
    columns = (Ticket.id, Ticket.project_id)
    ticket = session.execute(select(*columns).limit(1)).one()
    session.execute(update(Ticket).where(Ticket.id == ticket.id).values(title=f"{count}"))
    return lambda number: {
        "event_type": "ticket.updated",
        "target_kind": "ticket",
        "target_id": ticket.id,
        "project_id": ticket.project_id,
        "ticket_id": ticket.id,
        "payload": {"changes": {"priority" if number % 2 else "title": _change(number)}},
    }


def _page(ada: Actor, world: World, count: int) -> Event:
    """The bot writes revisions with a new body, and the other with a new title."""
    page = wiki.create_page(ada, title="0", body="0", project_id=world.project_id)
    rows: list[dict[str, Any]] = [
        {
            "id": ids.new_id(),
            "page_id": page.id,
            "revision_number": number,
            "title": f"{(number - 1) // 2 * 2}",
            "body": f"{number // 2 * 2}",
            "summary": "",
            "author_user_id": ada.id,
            "created_at": now_ms(),
        }
        for number in range(2, count + 2)
    ]
    for start in range(0, count, CHUNK):
        session.execute(insert(WikiRevision), rows[start : start + CHUNK])
    page.title, page.body, page.revision_number = rows[-1]["title"], rows[-1]["body"], count + 1
    page.updated_at += 1
    return lambda number: {
        "event_type": "wiki.updated",
        "target_kind": "wiki_page",
        "target_id": page.id,
        "project_id": world.project_id,
        "ticket_id": None,
        "payload": {
            "slug": page.slug,
            "changes": {"title": _change(number)} if number % 2 else {},
            "body_changed": number % 2 == 0,
            "revision_number": number + 2,
        },
    }


def _note(ada: Actor, world: World, count: int) -> Event:
    """The bot changes the body, and the other the color."""
    note = notes.create_in_project(ada, world.project_id, body=f"{count}")
    return lambda number: {
        "event_type": "sticky_note.updated",
        "target_kind": "sticky_note",
        "target_id": note.id,
        "project_id": world.project_id,
        "ticket_id": None,
        "payload": {"changes": {"color" if number % 2 else "body": _change(number)}},
    }


SUBJECTS = {"ticket": _ticket, "page": _page, "note": _note}


def _change(number: int) -> dict[str, str]:
    return {"from": f"{number}", "to": f"{number + 2}"}


def _of_user(user_id: str, number: int, moment: int, event: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": event_id_at(moment),
        "workspace_id": WORKSPACE_ID,
        "category": "activity",
        "actor_user_id": user_id,
        "actor_kind": "human" if number % 2 else "bot",
        "request_id": ids.new_id(),
        "tool_invocation_log_id": None,
        "created_at": moment,
        **event,
    }


if __name__ == "__main__":
    main()
