import pytest

from tests.support.agent import Agent
from tests.support.story import events, make_ticket, ok


@pytest.fixture(name="smith")
def _smith(cast):
    return Agent(cast.smith)


@pytest.fixture(name="ticket")
def _ticket(cast):
    return make_ticket(cast.ada, cast.open_project)


@pytest.fixture(name="receipt")
def _receipt(app, cast):
    """The receipt of the newest event of a type, as the API shows it."""

    def newest(event_type="ticket.updated"):
        event = events(app, event_type=event_type)[-1]
        return ok(cast.ada.get(f"/audit/{event.id}"))["receipt"]

    return newest
