"""Secrets that pass through Docket do not leak into any log, row, file or page.

A day's work with easily recognized values goes through every entry point, including refusals; then
everything that Docket wrote is searched for them.
"""

import io
import logging
import re
from itertools import product

import pytest
from sqlalchemy import LargeBinary, String, select
from sqlalchemy import cast as as_type

from app.core.logs import JsonFormatter
from app.database.session import Base, db, reading, session
from tests.support.agent import Agent
from tests.support.cast import Caller

PASSWORD = "canary-password-7Q2x9"
CHANGED = "canary-changed-4Wk1z"
WRONG = "canary-wrong-8Lm3p"
WEBHOOK = "canary-webhook-5Tn6v"
PAGES = (
    "/bots",
    "/bots/canary",
    "/audit?span=all",
    "/audit/tools?span=all",
    "/webhooks",
    "/people",
)
HTML = {"Accept": "text/html"}
REST = ("/bots", "/users", "/webhooks", "/audit?limit=200", "/audit/tools?limit=200")


@pytest.fixture
def written():
    """Capture the output of all loggers at all levels, in the production format."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter())
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    # SQLAlchemy's echo is not Docket's own output.
    logging.getLogger("sqlalchemy").setLevel(logging.WARNING)
    yield stream
    root.removeHandler(handler)
    root.setLevel(level)


def a_day(app, cast):
    """Work with secrets; return those that must not be found anywhere."""
    ada = cast.ada
    browser = app.test_client()
    made = ada.post("/users", {"username": "dora", "password": PASSWORD, "display_name": "Dora"})
    assert made.status_code == 201, made.json
    login = browser.post("/api/v1/auth/login", json={"username": "dora", "password": PASSWORD})
    cookie = re.search(r"app_session=([^;]+)", login.headers["Set-Cookie"])[1]
    dora = Caller(browser, {"X-Requested-By": "web"}, login.json["user"]["id"], "dora")
    dora.post("/auth/password", {"current_password": PASSWORD, "new_password": CHANGED})
    browser.post("/login", data={"username": "dora", "password": WRONG})
    app.test_client().post("/api/v1/auth/login", json={"username": "dora", "password": WRONG})
    bot = {"username": "canary", "mode": "write", "project_ids": [cast.open_project]}
    first = ada.post("/bots", bot, headers={"Idempotency-Key": "canary-key-1"}).json
    second = ada.post(f"/bots/{first['bot']['id']}/tokens/rotate").json
    tokens = [re.search(r"app_[a-z2-7]{32}", str(one))[0] for one in (first, second)]
    hook = {"url": "https://example.org/x", "secret": WEBHOOK, "event_types": ["*"]}
    ada.post("/webhooks", hook)
    ada.post("/webhooks", hook | {"url": "http://example.org"})
    for token in tokens:
        plain = app.test_client(use_cookies=False)
        agent = Agent(Caller(plain, {}, None, "canary", token))
        agent.send("initialize", {"protocolVersion": "2025-11-25"})
        for arguments in ({}, {"token": token}, {"password": PASSWORD, "ticket": token}):
            agent.send("tools/call", {"name": "get_self", "arguments": arguments})
        agent.send("tools/call", {"name": token, "arguments": {}})
        agent.send("resources/read", {"uri": f"ticket://{token}"})
        key = {"X-API-Key": token}
        for path in ("/auth/me", f"/tickets/{token}", f"/search?q={token}", "/nowhere"):
            plain.get(f"/api/v1{path}", headers=key)
        plain.post("/api/v1/tickets/x/comments", data=token, headers=key)
        plain.get(f"/mcp/bot/{token}/mcp")
        plain.get(f"/mcp/bot/{token}/elsewhere")
    links = [
        re.search(r"/password/([\w-]{43})", ada.client.post(path, data=sent, headers=HTML).text)[1]
        for path, sent in (
            ("/people", {"display_name": "Canary Link"}),
            (f"/people/{made.json['id']}/link", {}),
        )
    ]
    for link in links:
        for path in (f"/password/{link}", f"/password/{link}/more", f"/password//{link}"):
            app.test_client().get(path, headers=HTML)
        app.test_client().post(f"/password/{link}", data={"password": "short"}, headers=HTML)
    return [PASSWORD, CHANGED, WRONG, WEBHOOK, cookie, *tokens, *links]


def rows():
    """Yield every value of every table, as text."""
    with reading():
        for table in Base.metadata.sorted_tables:
            for column in table.columns:
                is_binary = isinstance(column.type, LargeBinary)
                shown = column if is_binary else as_type(column, String)
                for value in session.scalars(select(shown)):
                    text = value.decode("latin-1") if is_binary and value else value
                    yield f"{table.name}.{column.name}", text or ""


def test_no_secret_is_found_anywhere(app, cast, database, written):
    secrets = a_day(app, cast)
    settings = app.config["SETTINGS"]
    secrets.append(settings.secret_key)
    logs = written.getvalue()
    assert "docket.access" in logs
    assert [one for one in secrets if one in logs] == []
    with app.app_context():
        found = [(place, one) for (place, value), one in product(rows(), secrets) if one in value]
    assert found == []
    pages = [cast.ada.client.get(path, headers={"Accept": "text/html"}) for path in PAGES]
    answers = [cast.ada.get(path) for path in REST]
    assert {one.status_code for one in [*pages, *answers]} == {200}
    shown = "".join(one.get_data(as_text=True) for one in [*pages, *answers])
    assert [one for one in secrets if one in shown] == []
    if settings.is_sqlite:
        path = settings.database_path
        kept = b"".join(one.read_bytes() for one in path.parent.glob(f"{path.name}*"))
        assert [one for one in secrets if one.encode() in kept] == []


def test_the_search_finds_what_is_there(app, cast, written):
    """The same search finds values that may be kept, so it would find a secret too."""
    cast.ada.post(f"/projects/{cast.open_project}/tickets", {"title": "canary-title-2Rf8k"})
    logging.getLogger("docket.test").warning("canary-line-6Hb4s")
    with app.app_context():
        assert any("canary-title-2Rf8k" in value for _, value in rows())
        db.session.remove()
    assert "canary-line-6Hb4s" in written.getvalue()
