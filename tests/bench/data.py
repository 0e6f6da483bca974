"""Where a data set lies: a database of its own, filled unless an earlier run kept it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import orjson

from app import create_app, schema
from app.config import Settings
from tests.bench.filling import PASSWORD, USERNAME, World, fill
from tests.support.postgres import start_cluster
from tests.support.serving import Served

SECRET = "for one benchmark only"


@contextmanager
def database(kind: str, directory: Path) -> Iterator[str]:
    """The address of a database: a file in the directory, or of a PostgreSQL that goes again."""
    if kind == "sqlite":
        directory.mkdir(parents=True, exist_ok=True)
        yield f"sqlite:///{directory / 'bench.db'}"
        return
    cluster = start_cluster()
    try:
        yield cluster.create_database("bench")
    finally:
        cluster.stop()


def filled(url: str, directory: Path, tickets: int) -> World:
    """The data set, made unless an earlier run kept it."""
    kept = directory / "bench.json"
    if url.startswith("sqlite") and kept.exists():
        return World(**orjson.loads(kept.read_bytes()))
    settings = Settings(
        instance_dir=directory,
        database_url=url,
        secret_key=SECRET,
        base_url="http://localhost",
        log_level="WARNING",
    )
    print(f"filling {url.partition(':')[0]} with {tickets} tickets", flush=True)
    app = create_app(settings)
    with app.app_context():
        schema.upgrade()
        world = fill(settings, tickets)
    if url.startswith("sqlite"):
        kept.write_bytes(orjson.dumps(asdict(world)))
    return world


def cookie_of(served: Served) -> str:
    """The session of the person of the data set, logged in now."""
    answer = served.request(
        "POST", "/api/v1/auth/login", {"username": USERNAME, "password": PASSWORD}
    )
    return str(answer.headers["Set-Cookie"]).partition(";")[0]
