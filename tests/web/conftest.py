"""Pages as ada sees them, without a browser."""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from tests.support.cast import Cast
from tests.support.statements import statements
from tests.web.templates_of_tests import clock, env, shown

__all__ = ["clock", "env", "shown"]

PAGE = {"Accept": "text/html,application/xhtml+xml"}
HTMX = {"HX-Request": "true"}


@dataclass
class Reader:
    """A person with a browser, who requests pages and submits forms."""

    client: FlaskClient
    app: Flask

    def get(self, path: str, *, htmx: bool = False, **headers: str) -> TestResponse:
        """Request a path."""
        return self.client.get(path, headers=PAGE | (HTMX if htmx else {}) | headers)

    def post(self, path: str, *, htmx: bool = False, headers: Any = None, **form: Any) -> Any:
        """Submit a form."""
        sent = PAGE | (HTMX if htmx else {}) | (headers or {})
        return self.client.post(path, data=form, headers=sent)

    def statements(self) -> AbstractContextManager[list[str]]:
        """Collect the SQL statements that run within the block."""
        return statements(self.app)


@pytest.fixture
def ada(app: Flask, cast: Cast) -> Reader:
    """Ada in her browser."""
    return Reader(cast.ada.client, app)


@pytest.fixture
def stranger(app: Flask, cast: Cast) -> Reader:
    """A browser without a session, where people exist."""
    return Reader(app.test_client(), app)


@pytest.fixture
def newcomer(app: Flask) -> Reader:
    """A browser at an installation that has not been set up."""
    return Reader(app.test_client(), app)


@pytest.fixture
def ticket(cast: Cast) -> dict[str, Any]:
    """A ticket in OPEN with a label, a subtask, a comment, a relation and a watcher."""
    project = f"/projects/{cast.open_project}"
    label = cast.ada.post(f"{project}/labels", {"name": "bug", "color": "#d1242f"}).json
    made = cast.ada.post(
        f"{project}/tickets", {"title": "A <i>ticket</i>", "label_ids": [label["id"]]}
    ).json
    part = {"title": "A part", "type": "subtask", "parent_ticket_id": made["id"]}
    other = cast.ada.post(f"{project}/tickets", part).json
    cast.ada.post(f"/tickets/{made['id']}/comments", {"body": "Said."})
    cast.ada.post(f"/tickets/{made['id']}/watchers")
    cast.ada.post(
        f"/tickets/{made['id']}/relations", {"type": "blocks", "target_ticket_id": other["id"]}
    )
    return made


@pytest.fixture
def states(cast):
    """The states of OPEN by name."""
    path = f"/projects/{cast.open_project}/workflow-states"
    return {one["name"]: one["id"] for one in cast.ada.get(path).json["data"]}


@pytest.fixture
def make(cast):
    """A function that creates a ticket in OPEN."""

    def made(title, **fields):
        path = f"/projects/{cast.open_project}/tickets"
        answer = cast.ada.post(path, {"title": title, **fields})
        assert answer.status_code == 201, answer.text
        return answer.json

    return made


@pytest.fixture
def label(cast):
    """A function that creates a label in OPEN and returns its id."""

    def made(name):
        return cast.ada.post(f"/projects/{cast.open_project}/labels", {"name": name}).json["id"]

    return made


@pytest.fixture
def path(ticket: dict[str, Any]) -> str:
    """The REST path of the ticket."""
    return f"/tickets/{ticket['id']}"


@pytest.fixture
def guide(cast: Cast) -> dict[str, Any]:
    """A wiki page of OPEN with three revisions, of which a bot made the second."""
    made: dict[str, Any] = cast.ada.post(
        "/wiki/pages",
        {
            "title": "Set up",
            "body": "First line\n\nSecond [[nowhere]]\n",
            "project_id": cast.open_project,
        },
    ).get_json()
    path = f"/wiki/pages/{made['id']}"
    cast.smith.patch(path, {"body": "First line\n\nSecond words\n", "summary": "No link"})
    cast.ada.patch(path, {"title": "Setting up"})
    return made
