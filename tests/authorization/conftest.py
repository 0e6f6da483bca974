"""The world of each module, which no test changes."""

from collections.abc import Iterator

import pytest

from tests.authorization.world import World, build, frozen
from tests.support.databases import Database, emptied


@pytest.fixture(scope="module")
def built(database: Database) -> World:
    """The world; a test that needs an empty database belongs in another module."""
    return build(emptied(database))


@pytest.fixture
def world(built: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """The world, to which nothing that is asked is done."""
    built.leaks.clear()
    with frozen(monkeypatch):
        yield built
