"""Helpers of the tests of accounts and bots: people, bots, the audit log, parallel callers."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import select
from werkzeug.test import TestResponse

from app.audit.models import AuditEvent
from app.database.session import reading, run_write, session

T = TypeVar("T")
Json = dict[str, Any]

API = "/api/v1"
PASSWORD = "correct horse battery"
WEB = {"X-Requested-By": "web"}


def set_up(app: Flask, username: str = "ada") -> FlaskClient:
    """Create the first admin; return a browser in which she is logged in."""
    client = app.test_client()
    body = {"username": username, "password": PASSWORD}
    answer = client.post(f"{API}/setup/admin", json=body)
    assert answer.status_code == 201, answer.json
    return client


def try_login(
    client: FlaskClient, username: str, password: str = PASSWORD, address: str = "127.0.0.1"
) -> TestResponse:
    """Try to log in from an address."""
    return client.post(
        f"{API}/auth/login",
        json={"username": username, "password": password},
        environ_base={"REMOTE_ADDR": address},
    )


def logged_in(app: Flask, username: str, password: str = PASSWORD) -> FlaskClient:
    """Return a browser in which this human is logged in."""
    client = app.test_client()
    answer = try_login(client, username, password)
    assert answer.status_code == 200, answer.json
    return client


def new_human(admin: FlaskClient, username: str, **fields: Any) -> Json:
    """Create a human over REST."""
    body = {"username": username, "password": PASSWORD, **fields}
    answer = admin.post(f"{API}/users", json=body)
    assert answer.status_code == 201, answer.json
    return dict(answer.json or {})


def new_bot(admin: FlaskClient, username: str = "bot-test-1", **fields: Any) -> tuple[Json, str]:
    """Create a bot over REST; return it and its token."""
    answer = admin.post(f"{API}/bots", json={"username": username, "mode": "write", **fields})
    assert answer.status_code == 201, answer.json
    made = answer.json or {}
    return made["bot"], made["plaintext_token"]


def new_project(admin: FlaskClient, key: str) -> str:
    """Create a project over REST; return its id."""
    answer = admin.post(f"{API}/projects", json={"key": key, "name": key})
    assert answer.status_code == 201, answer.json
    return str((answer.json or {})["id"])


def key_of(token: str) -> dict[str, str]:
    """The header that carries a bot's token."""
    return {"X-API-Key": token}


def me_by_key(app: Flask, token: str) -> TestResponse:
    """Request the account that a token belongs to."""
    return app.test_client().get(f"{API}/auth/me", headers=key_of(token))


def cookie_of(client: FlaskClient) -> str:
    """The session cookie of a browser."""
    cookie = client.get_cookie("app_session")
    assert cookie is not None
    return cookie.value


def events(app: Flask, *types: str) -> list[AuditEvent]:
    """The audit events of these types (of all types if none is given), oldest first."""
    statement = select(AuditEvent).order_by(AuditEvent.id)
    if types:
        statement = statement.where(AuditEvent.event_type.in_(types))
    with app.app_context(), reading():
        return list(session.scalars(statement))


def event_types(app: Flask) -> list[str]:
    """The types of all audit events, oldest first."""
    return [event.event_type for event in events(app)]


def only(app: Flask, event_type: str) -> AuditEvent:
    """The one event of this type."""
    found = events(app, event_type)
    assert len(found) == 1, [event.payload for event in found]
    return found[0]


def write(app: Flask, statement: Any) -> None:
    """Run a statement in the database, bypassing the application."""
    with app.app_context():
        run_write(lambda: session.execute(statement))


def error(answer: TestResponse) -> tuple[int, str]:
    """The status and code of a refusal."""
    return answer.status_code, (answer.json or {})["error"]["code"]


def details(answer: TestResponse) -> Json:
    """The details of a refusal."""
    return dict((answer.json or {})["error"]["details"])


def at_once(count: int, work: Callable[[int], T]) -> list[T]:
    """Run ``work`` in this many threads that start together."""
    barrier = threading.Barrier(count)

    def start(number: int) -> T:
        barrier.wait()
        return work(number)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(start, range(count)))
