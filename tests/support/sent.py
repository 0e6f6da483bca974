"""Whether PostgreSQL gets every statement: ``pytest -p tests.support.sent --db=postgresql tests``.

Tests of edges run on SQLite alone (tests/conftest.py), but for those marked ``both_databases``.
With this plugin all of them run on PostgreSQL, and those are named that send statements which no
test that runs there otherwise sends: mark the cheapest of them.
"""

import os
import re
from collections import defaultdict
from collections.abc import Generator
from typing import Any

import psycopg
import pytest

from tests.conftest import kinds_of

# What begins and ends transactions, and what opens connections.
BESIDE = re.compile(
    r"BEGIN|COMMIT|ROLLBACK|SAVEPOINT|RELEASE|SET |SHOW|CREATE |DROP |SELECT pg_", re.I
)
VALUE = re.compile(r"%\(\w+\)s(::\w+)?|%s")
VALUES = re.compile(r"\?(, \?)+")

# The statements of the tests that always run on PostgreSQL, and those of each of the others.
_always: set[str] = set()
_otherwise: dict[str, set[str]] = defaultdict(set)
_sent: set[str] = set()


def _note(statement: Any) -> None:
    text = " ".join(str(statement).split())
    if not BESIDE.match(text):
        _sent.add(VALUES.sub("?", VALUE.sub("?", text)))


def _noting(run: Any) -> Any:
    def execute(cursor: Any, statement: Any, *values: Any, **options: Any) -> Any:
        _note(statement)
        return run(cursor, statement, *values, **options)

    return execute


def pytest_configure() -> None:
    for name in ("execute", "executemany"):
        setattr(psycopg.Cursor, name, _noting(getattr(psycopg.Cursor, name)))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, bool, bool]:
    _sent.clear()
    result = yield
    if "postgresql" in kinds_of(item):
        _always.update(_sent)
    else:
        _otherwise[item.nodeid].update(_sent)
    return result


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[Any]) -> Generator[None, Any, Any]:
    before = set(_sent)
    result = yield
    if fixturedef.scope == "session":
        # What migrates the database is sent by whichever test comes first.
        _sent.intersection_update(before)
    return result


def pytest_sessionfinish(session: pytest.Session) -> None:
    if "PYTEST_XDIST_WORKER" in os.environ:
        others = {name: list(sent) for name, sent in _otherwise.items()}
        session.config.workeroutput["sent"] = (list(_always), others)  # type: ignore[attr-defined]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    always, others = node.workeroutput["sent"]
    _always.update(always)
    for name, sent in others.items():
        _otherwise[name].update(sent)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    for name, sent in sorted(_otherwise.items()):
        for statement in sorted(sent - _always):
            terminalreporter.write_line(f"{name} alone sends: {statement[:200]}")
