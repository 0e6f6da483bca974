"""flask bots rewind."""

import pytest
from sqlalchemy import func, select

from app.core.clock import iso
from app.database.session import reading, session
from app.webhooks.models import OutboxEntry
from tests.support.story import ok


@pytest.fixture
def flask(app, world):
    """Run the command; return its output."""

    def run(*args, code=0):
        result = app.test_cli_runner().invoke(args=["bots", "rewind", *args])
        assert result.exit_code == code, (result.output, result.exception)
        return result.output

    return run


def test_a_preview_lists_by_ticket_and_changes_nothing(world, flask):
    path = f"/tickets/{world.ticket}"
    world.smith("PATCH", path, title="By the bot", priority="low")
    world.bo("PATCH", path, title="By Bo")
    world.make(world.cast.smith, "Spam")
    output = flask("smith", "--since", "1h", "--dry-run", "--as", "ada")
    assert "Preview: nothing was changed." in output
    assert "OPEN-1: 1 to revert, 1 kept: By Bo\n" in output
    assert "OPEN-2: 1 to revert: Spam\n" in output
    assert "     1 ticket deleted\n" in output
    assert "     1 value kept:\n  OPEN-1: Title: Changed by Bo on " in output
    assert world.now()["priority"] == "low"


def test_a_rewind_says_what_it_did(world, flask):
    world.smith("PATCH", f"/tickets/{world.ticket}", priority="low")
    since = iso(world.since)
    assert "1 field reverted" in flask("smith", "--since", since, "--as", "ada")
    assert world.now()["priority"] == "medium"
    assert "Nothing left to revert." in flask("smith", "--since", since, "--as", "ada")


def test_a_project_bounds_it(world, flask):
    world.smith("PATCH", f"/tickets/{world.ticket}", priority="low")
    flask("smith", "--since", "1h", "--project", "FENCED", "--as", "ada")
    assert world.now()["priority"] == "low"
    flask("smith", "--since", "1h", "--project", "OPEN", "--as", "ada")
    assert world.now()["priority"] == "medium"


def test_refusals(world, flask):
    assert "Bot nobody not found." in flask("nobody", "--since", "1h", "--as", "ada", code=1)
    assert "neither a time" in flask("smith", "--since", "soon", "--as", "ada", code=2)
    late = ("--since", "1h", "--until", "2h")
    assert "--until must be later" in flask("smith", *late, "--as", "ada", code=2)
    first = ("--since", "1h", "--until", "1970-01-01")
    assert "--until must be later" in flask("smith", *first, "--as", "ada", code=2)
    assert "Specify one with --as" in flask("smith", "--since", "1h", code=1)


def test_webhooks_hear_of_it_unless_they_should_not(app, world, flask):
    hook = {"url": "https://10.0.0.1/", "secret": "x" * 16, "event_types": ["ticket.updated"]}
    world.smith("PATCH", f"/tickets/{world.ticket}", priority="low")
    other = world.make(world.cast.ada, "Other")
    world.smith("PATCH", f"/tickets/{other}", priority="low")
    ok(world.cast.ada.post("/webhooks", hook), 201)

    def told():
        with app.app_context(), reading():
            return session.scalar(select(func.count()).select_from(OutboxEntry))

    flask("smith", "--since", "1h", "--without-webhooks", "--as", "ada")
    assert (world.now()["priority"], told()) == ("medium", 0)
    world.smith("PATCH", f"/tickets/{other}", priority="low")
    before = told()
    flask("smith", "--since", "1h", "--as", "ada")
    assert told() == before + 1
