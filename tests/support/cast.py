"""The cast that every test starts with, and how each member calls.

ada and bo are humans; scout is a read bot, smith a write bot for all projects, fenced a write bot
for the project FENCED only. Their rows are inserted without the verbs, so that a test of events
sees only its own.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import Table, insert, select, update
from werkzeug.test import TestResponse

from app.accounts import credentials
from app.accounts.models import BotMode, BotToken, User, UserSession, UserType
from app.core import ids
from app.core.actor import Actor, ActorKind
from app.core.clock import DAY_MS
from app.database.session import Base, reading, run_write, session
from app.projects import service as projects
from app.projects.models import Project

API = "/api/v1"


@dataclass
class Caller:
    """A member of the cast as a REST client."""

    client: FlaskClient
    headers: dict[str, str]
    user_id: str | None
    username: str
    token: str | None = None
    session_token: str | None = None

    def call(self, method: str, path: str, **options: Any) -> TestResponse:
        """Call a path below /api/v1 (or an absolute path, with a leading //)."""
        headers = {**self.headers, **options.pop("headers", {})}
        address = path[1:] if path.startswith("//") else API + path
        return self.client.open(address, method=method, headers=headers, **options)

    def get(self, path: str, **options: Any) -> TestResponse:
        return self.call("GET", path, **options)

    def post(self, path: str, body: Any = None, **options: Any) -> TestResponse:
        """POST a JSON body."""
        return self.call("POST", path, json={} if body is None else body, **options)

    def patch(self, path: str, body: Any, **options: Any) -> TestResponse:
        """Send a JSON body."""
        return self.call("PATCH", path, json=body, **options)

    def delete(self, path: str, **options: Any) -> TestResponse:
        return self.call("DELETE", path, **options)


@dataclass
class Cast:
    """The cast and two projects: OPEN, and FENCED, the only one that the bot fenced may see."""

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
    moment = ids.created_ms(identifier)
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
    moment = ids.created_ms(identifier)
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
    """Create the cast and its two projects in an empty database."""
    with app.app_context():
        made, projects_made = run_write(_write_again if _kept else _write)
        if not _kept:
            _keep(made, projects_made)

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


# The rows that the verbs wrote for this process's first cast, by table, parents first.
_kept: dict[Table, list[dict[str, Any]]] = {}
_kept_ids: dict[str, str] = {}


def _keep(made: dict[str, tuple[str, str]], owned: tuple[str, str]) -> None:
    with reading():
        found = {
            table: [dict(row._mapping) for row in session.execute(select(table))]
            for table in Base.metadata.sorted_tables
        }
    has_id = all("id" in row for rows in found.values() for row in rows)
    if len(found[User.__table__]) > len(made) or not has_id:
        # The database was not empty, so some rows do not belong to the cast.
        return
    _kept.update({table: rows for table, rows in found.items() if rows})
    _kept_ids.update({name: identity[0] for name, identity in made.items()})
    _kept_ids.update(zip(("open", "fenced project"), owned, strict=True))


def _write_again() -> tuple[dict[str, tuple[str, str]], tuple[str, str]]:
    """Insert the same rows with new ids, secrets and times, in a third of the verbs' time."""
    old = sorted(row["id"] for rows in _kept.values() for row in rows)
    renewed = {one: ids.new_id() for one in old}
    secrets: dict[str, str] = {}
    for table, rows in _kept.items():
        copies = [_copy(row, renewed) for row in rows]
        for copy in copies:
            if table is UserSession.__table__:
                secrets[copy["user_id"]] = token = credentials.new_secret()
                copy["token_hash"] = credentials.hashed(token)
            elif table is BotToken.__table__:
                secrets[copy["bot_user_id"]] = token = credentials.new_bot_token()
                copy["prefix"], copy["token_hash"] = (
                    credentials.lookup_prefix(token),
                    credentials.hashed(token),
                )
        session.execute(insert(table), copies)
    found = {name: renewed[one] for name, one in _kept_ids.items()}
    owned = found.pop("open"), found.pop("fenced project")
    return {name: (one, secrets[one]) for name, one in found.items()}, owned


def _copy(row: dict[str, Any], renewed: dict[str, str]) -> dict[str, Any]:
    later = ids.created_ms(renewed[row["id"]]) - ids.created_ms(row["id"])

    def renew(name: str, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: renew(key, inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [renew(name, inner) for inner in value]
        if isinstance(value, int) and name.endswith("_at"):
            return value + later
        return renewed.get(value, value) if isinstance(value, str) else value

    return {name: renew(name, value) for name, value in row.items()}


def _projects(owner: str) -> tuple[str, str]:
    actor = Actor(kind=ActorKind.HUMAN, user_id=owner, username="ada")
    first = projects.create_project(actor, key="OPEN", name="Open project")
    second = projects.create_project(actor, key="FENCED", name="Fenced project")
    # Disables the limit on bots' creations; without an event, like the rest of the cast.
    session.execute(update(Project).values(bot_creation_limit=0))
    return first.id, second.id


def in_app(app: Flask, work: Callable[[], Any]) -> Any:
    """Run a function in the application context, in a transaction."""
    with app.app_context():
        return run_write(work)
