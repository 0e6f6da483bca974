"""While a person has paused all bots, each can read as before, and write nothing."""

from itertools import product

import pytest

from app.bots import service
from app.core.actor import Actor, ActorKind
from tests.authorization import test_rest, test_tools
from tests.authorization.policy import PAUSED_LIKE, outcome
from tests.authorization.world import World
from tests.support.cast import in_app

WRITE = "H,B/W"


@pytest.fixture(scope="module")
def built(built: World) -> World:
    """The world with all bots paused."""
    ada = Actor(kind=ActorKind.HUMAN, user_id=built.callers["ada"].user_id, username="ada")
    in_app(built.app, lambda: service.pause_bots(ada))
    return built


def test_bots_that_are_paused_read_and_do_not_write(world):
    wrong = []
    for operation, actor in product(test_rest.ROWS, ("smith", "globe", "fenced")):
        access = test_rest.ROUTES[operation].access
        like = PAUSED_LIKE if access == WRITE else actor
        expected = outcome(access, like, "own", test_rest.ROWS[operation].special)
        response, _ = test_rest.ask(world, actor, operation, "own")
        found = test_rest.verdict(response) if response.status_code >= 400 else None
        if found != expected:
            wrong.append((operation, actor, found, expected))
    assert wrong == []


def test_tools_while_all_bots_are_paused(world):
    for tool, bot in product(test_tools.ROWS, ("smith", "fenced")):
        access = test_tools.CATALOG[tool].calls.access
        like = PAUSED_LIKE if access == WRITE else bot
        found = test_tools.verdict(test_tools.call(world, bot, tool, "own")[0])
        assert found == outcome(access, like, "own", test_tools.ROWS[tool].special), (tool, bot)
