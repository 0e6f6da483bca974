"""Measure search with very many tickets, by the verb and over HTTP, and the cost of indexing.

    python -m tests.bench.search [--postgresql | --database-url URL] [--tickets N] [--pages N]

Rows are inserted directly and then indexed by `flask reindex`; everything else uses the verbs.
`--keep DIR` keeps the SQLite database for another run.
"""

import argparse
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from flask import Flask
from sqlalchemy import func, insert, select

from app import create_app
from app.accounts import setup
from app.bots import service as bots
from app.config import Settings
from app.core import ids
from app.core.actor import SYSTEM, Actor, ActorKind
from app.core.clock import now_ms
from app.database import schema
from app.database.session import reading, run_write, session
from app.projects import service as projects
from app.projects.models import Project, WorkflowState
from app.search import index, reindexing, service
from app.search.flush import Flusher
from app.tickets import creating as tickets
from app.tickets.models import Ticket
from app.wiki.models import WikiPage
from tests.bench.data import database
from tests.bench.driver import Target, keep_busy
from tests.bench.texts import EVERYWHERE, Writer
from tests.support.serving import serving

PROJECTS = 10
CHUNK = 1000
ROUNDS = 200
LIMIT = 50
ROW = "{:<34}{:>8}{:>10}{:>10}{:>10}{:>10}"


def main() -> None:
    """Print a row for each kind of query."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.search", description=__doc__)
    parser.add_argument("--tickets", type=int, default=100_000, help="(100000)")
    parser.add_argument("--pages", type=int, default=1000, help="(1000)")
    parser.add_argument("--database-url", help="an empty PostgreSQL database to fill")
    parser.add_argument("--postgresql", action="store_true", help="a throw-away server of ours")
    parser.add_argument("--keep", type=Path, help="where the database stays, and may be already")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="docket-bench-") as made, _database(asked) as given:
        directory = asked.keep or Path(made)
        directory.mkdir(parents=True, exist_ok=True)
        settings = Settings(
            instance_dir=directory,
            database_url=given or f"sqlite:///{directory / 'docket.db'}",
            secret_key="for one benchmark only, and long enough",
            base_url="http://localhost",
            log_level="WARNING",
        )
        app = create_app(settings)
        writer = Writer()
        with app.app_context():
            schema.upgrade()
            _fill(writer, asked.tickets, asked.pages, settings)
            ada = Actor(ActorKind.HUMAN, user_id=_owner())
            token = _bot(ada, settings)
            print(ROW.format("by the verb", "queries", "p50 ms", "p99 ms", "worst ms", "hits"))
            _measure_verb(writer, ada)
            _measure_creating(app, writer, ada)
        _measure_server(settings, writer, token)


@contextmanager
def _database(asked: argparse.Namespace) -> Iterator[str | None]:
    if not asked.postgresql:
        yield asked.database_url
        return
    with tempfile.TemporaryDirectory() as made, database("postgresql", Path(made)) as place:
        yield place.url


def _owner() -> str:
    with reading():
        return str(session.scalar(select(Project.owner_user_id).limit(1)))


def _fill(writer: Writer, count: int, pages: int, settings: Settings) -> None:
    """Insert and index the rows, unless they exist."""
    with reading():
        if session.scalar(select(func.count()).select_from(Ticket)):
            return
    admin = setup.create_admin(
        SYSTEM,
        username="ada",
        password="correct horse battery",
        display_name="Ada",
        settings=settings,
    )
    ada = Actor(ActorKind.HUMAN, user_id=admin.id)
    places = [_project(ada, number) for number in range(PROJECTS)]
    began = time.perf_counter()
    for start in range(0, count, CHUNK):
        numbers = range(start, min(start + CHUNK, count))
        _write(Ticket, [_ticket(writer, places, number, admin.id) for number in numbers])
    for start in range(0, pages, CHUNK):
        numbers = range(start, min(start + CHUNK, pages))
        _write(WikiPage, [_page(writer, places, number, admin.id) for number in numbers])
    print(f"{count} tickets and {pages} pages written in {time.perf_counter() - began:.0f} s")
    began = time.perf_counter()
    done = sum(reindexing.reindex())
    print(f"{done} documents indexed in {time.perf_counter() - began:.0f} s")


def _write(model: type[Ticket] | type[WikiPage], rows: list[dict[str, object]]) -> None:
    run_write(lambda: session.execute(insert(model), rows))


def _project(ada: Actor, number: int) -> tuple[str, str, str]:
    def work() -> tuple[str, str, str]:
        made = projects.create_project(ada, key=f"BEN{number}", name=f"Bench {number}")
        projects.update_project(ada, made.id, bot_creation_limit=0)
        made.ticket_counter = 1_000_000
        first = select(WorkflowState.id).where(WorkflowState.project_id == made.id)
        return made.id, made.key, str(session.scalar(first.limit(1)))

    return run_write(work)


def _ticket(
    writer: Writer, places: list[tuple[str, str, str]], number: int, user_id: str
) -> dict[str, object]:
    project_id, key, state_id = places[number % PROJECTS]
    identifier = ids.new_id()
    moment = ids.created_ms(identifier)
    return {
        "id": identifier,
        "project_id": project_id,
        "ticket_number": number // PROJECTS + 1,
        "display_id": f"{key}-{number // PROJECTS + 1}",
        "type": "story",
        "title": writer.title(),
        "body": writer.body(),
        "state_id": state_id,
        "priority": "medium",
        "reporter_user_id": user_id,
        "created_at": moment,
        "updated_at": moment,
    }


def _page(
    writer: Writer, places: list[tuple[str, str, str]], number: int, user_id: str
) -> dict[str, object]:
    identifier = ids.new_id()
    moment = ids.created_ms(identifier)
    return {
        "id": identifier,
        "project_id": places[number % PROJECTS][0] if number % 2 else None,
        "slug": f"page-{number}",
        "title": writer.title(),
        "body": writer.body(1000),
        "revision_number": 1,
        "created_by_user_id": user_id,
        "updated_by_user_id": user_id,
        "created_at": moment,
        "updated_at": moment,
    }


def _bot(ada: Actor, settings: Settings) -> str:
    """Create a read bot that sees half of the projects; return its token."""
    with reading():
        seen = list(session.scalars(select(Project.id).order_by(Project.key).limit(PROJECTS // 2)))
    name = f"bench-{now_ms()}"
    made = run_write(
        lambda: bots.create_bot(
            ada, username=name, mode="read", project_ids=seen, settings=settings
        )
    )
    return made.plaintext


def _queries(writer: Writer) -> dict[str, Callable[[], str]]:
    """Return functions that generate queries, by kind."""
    chance = random.Random(2)
    common = writer.words[:300]

    def words(count: int) -> str:
        return " ".join(writer.some(count))

    return {
        "two words": lambda: words(2),
        "two common words": lambda: " ".join(chance.sample(common[:40], 2)),
        "a common and a rare word": lambda: f"{common[3]} {chance.choice(writer.words[5000:])}",
        "a one-letter prefix": lambda: chance.choice("abcdefghijklmnopqrstuvwxyz"),
        "a two-letter prefix": lambda: chance.choice(writer.words)[:2],
        "a word in every document": lambda: EVERYWHERE,
        "that and another": lambda: f"{EVERYWHERE} {words(1)}",
        "that and a one-letter prefix": lambda: f"{EVERYWHERE} {chance.choice('abcdefgh')}",
        "a phrase": lambda: '"' + " ".join(chance.sample(common[:20], 2)) + '"',
        "a word without another": lambda: f"{words(1)} -{chance.choice(common)}",
        "without a common word": lambda: f"-{common[0]}",
        "eight words": lambda: words(8),
        "any of eight words": lambda: f"xyzzyx {words(8)}",
        "any of three common words": lambda: " ".join(["xyzzyx", *chance.sample(common[:40], 3)]),
        "no such word": lambda: "xyzzyx" + words(1),
        "a display id": lambda: f"BEN{chance.randrange(PROJECTS)}-{chance.randrange(1, 5000)}",
    }


def _measure_verb(writer: Writer, ada: Actor) -> None:
    with reading():
        some = list(session.scalars(select(Project.id).order_by(Project.key).limit(PROJECTS // 2)))
    fenced = Actor(ActorKind.BOT, user_id=ids.new_id(), allowlist=frozenset(some[:1]))
    for name, make in _queries(writer).items():
        _print(name, [_timed(ada, make()) for _ in range(ROUNDS)])
    common = _queries(writer)["two common words"]
    _print("two common, a bot of one project", [_timed(fenced, common()) for _ in range(ROUNDS)])
    _print(
        "two common, among wiki pages",
        [_timed(ada, common(), type="wiki_page") for _ in range(ROUNDS)],
    )
    if deep := _deep(ada):
        _print("everywhere, from the hundredth page", deep)


def _timed(actor: Actor, q: str, **filters: str) -> tuple[float, int]:
    began = time.perf_counter()
    with reading():
        found = service.query(actor, q=q, limit=LIMIT, **filters)
    return (time.perf_counter() - began) * 1000, len(found["data"])


def _deep(actor: Actor) -> list[tuple[float, int]]:
    """Return the time of each page from the hundredth on."""
    times, cursor = [], None
    for number in range(100 + ROUNDS):
        began = time.perf_counter()
        with reading():
            found = service.query(actor, q=EVERYWHERE, limit=LIMIT, cursor=cursor)
        if number >= 100:
            times.append(((time.perf_counter() - began) * 1000, len(found["data"])))
        cursor = found["page"]["next_cursor"]
        if cursor is None:
            break
    return times


def _print(name: str, measured: list[tuple[float, int]]) -> None:
    times = sorted(one for one, _ in measured)
    print(
        ROW.format(
            name,
            len(times),
            f"{times[len(times) // 2]:.1f}",
            f"{times[int(len(times) * 0.99)]:.1f}",
            f"{times[-1]:.1f}",
            f"{sum(hits for _, hits in measured) / len(measured):.0f}",
        ),
        flush=True,
    )


def _measure_creating(app: Flask, writer: Writer, ada: Actor) -> None:
    """Measure creating a ticket including its commit, as in a server, but not its indexing."""
    flusher = Flusher(app)
    flusher.start()
    with reading():
        project_id = str(session.scalar(select(Project.id).limit(1)))

    def create() -> tuple[float, int]:
        title, body = writer.title(), writer.body()
        began = time.perf_counter()
        run_write(lambda: tickets.create_ticket(ada, project_id, title=title, body=body))
        return (time.perf_counter() - began) * 1000, 1

    with_index = index.put_new
    kinds = {"create a ticket": with_index, "create, not indexed": lambda _doc, _terms: None}
    for name, put in kinds.items():
        index.put_new = put
        _print(name, [create() for _ in range(ROUNDS)])
    index.put_new = with_index
    flusher.stop()


def _measure_server(settings: Settings, writer: Writer, token: str) -> None:
    environment = {
        "LOG_LEVEL": settings.log_level,
        "SECRET_KEY": settings.secret_key,
        "DATABASE_URL": settings.database_url,
    }
    print(ROW.format("over HTTP, as a bot", "queries", "p50 ms", "p99 ms", "worst ms", "clients"))
    queries = _queries(writer)
    with serving(settings.instance_dir, **environment) as served:
        for name in ("two words", "a one-letter prefix", "a word in every document"):
            for clients in (1, 8):
                path = f"/api/v1/search?limit={LIMIT}&q={quote(queries[name]())}"
                target = Target(name, "GET", path)
                figures = keep_busy(served.port, target, {"X-API-Key": token}, clients, 3.0)
                assert figures.failures == 0, figures
                print(
                    ROW.format(
                        name,
                        figures.requests,
                        f"{figures.p50:.1f}",
                        f"{figures.p99:.1f}",
                        f"{figures.worst:.1f}",
                        clients,
                    ),
                    flush=True,
                )


if __name__ == "__main__":
    main()
