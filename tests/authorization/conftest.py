"""The world, built once for each module; no test changes it."""

from collections.abc import Iterator

import pytest

from tests.authorization.world import World, build, frozen
from tests.support.databases import Database, emptied


@pytest.fixture(scope="module")
def built(database: Database) -> World:
    """The world of a module; tests that need an empty database belong in another module."""
    return build(emptied(database))


@pytest.fixture
def world(built: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """The world; everything that requests write is rolled back."""
    built.leaks.clear()
    with frozen(monkeypatch):
        yield built
