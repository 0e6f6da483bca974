"""Data sets: each in its own database, filled unless an earlier run kept it."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path

import orjson

from app import create_app
from app.config import Settings
from app.database import schema
from tests.bench.filling import PASSWORD, USERNAME, World, fill
from tests.support.postgres import start_cluster
from tests.support.serving import Served

SECRET = "for one benchmark only, and long enough"


@dataclass(frozen=True)
class Place:
    """A database, and the file that records its content: None if the database is temporary."""

    url: str
    directory: Path
    note: Path | None = None


@contextmanager
def database(kind: str, made: Path, keep: Path | None = None) -> Iterator[Place]:
    """Provide a database for a data set: a file in a directory, or a temporary PostgreSQL one.

    Keeping one on PostgreSQL needs a persistent server, that of TEST_DATABASE_URL; the path of the
    directory ``keep`` determines the database's name.
    """
    directory = keep or made
    directory.mkdir(parents=True, exist_ok=True)
    if kind == "sqlite":
        yield Place(f"sqlite:///{directory / 'bench.db'}", directory, directory / "bench.json")
        return
    cluster = start_cluster()
    if keep is not None and "TEST_DATABASE_URL" in os.environ:
        name = f"bench_{sha256(bytes(keep.resolve())).hexdigest()[:12]}"
        note = directory / "postgresql.json"
        if not note.exists():
            cluster.drop_database(name)
            cluster.create_database(name)
        yield Place(cluster.url(name), directory, note)
        return
    if keep is not None:
        print("PostgreSQL's data set goes again: no server that stays (TEST_DATABASE_URL)")
    try:
        yield Place(cluster.create_database("bench"), directory)
    finally:
        cluster.stop()


def filled(place: Place, tickets: int) -> World:
    """Return the data set, created unless an earlier run kept it."""
    if place.note is not None and place.note.exists():
        return World(**orjson.loads(place.note.read_bytes()))
    settings = Settings(
        instance_dir=place.directory,
        database_url=place.url,
        secret_key=SECRET,
        base_url="http://localhost",
        log_level="WARNING",
    )
    print(f"filling {place.url.partition(':')[0]} with {tickets} tickets", flush=True)
    app = create_app(settings)
    with app.app_context():
        schema.upgrade()
        world = fill(settings, tickets)
    if place.note is not None:
        place.note.write_bytes(orjson.dumps(asdict(world)))
    return world


def cookie_of(served: Served) -> str:
    """Log in as the data set's person; return the session cookie."""
    answer = served.request(
        "POST", "/api/v1/auth/login", {"username": USERNAME, "password": PASSWORD}
    )
    return str(answer.headers["Set-Cookie"]).partition(";")[0]
