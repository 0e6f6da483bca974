"""A data set that resembles years of work: one project's tickets with everything attached.

Rows are inserted directly and then indexed as `flask reindex` does; users, project and labels are
created by their verbs.
"""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import insert, select, text, update

from app.accounts import setup
from app.audit.models import AuditEvent
from app.audit.service import WORKSPACE_ID
from app.bots import service as bots
from app.config import Settings
from app.core import ids
from app.core.actor import SYSTEM, Actor, ActorKind
from app.core.clock import now_ms
from app.database.session import Base, is_postgresql, reading, run_write, session
from app.projects import labels, service
from app.projects.models import Project, WorkflowState
from app.search import reindexing
from app.tickets.models import Comment, Priority, Ticket, TicketLabel
from app.wiki.models import WikiPage, WikiRevision
from tests.bench.texts import Writer

USERNAME = "ada"
PASSWORD = "correct horse battery"
KEY = "BENCH"
CHUNK = 1000
LABELS = 20
PAGES = 1000
MINUTE_MS = 60_000


@dataclass
class World:
    """The ids and names that the measured requests use."""

    project_id: str
    token: str
    tickets: int
    states: list[str]
    labels: list[str]
    users: list[str]
    slugs: list[str] = field(default_factory=list)


def fill(settings: Settings, tickets: int) -> World:
    """Fill an empty, migrated database; needs an application context."""
    writer = Writer()
    admin = setup.create_admin(
        SYSTEM, username=USERNAME, password=PASSWORD, display_name="Ada", settings=settings
    )
    ada = Actor(ActorKind.HUMAN, user_id=admin.id)
    made = run_write(
        lambda: bots.create_bot(
            ada, username="bench", display_name="Bench", mode="write", settings=settings
        )
    )
    world = run_write(lambda: _project(ada, made.plaintext))
    world.users = [admin.id, made.user.id]
    world.tickets = tickets
    _write_tickets(writer, world)
    _write_pages(writer, world)
    with _without_index_of_terms():
        for _ in reindexing.reindex():
            pass
    if is_postgresql():
        run_write(lambda: session.execute(text("ANALYZE")))
    return world


@contextmanager
def _without_index_of_terms() -> Iterator[None]:
    """Create PostgreSQL's term index after the rows, which takes a fraction of the time."""
    if not is_postgresql():
        yield
        return
    named = "pg_indexes WHERE indexname = 'ix_search_fts_terms'"
    with reading():
        made_by = session.scalar(text(f"SELECT indexdef FROM {named}"))
    run_write(lambda: session.execute(text("DROP INDEX ix_search_fts_terms")))
    yield

    def make() -> None:
        session.execute(text("SET LOCAL statement_timeout = 0"))
        session.execute(text("SET LOCAL maintenance_work_mem = '1GB'"))
        session.execute(text(str(made_by)))

    run_write(make)


def _project(ada: Actor, token: str) -> World:
    project = service.create_project(ada, key=KEY, name="Bench")
    service.update_project(ada, project.id, bot_creation_limit=0)
    kept = [
        labels.create_label(ada, project.id, name=f"label {number}", color="#2f6f4f").id
        for number in range(LABELS)
    ]
    states = session.scalars(
        select(WorkflowState.id)
        .where(WorkflowState.project_id == project.id)
        .order_by(WorkflowState.position)
    ).all()
    return World(project.id, token, 0, list(states), kept, [])


def _insert(model: type[Base], rows: list[dict[str, Any]]) -> None:
    """Insert rows directly; the ORM would create objects first."""
    if rows:
        session.execute(insert(model), rows)


def _write_tickets(writer: Writer, world: World) -> None:
    """Make every fiftieth an epic; a third of the rest are subtasks of the preceding story."""
    chance = random.Random(3)
    identifiers: list[str] = []
    first = now_ms() - world.tickets * MINUTE_MS

    def write(numbers: range) -> None:
        tickets, comments, links, events = [], [], [], []
        for number in numbers:
            ticket = _ticket(writer, world, chance, number, identifiers, first)
            identifiers.append(ticket["id"])
            tickets.append(ticket)
            links += [
                {"ticket_id": ticket["id"], "label_id": label}
                for label in chance.sample(world.labels, number % 4)
            ]
            comments += [_comment(writer, world, ticket) for _ in range(number % 2)]
            events += [_event(world, ticket, kind) for kind in ("ticket.created", "ticket.updated")]
        for model, rows in (
            (Ticket, tickets),
            (TicketLabel, links),
            (Comment, comments),
            (AuditEvent, events),
        ):
            _insert(model, rows)

    for start in range(0, world.tickets, CHUNK):
        numbers = range(start, min(start + CHUNK, world.tickets))
        run_write(lambda numbers=numbers: write(numbers))  # type: ignore[misc]  # bound at once
    run_write(lambda: session.execute(update(Project).values(ticket_counter=world.tickets)))


def _ticket(
    writer: Writer,
    world: World,
    chance: random.Random,
    number: int,
    before: list[str],
    first: int,
) -> dict[str, Any]:
    # Most work is done: the last state has as many tickets as all others together.
    spread = [1] * (len(world.states) - 1) + [len(world.states) - 1]
    kind = "epic" if number % 50 == 0 else "subtask" if number % 3 == 2 else "story"
    parent = None
    if kind == "story":
        parent = before[number - number % 50]
    elif kind == "subtask":
        story = number - 1 if (number - 1) % 50 else number - 2
        parent = before[story] if story > 0 and story % 3 != 2 else None
        kind = kind if parent else "story"
    identifier = ids.new_id()
    moment = first + number * MINUTE_MS
    return {
        "id": identifier,
        "project_id": world.project_id,
        "ticket_number": number + 1,
        "display_id": f"{KEY}-{number + 1}",
        "type": kind,
        "title": writer.title(),
        "body": writer.body(),
        "state_id": chance.choices(world.states, spread)[0],
        "priority": chance.choice([str(priority) for priority in Priority]),
        "reporter_user_id": chance.choice(world.users),
        "assignee_user_id": chance.choice([*world.users, None]),
        "parent_ticket_id": parent,
        "due_date": f"2026-{number % 12 + 1:02d}-{number % 28 + 1:02d}"
        if number % 5 == 0
        else None,
        "created_at": moment,
        "updated_at": moment + MINUTE_MS,
    }


def _comment(writer: Writer, world: World, ticket: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": ids.new_id(),
        "ticket_id": ticket["id"],
        "author_user_id": world.users[1],
        "body": writer.body(40),
        "edit_history": [],
        "created_at": ticket["updated_at"],
        "updated_at": ticket["updated_at"],
    }


def _event(world: World, ticket: dict[str, Any], kind: str) -> dict[str, Any]:
    payload: dict[str, Any] = {"changes": {"priority": {"from": "low", "to": ticket["priority"]}}}
    if kind == "ticket.created":
        payload = {"display_id": ticket["display_id"], "title": ticket["title"]}
    return {
        "id": ids.new_id(),
        "workspace_id": WORKSPACE_ID,
        "category": "activity",
        "event_type": kind,
        "actor_user_id": ticket["reporter_user_id"],
        "actor_kind": "human" if ticket["reporter_user_id"] == world.users[0] else "bot",
        "target_kind": "ticket",
        "target_id": ticket["id"],
        "project_id": world.project_id,
        "ticket_id": ticket["id"],
        "payload": payload,
        "request_id": ids.new_id(),
        "created_at": ticket["updated_at"],
    }


def _write_pages(writer: Writer, world: World) -> None:
    """Write pages of about 400 words with headings, lists, code, and links to each other."""
    pages, revisions = [], []
    for number in range(PAGES):
        identifier = ids.new_id()
        moment = ids.created_ms(identifier)
        page = {
            "id": identifier,
            "project_id": world.project_id if number % 2 else None,
            "slug": f"page-{number}",
            "title": writer.title(),
            "body": _markdown(writer, number),
            "revision_number": 1,
            "created_by_user_id": world.users[0],
            "updated_by_user_id": world.users[0],
            "created_at": moment,
            "updated_at": moment,
        }
        pages.append(page)
        revisions.append(
            {
                "id": ids.new_id(),
                "page_id": identifier,
                "revision_number": 1,
                "title": page["title"],
                "body": page["body"],
                "summary": "",
                "author_user_id": world.users[0],
                "created_at": moment,
            }
        )
        world.slugs.append(str(page["slug"]))

    def write() -> None:
        _insert(WikiPage, pages)
        _insert(WikiRevision, revisions)

    run_write(write)


def _markdown(writer: Writer, number: int) -> str:
    parts = []
    for section in range(4):
        parts += [
            f"## {writer.title()}",
            writer.body(80),
            "\n".join(f"- {writer.title()}" for _ in range(4)),
            f"See [[page-{(number * 7 + section) % PAGES}]] and {KEY}-{number + 1}.",
        ]
    return "\n\n".join([*parts, "```python\nprint('hello')\n```"])
