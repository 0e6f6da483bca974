"""A world in which every place of the policy has one of each thing, with a unique word.

Requests do not change it: ``frozen`` lets every unit of work run to its end, flushed and checked by
the database, and then rolls it back.
"""

import io
import json
import re
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import update
from sqlalchemy.engine import RootTransaction
from werkzeug.test import TestResponse

from app.accounts.models import BotToken, Passkey, UserSession
from app.core import ids
from app.core.clock import HOUR_MS, now_ms
from app.database.session import session
from app.files import images
from app.search import index
from app.webhooks import outbox
from app.webhooks.attempts import DeliveryOutcome
from tests.authorization.policy import SEE_IDS, may_read
from tests.support.cast import Caller, Cast, in_app, make_cast
from tests.support.story import add_file, ok

WORDS = {
    "own": "zqownword",
    "other": "zqotherword",
    "deleted": "zqdeletedword",
    "xdeleted": "zqxdeletedword",
    "dead": "zqdeadword",
    "xdead": "zqxdeadword",
    "global": "zqglobalword",
    "personal": "zqpersonalword",
}
DISPLAY_IDS = re.compile(r"\b(?:OPEN|XDEAD)-[0-9]+")
# A GIF of one pixel.
IMAGE = bytes.fromhex("47494638396101000100800000000000ffffff2c00000000010001000002024401003b")
PROJECT_OF = {"deleted": "own", "xdeleted": "other"}


@dataclass
class World:
    """The actors, and the things in each place: ids and names, by their names in paths."""

    app: Flask
    callers: dict[str, Caller]
    places: dict[str, dict[str, str]]
    leaks: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        names = (
            "ticket",
            "comment",
            "page",
            "note",
            "relation",
            "link",
            "revision",
            "label",
            "state",
            "file",
        )
        self.ids = {
            place: tuple(things[name] for name in names if name in things)
            for place, things in self.places.items()
            if place in WORDS
        }

    def look_for_leaks(self, actor: str, operation: str, response: TestResponse, sent: str) -> None:
        """Record each word and id in the response that this actor may not read there.

        A response may repeat what the request said.
        """
        shown = text_of(response) + str(response.headers)
        hidden = [WORDS[place] for place in WORDS if not may_read(actor, place, operation)]
        hidden += [
            one for place in self.ids if actor not in SEE_IDS[place] for one in self.ids[place]
        ]
        found = [one for one in hidden if one in shown and one not in sent]
        if actor not in SEE_IDS["other"]:
            found += [one for one in DISPLAY_IDS.findall(shown) if one not in sent]
        self.leaks += [f"{actor} read {one} in {operation}: {sent[:160]}" for one in found]


def text_of(response: TestResponse) -> str:
    """The text of a response, also if it is in a zip archive."""
    if response.mimetype != "application/zip":
        return response.get_data().decode(errors="replace")
    with zipfile.ZipFile(io.BytesIO(response.data)) as archive:
        return "".join(name + archive.read(name).decode() for name in archive.namelist())


def furnish(ada: Caller, project: str, word: str, hub: str, everyones: str) -> dict[str, str]:
    """Create one of each thing in a project; return the values that paths need, by name."""
    path = f"/projects/{project}"
    state = ok(ada.post(f"{path}/workflow-states", {"name": word, "category": "active"}), 201)
    spare = ok(ada.post(f"{path}/workflow-states", {"name": word[::-1], "category": "done"}), 201)
    label = ok(ada.post(f"{path}/labels", {"name": word}), 201)
    fields = {"title": f"{word} title", "body": f"{word} body [[ticket:FENCED-1]]"}
    fields |= {"label_ids": [label["id"]], "state_id": state["id"]}
    ticket = ok(ada.post(f"{path}/tickets", fields), 201)
    at = f"/tickets/{ticket['id']}"
    comment = ok(ada.post(f"{at}/comments", {"body": f"{word} comment"}), 201)
    ok(ada.post(f"{at}/watchers"), 201)
    edge = {"type": "blocks", "target_ticket_id": everyones}
    relation = ok(ada.post(f"{at}/relations", edge), 201)
    address = {"url": f"https://example.org/{word}", "title": f"{word} link"}
    link = ok(ada.post(f"{at}/links", address), 201)
    page = {"title": f"{word} page", "slug": f"{word}-page", "project_id": project}
    page = ok(ada.post("/wiki/pages", page | {"body": f"[[hub]] [[{word}-none]]"}), 201)
    revisions = ok(ada.get(f"/wiki/pages/{page['id']}/revisions"))["data"]
    file = _add_image(ada, at, word)
    note = ok(ada.post(f"{path}/sticky-notes", {"body": f"{word} note"}), 201)
    key = ticket["display_id"].rpartition("-")[0]
    settings = f"//projects/{key}/settings/templates"
    ok(ada.call("POST", settings, data={"name": word, "body": word}), 303)
    listed = ada.get(settings).text
    return {
        "project": project,
        "template": re.findall(r'settings/templates/([0-9a-f-]{36})"', listed)[0],
        "state": state["id"],
        "spare_state": spare["id"],
        "label": label["id"],
        "ticket": ticket["id"],
        "display_id": ticket["display_id"],
        "comment": comment["id"],
        "user": ada.user_id or "",
        "relation": relation["id"],
        "link": link["id"],
        "page": page["id"],
        "slug": page["slug"],
        "revision": revisions[0]["id"],
        "note": note["id"],
        "file": file,
        "reaction": "thumbs_up",
        "key": key,
    }


def build(app: Flask) -> World:
    """Build the world with requests of ada, as people would."""
    cast = make_cast(app)
    ada = cast.ada
    key = {"name": f"{WORDS['other']} project", "description": WORDS["other"]}
    ok(ada.patch(f"/projects/{cast.open_project}", key))
    dead = [
        ok(ada.post("/projects", {"key": key, "name": f"{WORDS[key.lower()]} project"}), 201)["id"]
        for key in ("DEAD", "XDEAD")
    ]
    fence = {"project_ids": [cast.fenced_project, dead[0]]}
    ok(ada.patch(f"/bots/{cast.fenced.user_id}", fence))
    hub = ok(ada.post("/wiki/pages", {"title": f"{WORDS['global']} hub", "slug": "hub"}), 201)
    first = {"title": "Related to all", "body": WORDS["own"]}
    everyones = ok(ada.post(f"/projects/{cast.fenced_project}/tickets", first), 201)["id"]
    projects = {
        "own": cast.fenced_project,
        "other": cast.open_project,
        "dead": dead[0],
        "xdead": dead[1],
    }
    places = {
        place: furnish(ada, project, WORDS[place], hub["id"], everyones)
        for place, project in projects.items()
    }
    for place, within in PROJECT_OF.items():
        places[place] = _deleted(ada, projects[within], WORDS[place])
    callers = _callers(app, cast, fence)
    for project in dead:
        ok(ada.delete(f"/projects/{project}"), 204)
    places["global"] = _global(ada, hub)
    note = ok(ada.post("/sticky-notes", {"body": f"{WORDS['personal']} note"}), 201)
    ok(ada.patch(f"/sticky-notes/{note['id']}", {"body": f"{WORDS['personal']} changed"}))
    places["personal"] = {"note": note["id"]}
    places["missing"] = (
        {
            name: ids.new_id()
            for name in {
                *places["own"],
                "bot",
                "webhook",
                "integration",
                "delivery",
                "event",
                "passkey",
                "feed",
            }
        }
        | {"display_id": "FENCED-999", "slug": "no-such-page", "key": "NOPE"}
        | {"reaction": "thumbs_up"}
    )
    places["own"] |= _administered(app, ada, cast, everyones)
    # Responses are judged here; checking each against the document, too, would take twice the time.
    for caller in callers.values():
        caller.client.__class__ = FlaskClient
    # With commits rolled back, every request would record its use again, and never fill the index.
    in_app(app, _record_uses_ahead)
    with app.app_context():
        index.flush(own=False)
    return World(app, callers, places)


def _record_uses_ahead() -> None:
    """Let no use of a session or token be due to be recorded for an hour."""
    later = now_ms() + HOUR_MS
    session.execute(update(UserSession).values(last_seen_at=later))
    session.execute(update(BotToken).values(last_used_at=later, audited_at=later))


def _deleted(ada: Caller, project: str, word: str) -> dict[str, str]:
    """A deleted ticket with a comment, and a deleted page, in a project that is not deleted."""
    ticket = {"title": f"{word} title", "body": word}
    ticket = ok(ada.post(f"/projects/{project}/tickets", ticket), 201)
    comment = ok(ada.post(f"/tickets/{ticket['id']}/comments", {"body": word}), 201)
    page = {"title": f"{word} page", "slug": f"{word}-page", "project_id": project}
    page = ok(ada.post("/wiki/pages", page | {"body": f"[[hub]] [[{word}-none]]"}), 201)
    revisions = ok(ada.get(f"/wiki/pages/{page['id']}/revisions"))["data"]
    file = _add_image(ada, f"/tickets/{ticket['id']}", word)
    ok(ada.delete(f"/comments/{comment['id']}"), 204)
    ok(ada.delete(f"/tickets/{ticket['id']}"), 204)
    ok(ada.delete(f"/wiki/pages/{page['id']}"), 204)
    return {
        "ticket": ticket["id"],
        "display_id": ticket["display_id"],
        "comment": comment["id"],
        "user": ada.user_id or "",
        "relation": ids.new_id(),
        "link": ids.new_id(),
        "page": page["id"],
        "slug": page["slug"],
        "revision": revisions[0]["id"],
        "file": file,
    }


def _add_image(ada: Caller, path: str, word: str) -> str:
    """Add a small image whose name is the word; return its id."""
    with patch.object(images, "encode_image", encoded_before):
        return str(add_file(ada, path, IMAGE, f"{word}.gif")["id"])


@cache
def _encoded_image(encode: Callable[[Path, int], Any]) -> tuple[Any, bytes, bytes]:
    with tempfile.TemporaryDirectory() as directory:
        source = Path(directory) / "one.gif"
        source.write_bytes(IMAGE)
        made = encode(source, 1_000_000)
        return made, made.path.read_bytes(), made.thumbnail.read_bytes()


def encoded_before(
    source: Path, _most_bytes: int, encode: Callable[[Path, int], Any] = images.encode_image
) -> images.EncodedImage:
    """The result of the encoder, made once: starting its process takes longer than all else."""
    made, image, thumbnail = _encoded_image(encode)
    paths = source.with_suffix(".image"), source.with_suffix(".small")
    for path, content in zip(paths, (image, thumbnail), strict=True):
        path.write_bytes(content)
    return images.EncodedImage(*paths, made.media_type, made.width, made.height)


def _global(ada: Caller, hub: dict[str, Any]) -> dict[str, str]:
    revisions = ok(ada.get(f"/wiki/pages/{hub['id']}/revisions"))["data"]
    file = _add_image(ada, f"/wiki/pages/{hub['id']}", WORDS["global"])
    return {
        "page": hub["id"],
        "slug": hub["slug"],
        "revision": revisions[0]["id"],
        "file": file,
    }


def _administered(app: Flask, ada: Caller, cast: Cast, ticket: str) -> dict[str, str]:
    """Things that only people see: a bot, a webhook, a delivery that failed, an event."""
    given = {"url": "https://10.0.0.1/hook", "secret": "x" * 16, "event_types": ["comment.*"]}
    hook = ok(ada.post("/webhooks", given), 201)["id"]
    ok(ada.post(f"/tickets/{ticket}/comments", {"body": "Told"}), 201)
    lost = DeliveryOutcome(None, 1, "lost", is_transient=True)
    claimed = in_app(app, lambda: outbox.claim("test", 1))
    in_app(app, lambda: [outbox.complete(one, lost) for one in claimed])
    (row,) = ok(ada.get(f"/webhooks/{hook}/deliveries"))["data"]
    event = ok(ada.get("/audit?event_type=comment.created&limit=1"))["data"][0]["id"]
    forge = {"name": "Forge", "forge": "github", "project_ids": [cast.fenced_project]}
    return {
        "bot": cast.smith.user_id or "",
        "webhook": hook,
        "integration": ok(ada.post("/integrations", forge), 201)["id"],
        "feed": ok(ada.post("/users/me/feeds", {"kind": "calendar"}), 201)["id"],
        "delivery": row["id"],
        "event": event,
        "username": "smith",
        "passkey": _passkey(app, ada),
    }


def _passkey(app: Flask, ada: Caller) -> str:
    """Create a passkey of ada's."""
    made = ids.new_id()
    row = Passkey(
        id=made,
        user_id=ada.user_id,
        credential_hash="0" * 64,
        credential=b"",
        sign_count=0,
        name="Key",
        created_at=ids.created_ms(made),
    )
    in_app(app, lambda: session.add(row))
    return made


def _callers(app: Flask, cast: Cast, fence: dict[str, list[str]]) -> dict[str, Caller]:
    def bot(username: str, mode: str, **fields: Any) -> Caller:
        body = {"username": username, "mode": mode, **fields}
        made = ok(cast.ada.post("/bots", body), 201)
        token = made["plaintext_token"]
        client = app.test_client(use_cookies=False)
        return Caller(client, {"X-API-Key": token}, made["bot"]["id"], username, token)

    callers = {name: getattr(cast, name) for name in ("nobody", "ada", "bo", "smith", "scout")}
    callers |= {
        "fenced": cast.fenced,
        "globe": bot("globe", "write", can_edit_global_wiki=True),
        "peeper": bot("peeper", "read", **fence),
        "revoked": bot("revoked", "write"),
        "asleep": bot("asleep", "write"),
    }
    ok(cast.ada.post(f"/bots/{callers['revoked'].user_id}/tokens/revoke"), 204)
    ok(cast.ada.delete(f"/bots/{callers['asleep'].user_id}"), 204)
    both = app.test_client()
    both.set_cookie("app_session", cast.ada.session_token or "")
    callers["twofold"] = Caller(
        both,
        dict(cast.smith.headers),
        cast.ada.user_id,
        "twofold",
        session_token=cast.ada.session_token,
    )
    return callers


@contextmanager
def frozen(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Flush whatever is written within the block, and then roll it back."""
    with monkeypatch.context() as patched:
        patched.setattr(RootTransaction, "commit", RootTransaction.rollback)
        yield


@contextmanager
def thawed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Within ``frozen``: commit again, for operations that read their own first unit of work."""
    with monkeypatch.context() as patched:
        patched.delattr(RootTransaction, "commit")
        yield


def said(method: str, path: str, body: Any) -> str:
    """A request as one line."""
    return f"{method} {path} {json.dumps(body)}"
