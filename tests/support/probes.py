"""Published classes of attack on products like this one, tried on a build.

Each probe returns descriptions of what it obtained but must not; an empty list if the build holds.
So the same probe shows that the real build is safe and that a weakened one is not.
"""

from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidTag
from flask import Flask
from sqlalchemy import select

from app.accounts.models import UserSession
from app.config import Settings
from app.core import ids
from app.database import encryption
from app.database.session import session
from app.environment import SettingsError
from app.markdown.allowed import SCHEMES
from app.webhooks import connecting
from app.webhooks.attempts import DeliveryAttempt, Event
from app.webhooks.connecting import Limits
from app.webhooks.sending import send
from tests.authorization.world import World
from tests.support.agent import Agent
from tests.support.cast import Caller, Cast, in_app
from tests.support.receiver import SECRET, Receiver
from tests.support.story import ok

PAGE = {"Accept": "text/html"}
# Loopback, private, cloud metadata, and an address that leads inside by translation.
INSIDE = ("127.0.0.1", "10.0.0.1", "169.254.169.254", "168.63.129.16", "64:ff9b::7f00:1")
# Keys that were published in examples, or that are easily guessed.
WELL_KNOWN = ("", "secret", "changeme", "docket", "a" * 64)
PASSWORD = "correct horse battery"


def reached_inside(receiver: Receiver) -> list[str]:
    """Return the internal addresses that a webhook reaches, directly or by a redirect."""
    reached = [one for one in INSIDE if connecting.may_connect(one, ())]
    receiver.answer, receiver.headers = 200, {}
    if _deliver(receiver, ""):
        reached.append("this machine")
    receiver.answer, receiver.headers = 307, {"Location": f"{receiver.url}/on"}
    if _deliver(receiver, "127.0.0.0/8, ::1") > 1:
        reached.append("where it is sent on")
    return reached


def _deliver(receiver: Receiver, allowed: str) -> int:
    """Send an event; return the number of requests that the receiver got."""
    receiver.received.clear()
    event = Event("ticket.created", {"type": "ticket.created", "payload": {}}, None, None)
    attempt = DeliveryAttempt(ids.new_id(), 1, "w", receiver.url, SECRET.encode(), event)
    send(attempt, Limits(connecting.networks(allowed), str(receiver.ca_file), "probe"))
    return len(receiver.received)


def known_keys(app: Flask, directory: Path) -> list[str]:
    """Find keys that are known to others, or that open what was sealed under another key."""
    found = []
    for name in ("one", "two"):
        (directory / name).mkdir(exist_ok=True)
    first, second = (
        Settings.from_env({"INSTANCE_DIR": str(directory / name)}).secret_key
        for name in ("one", "two")
    )
    if first == second:
        found.append("two installations have one key")
    for key in WELL_KNOWN:
        environ = {"DATABASE_URL": "postgresql://docket@db/docket", "SECRET_KEY": key}
        try:
            Settings.from_env({"INSTANCE_DIR": str(directory), **environ})
            found.append(f"it starts with {key[:8]!r}")
        except SettingsError:
            pass
    before = app.config["SECRET_KEY"]
    with app.app_context():
        app.config["SECRET_KEY"] = "x1" * 32
        sealed = encryption.encrypt(b"kept", "probe")
        app.config["SECRET_KEY"] = before
        try:
            encryption.decrypt(sealed, "probe")
            found.append("another key opens it")
        except InvalidTag:
            pass
    return found


def gained_by_a_token(app: Flask, cast: Cast) -> list[str]:
    """Find what a bot's token allows beyond the bot's permissions."""
    bot, found = cast.fenced, []
    token = bot.token or ""
    login = {"username": "fenced", "password": token}
    if cast.nobody.post("/auth/login", login).status_code < 400:
        found.append("a login")
    browser = app.test_client()
    browser.set_cookie("app_session", token)
    if browser.get("/api/v1/auth/me").status_code < 400:
        found.append("a session")
    for path in ("/projects", "/bots", "/profile", "/audit"):
        answer = bot.client.get(path, headers={**bot.headers, **PAGE})
        if answer.status_code == 200:
            found.append(f"the page {path}")
    itself = f"/bots/{bot.user_id}"
    for method, path, body in (
        ("POST", "/bots", {"username": f"more-{ids.new_id()[-8:]}", "mode": "write"}),
        ("PATCH", itself, {"project_ids": []}),
        ("PATCH", itself, {"can_edit_global_wiki": True}),
        ("POST", f"{itself}/tokens/rotate", None),
        ("POST", "/users", {"username": f"u-{ids.new_id()[-8:]}", "password": PASSWORD}),
        ("PATCH", f"/users/{cast.bo.user_id}", {"password": PASSWORD}),
        ("GET", "/audit", None),
        ("GET", "/webhooks", None),
    ):
        answer = bot.call(method, path, **({} if body is None else {"json": body}))
        if answer.status_code < 400:
            found.append(f"{method} {path}")
        if "Set-Cookie" in answer.headers:
            found.append(f"a cookie by {method} {path}")
    tickets = {"title": "Not for it"}
    if cast.scout.post(f"/projects/{cast.open_project}/tickets", tickets).status_code < 400:
        found.append("a write by a token that reads")
    if bot.post(f"/projects/{cast.open_project}/tickets", tickets).status_code < 400:
        found.append("a write in another project")
    return found


def left_by_a_deleted_bot(app: Flask, cast: Cast) -> list[str]:
    """Find what the holder of a deleted bot's token, or another bot, gains by the deletion."""
    found = []
    name = f"gone-{ids.new_id()[-8:]}"
    bot = _made(app, cast, name, cast.fenced_project)
    tickets = f"/projects/{cast.fenced_project}/tickets"
    key = {"Idempotency-Key": "once"}
    ok(bot.post(tickets, {"title": "Kept"}, headers=key), 201)
    if cast.smith.delete(f"/bots/{bot.user_id}").status_code < 400:
        found.append("a bot deletes another")
    ok(cast.ada.delete(f"/bots/{bot.user_id}"), 204)
    agent = Agent(bot).send("tools/call", {"name": "get_self", "arguments": {}})
    for what, answer in (
        ("it reads", bot.get("/tickets")),
        ("it writes", bot.post(tickets, {"title": "New"})),
        ("its answer is replayed", bot.post(tickets, {"title": "Kept"}, headers=key)),
        ("it calls tools", agent),
        ("its name is taken", cast.ada.post("/bots", {"username": name, "mode": "write"})),
        ("it is back as a user", cast.ada.patch(f"/users/{bot.user_id}", {"is_active": True})),
    ):
        if answer.status_code < 400:
            found.append(what)
    return found + _widened(app, cast)


def _widened(app: Flask, cast: Cast) -> list[str]:
    """Find what a bot sees after the only project of its allowlist is deleted; expects nothing."""
    key = f"P{ids.new_id()[-6:].upper()}"
    project = ok(cast.ada.post("/projects", {"key": key, "name": "Short"}), 201)["id"]
    bot = _made(app, cast, f"wide-{ids.new_id()[-8:]}", project)
    ok(cast.ada.delete(f"/projects/{project}"), 204)
    seen = ok(bot.get("/projects"))["data"]
    return ["an allowlist without projects admits all"] if seen else []


def _made(app: Flask, cast: Cast, name: str, project: str) -> Caller:
    body = {"username": name, "mode": "write", "project_ids": [project]}
    made = ok(cast.ada.post("/bots", body), 201)
    token = made["plaintext_token"]
    client = app.test_client(use_cookies=False)
    return Caller(client, {"X-API-Key": token}, made["bot"]["id"], name, token)


class Scripts(HTMLParser):
    """Collects what a page would run, or load from outside its own assets."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        own = given.get("src", "").startswith("/assets/")
        if tag in {"iframe", "object", "embed", "base", "foreignobject", "style"} or (
            tag in {"script", "img"} and not own
        ):
            self.found.append(f"<{tag}>")
        self.found += [f"{tag} {name}" for name in given if name.startswith("on")]
        for name in ("href", "src", "action", "formaction", "xlink:href"):
            scheme, colon, _ = "".join(given.get(name, "").split()).lower().partition(":")
            if colon and scheme.isalpha() and scheme not in SCHEMES:
                self.found.append(f"{tag} {name}={scheme}:")


def _hostile() -> Iterator[str]:
    # New texts each time, because rendered texts are cached.
    mark = ids.new_id()
    yield f"<script>alert('{mark}')</script>"
    yield f"<svg onload=alert('{mark}')></svg><img src=x onerror=alert('{mark}')>"
    yield f"[{mark}](javascript:alert(1)) ![{mark}](data:image/svg+xml,%3Csvg%3E)"
    yield f'<a href="javascript:alert(1)" onclick="alert(1)">{mark}</a>'


def stored_scripts(cast: Cast) -> list[str]:
    """Find texts and names by people and bots that would run as scripts in a reader's browser."""
    ada = cast.ada
    first, *_ = texts = list(_hostile())
    slug = f"p-{ids.new_id()}"
    body = "\n\n".join(texts)
    project = f"/projects/{cast.open_project}"
    ok(ada.patch(project, {"name": first, "description": body}))
    ok(ada.patch(f"/users/{cast.bo.user_id}", {"display_name": texts[1]}))
    label = ok(ada.post(f"{project}/labels", {"name": f"<svg onload=x>{slug[-8:]}"}), 201)["id"]
    fields = {"title": first, "body": body, "label_ids": [label]}
    fields["assignee_user_id"] = cast.bo.user_id
    ticket = ok(ada.post(f"{project}/tickets", fields), 201)
    ok(cast.smith.post(f"/tickets/{ticket['id']}/comments", {"body": body}), 201)
    page = {"title": first, "slug": slug, "body": body}
    ok(ada.post("/wiki/pages", page), 201)
    ok(ada.post(f"{project}/sticky-notes", {"body": body}), 201)
    shown = ("tickets", "board", "sticky-notes", "activity", "epics", "settings/general")
    own = ticket["display_id"]
    found = []
    for path in (
        *(f"/projects/OPEN/{name}" for name in shown),
        *(f"/tickets/{own}", f"/wiki/{slug}", "/people", "/bots", "/search?q=alert", "/audit", "/"),
    ):
        answer = ada.client.get(path, headers=PAGE)
        assert answer.status_code == 200, path
        judge = Scripts()
        judge.feed(answer.get_data(as_text=True))
        found += [f"{one} on {path.split('?')[0]}" for one in judge.found]
        policy = answer.headers.get("Content-Security-Policy", "")
        if "'unsafe" in policy or "script-src 'self'" not in policy:
            found.append("a policy that lets scripts run")
    return found


LISTS = (
    "/tickets?limit=200",
    "/tickets?ready=true",
    "/tickets?project_id={project}",
    "/tickets?state_id={state}",
    "/tickets?label_id={label}",
    "/tickets?parent_ticket_id={ticket}",
    "/projects",
    "/projects/{project}/tickets",
    "/projects/{project}/sticky-notes",
    "/projects/{project}/activity",
    "/wiki/pages?limit=200",
    "/wiki/pages?project_id={project}",
    "/wiki/pages/{page}/revisions",
    "/search?q=zq&limit=50",
    "/search?q=zq&project_id={project}",
    "/tickets/{ticket}",
    "/tickets/{ticket}/comments",
    "/tickets/{ticket}/relations",
    "/tickets/FENCED-1/relations",
    "/tickets/FENCED-1/activity",
)


def read_of_others(world: World) -> list[str]:
    """Find what a fenced bot reads of another project, and a person of another person's."""
    world.leaks = []
    other: dict[str, Any] = world.places["other"]
    for template in LISTS:
        path = template.format(**other)
        world.look_for_leaks("fenced", template, world.callers["fenced"].get(path), path)
    activity = f"/projects/{world.places['own']['project']}/activity"
    found = world.callers["fenced"].get(activity)
    world.look_for_leaks("fenced", "projects.activity.list", found, activity)
    agent = Agent(world.callers["fenced"])
    for tool, arguments in (("list_tickets", {}), ("search", {"q": "zq"})):
        answer = agent.send("tools/call", {"name": tool, "arguments": arguments})
        world.look_for_leaks("fenced", tool, answer, "")
    bo = world.callers["bo"]
    world.look_for_leaks("bo", "sticky_notes.list", bo.get("/sticky-notes"), "")
    own = world.places["personal"]["note"]
    if bo.patch(f"/sticky-notes/{own}", {"body": "Taken"}).status_code < 400:
        world.leaks.append("bo changed a note of ada's")
    return world.leaks


def sessions_ended(app: Flask, cast: Cast) -> list[str]:
    """Find sessions of others that a person can end by id."""
    statement = select(UserSession.id).where(UserSession.user_id == cast.ada.user_id)
    named = in_app(app, lambda: session.scalars(statement).one())
    cast.bo.client.post(f"/profile/sessions/{named}/end", headers=PAGE)
    return [] if cast.ada.get("/auth/me").status_code == 200 else ["ada's"]
