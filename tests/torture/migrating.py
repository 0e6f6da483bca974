"""Migrations are killed midway: started again, they complete, and nothing is lost."""

import random

import sqlalchemy as sa
from alembic import command

from app import create_app
from app.database.session import db
from tests.migrations.test_migrations import config
from tests.migrations.test_with_data import REVISIONS, everything, put, same
from tests.support.settings import settings_for
from tests.torture import dying
from tests.torture.faults import Figures, expect
from tests.torture.stage import Stage

# Upper bound of the statement to die at; a full migration executes a few more.
MAX_STATEMENTS = 50
Rows = dict[str, list[dict[str, object]]]


def migrations(stage: Stage, count: int) -> Figures:
    """SIGKILL `flask db upgrade` midway, from random revisions that contain the stage's rows."""
    chance = random.Random(20261121)
    rows = everything(stage.engine)
    killed = undone = 0
    for number in range(count):
        url = _fresh(stage, f"cut{number}")
        before = chance.choice(REVISIONS[:-1])
        given = _fill(stage, url, before, rows)
        killed += _upgrade(stage, url, chance.randrange(2, MAX_STATEMENTS)) != 0
        found = _revision(url)
        expect(found in (before, REVISIONS[-1]), f"from {before} only {found} was reached")
        undone += found == before
        expect(_upgrade(stage, url) == 0, f"an upgrade from {before} that was killed cannot go on")
        _check(url, given, rows)
    return {"upgrades killed": killed, "undone by it": undone}


def _fresh(stage: Stage, name: str) -> str:
    """Return the URL of an empty database next to the stage's."""
    if stage.cluster is None:
        return f"sqlite:///{stage.directory}/{name}.db"
    return stage.cluster.create_database(name)


def _fill(stage: Stage, url: str, revision: str, rows: Rows) -> dict[str, list[str]]:
    """Create the schema of a revision with the rows that fit it; return the columns filled."""
    old = create_app(settings_for(url, stage.directory))
    with old.app_context():
        command.upgrade(config(old), revision)
        given: dict[str, list[str]] = put(db.engine, rows)
        db.engine.dispose()
    return given


def _upgrade(stage: Stage, url: str, statement: int = 0) -> int:
    """Return the exit code of an upgrade killed at a statement; with fewer it completes."""
    done = dying.run(stage, statement, "db", "upgrade", beside="beside", DATABASE_URL=url)
    return done.returncode


def _revision(url: str) -> str:
    with sa.create_engine(url, poolclass=sa.NullPool).connect() as connection:
        return str(connection.scalar(sa.text("SELECT version_num FROM alembic_version")))


def _check(url: str, given: dict[str, list[str]], rows: Rows) -> None:
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    after = everything(engine)
    for table, columns in given.items():
        expect(same(table, after, columns) == same(table, rows, columns), f"{table} differs")
    if engine.dialect.name == "sqlite":
        with engine.connect() as connection:
            whole = connection.execute(sa.text("PRAGMA integrity_check")).scalar()
            expect(whole == "ok", f"integrity_check: {whole}")
