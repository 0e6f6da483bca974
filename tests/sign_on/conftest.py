"""An application with a provider, and browsers that log in with it."""

import os
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
from sqlalchemy import select, update

from app.accounts.models import ProviderIdentity, User
from app.database.session import db, reading, session
from app.sign_on import requests
from tests.accounts.conftest import admin, setting
from tests.accounts.helpers import events, write
from tests.database.test_meeting_writers import waiting
from tests.sign_on.provider import CLIENT, SECRET, Provider
from tests.support.serving import until

__all__ = ["admin", "setting"]

# It needs Node and an npm package, which not every machine has.
collect_ignore = [] if os.environ.get("OIDC_PROVIDER") else ["test_real_provider.py"]

CALLBACK = "/login/oidc/callback"


@pytest.fixture
def provider(app, admin, setting, monkeypatch):
    """A provider configured in the settings; ada has set the installation up."""
    made = Provider()
    setting("oidc_issuer", made.issuer)
    setting("oidc_client_id", CLIENT)
    setting("oidc_client_secret", SECRET)
    # Shorter than for a real one, but long enough for a busy machine.
    monkeypatch.setattr(requests, "READ_SECONDS", 1.0)
    monkeypatch.setattr(requests, "TOTAL_SECONDS", 1.5)
    yield made
    made.stop()


def begin(client, path="/login/oidc"):
    """Start a login; return the browser's request to the provider."""
    answer = client.get(path)
    assert answer.status_code == 303, answer.text
    return dict(parse_qsl(urlsplit(answer.location).query))


def finish(client, asked, provider, code, **changes):
    """Return from the provider with a code."""
    values = {"state": asked["state"], "code": code, "iss": provider.issuer} | changes
    query = urlencode({name: value for name, value in values.items() if value is not None})
    return client.get(f"{CALLBACK}?{query}")


def cookie_of(asked):
    """The name of the cookie that belongs to the browser's request to the provider."""
    return f"app_oidc_{asked['state'][:16]}"


def log_in(client, provider, path="/login/oidc", **claims):
    """Log in completely, as a browser does."""
    asked = begin(client, path)
    return finish(client, asked, provider, provider.grant(asked, **claims))


def is_logged_in(client):
    return client.get("/api/v1/auth/me").status_code == 200


@pytest.fixture
def linked(app, provider):
    """Give ada a confirmed address, which the provider confirms too."""
    write(app, update(User).values(email="ada@example.org", email_confirmed_at=1))


@pytest.fixture
def engine(app):
    with app.app_context():
        return db.engine


@pytest.fixture
def watch(engine):
    """Waits until statements wait for locks; on SQLite writers wait outside of the database."""

    def wait(statements=1):
        if engine.dialect.name == "postgresql":
            until(lambda: waiting(engine) == statements)

    return wait


def identities(app):
    with app.app_context(), reading():
        return session.execute(
            select(ProviderIdentity.issuer, ProviderIdentity.subject, User.username).join(
                User, User.id == ProviderIdentity.user_id
            )
        ).all()


def reasons(app):
    return [event.payload["reason"] for event in events(app, "auth.oidc.failure")]
