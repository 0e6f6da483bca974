"""The named cast that every test starts with, and how each of them calls.

ada and bo are humans; scout is a read bot, smith a write bot for all projects, fenced a write bot
for the project FENCED alone. They are rows from the start, made without the verbs, so that a test
of an event sees only its own.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from app.accounts import credentials
from app.accounts.models import BotMode, BotToken, User, UserSession, UserType
from app.core import ids
from app.core.actor import Actor, ActorKind
from app.core.clock import DAY_MS, now_ms
from app.database.session import run_write, session
from app.projects import service as projects

API = "/api/v1"


@dataclass
class Caller:
    """One of the cast, calling REST."""

    client: FlaskClient
    headers: dict[str, str]
    user_id: str | None
    username: str
    token: str | None = None
    session_token: str | None = None

    def call(self, method: str, path: str, **options: Any) -> TestResponse:
        """Call an address below /api/v1 (or an absolute one, starting with //)."""
        headers = {**self.headers, **options.pop("headers", {})}
        address = path[1:] if path.startswith("//") else API + path
        return self.client.open(address, method=method, headers=headers, **options)

    def get(self, path: str, **options: Any) -> TestResponse:
        """GET."""
        return self.call("GET", path, **options)

    def post(self, path: str, body: Any = None, **options: Any) -> TestResponse:
        """POST a JSON body."""
        return self.call("POST", path, json={} if body is None else body, **options)

    def patch(self, path: str, body: Any, **options: Any) -> TestResponse:
        """PATCH with a JSON body."""
        return self.call("PATCH", path, json=body, **options)

    def delete(self, path: str, **options: Any) -> TestResponse:
        """DELETE."""
        return self.call("DELETE", path, **options)


@dataclass
class Cast:
    """Everyone, and two projects: OPEN, and FENCED, which alone the bot fenced may see."""

    ada: Caller
    bo: Caller
    scout: Caller
    smith: Caller
    fenced: Caller
    nobody: Caller
    open_project: str
    fenced_project: str


def _human(username: str) -> tuple[str, str]:
    identifier, token = ids.new_id(), credentials.new_secret()
    moment = now_ms()
    session.add(
        User(
            id=identifier,
            type=UserType.HUMAN.value,
            username=username,
            display_name=username.title(),
            is_active=True,
            created_at=moment,
            updated_at=moment,
        )
    )
    session.flush()
    session.add(
        UserSession(
            id=ids.new_id(),
            user_id=identifier,
            token_hash=credentials.hashed(token),
            user_agent="test",
            created_at=moment,
            last_seen_at=moment,
            expires_at=moment + DAY_MS,
        )
    )
    return identifier, token


def _bot(username: str, mode: BotMode, project_ids: list[str], creator: str) -> tuple[str, str]:
    identifier, token = ids.new_id(), credentials.new_bot_token()
    moment = now_ms()
    session.add(
        User(
            id=identifier,
            type=UserType.BOT.value,
            username=username,
            display_name=username.title(),
            is_active=True,
            bot_mode=mode.value,
            project_ids=project_ids,
            can_edit_global_wiki=False,
            rate_limit_per_minute=60,
            created_by_user_id=creator,
            created_at=moment,
            updated_at=moment,
        )
    )
    session.flush()
    session.add(
        BotToken(
            id=ids.new_id(),
            bot_user_id=identifier,
            prefix=credentials.lookup_prefix(token),
            token_hash=credentials.hashed(token),
            is_active=True,
            issued_at=moment,
            last_used_at=moment,
            audited_at=moment,
        )
    )
    return identifier, token


def make_cast(app: Flask) -> Cast:
    """Put the cast and its two projects into the database."""
    with app.app_context():
        made, projects_made = run_write(_write)

    def human(name: str) -> Caller:
        client = app.test_client()
        identifier, token = made[name]
        client.set_cookie("app_session", token)
        return Caller(client, {}, identifier, name, session_token=token)

    def bot(name: str, identity: tuple[str, str]) -> Caller:
        identifier, token = identity
        client = app.test_client(use_cookies=False)
        return Caller(client, {"X-API-Key": token}, identifier, name, token=token)

    return Cast(
        ada=human("ada"),
        bo=human("bo"),
        scout=bot("scout", made["scout"]),
        smith=bot("smith", made["smith"]),
        fenced=bot("fenced", made["fenced"]),
        nobody=Caller(app.test_client(use_cookies=False), {}, None, ""),
        open_project=projects_made[0],
        fenced_project=projects_made[1],
    )


def _write() -> tuple[dict[str, tuple[str, str]], tuple[str, str]]:
    ada, bo = _human("ada"), _human("bo")
    made = {
        "ada": ada,
        "bo": bo,
        "scout": _bot("scout", BotMode.READ, [], ada[0]),
        "smith": _bot("smith", BotMode.WRITE, [], ada[0]),
    }
    owned = _projects(ada[0])
    made["fenced"] = _bot("fenced", BotMode.WRITE, [owned[1]], ada[0])
    return made, owned


def _projects(owner: str) -> tuple[str, str]:
    actor = Actor(kind=ActorKind.HUMAN, user_id=owner, username="ada")
    first = projects.create_project(actor, key="OPEN", name="Open project")
    second = projects.create_project(actor, key="FENCED", name="Fenced project")
    return first.id, second.id


def in_app(app: Flask, work: Callable[[], Any]) -> Any:
    """Run a piece of work in the application's context, in a transaction."""
    with app.app_context():
        return run_write(work)
