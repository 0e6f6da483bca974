"""Fixtures for all tests: ``database`` (once per kind of database), ``app``, ``client``, ``cast``.

A test that asks for none of them runs once; any other runs on SQLite and on PostgreSQL.
"""

import pytest

from tests.support import databases
from tests.support.cast import make_cast
from tests.support.postgres import cluster_or_skip

KINDS = ("sqlite", "postgresql")


def pytest_addoption(parser):
    parser.addoption(
        "--db",
        choices=[*KINDS, "both"],
        default="both",
        help="which database the tests run on (default: both)",
    )


def pytest_generate_tests(metafunc):
    if "database" in metafunc.fixturenames:
        chosen = metafunc.config.getoption("--db")
        kinds = KINDS if chosen == "both" else (chosen,)
        metafunc.parametrize("database", kinds, indirect=True, scope="session")


@pytest.fixture(scope="session")
def cluster():
    """A throw-away PostgreSQL server."""
    yield from cluster_or_skip()


@pytest.fixture(scope="session")
def database(request):
    """A migrated database and its application, kept for the whole session."""
    if request.param == "sqlite":
        with databases.sqlite_database() as made:
            yield made
    else:
        with databases.postgres_database(request.getfixturevalue("cluster")) as made:
            yield made


@pytest.fixture
def app(database):
    """The application on an empty database. Commits are real, so rows are deleted, not undone."""
    database.empty()
    return database.app


@pytest.fixture
def client(app):
    """A browser of its own: no credentials, and a cookie jar."""
    return app.test_client()


@pytest.fixture
def cast(app):
    """ada, bo, scout, smith, fenced and nobody, with two projects (tests/support/cast.py)."""
    return make_cast(app)
