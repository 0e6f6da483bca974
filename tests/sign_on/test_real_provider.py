"""The whole flow with a certified provider: login, linked account, logout by the provider.

It is collected if OIDC_PROVIDER names the node_modules that has oidc-provider (CONTRIBUTING.md).
"""

import json
import os
import re
import socket
import subprocess
import threading
from pathlib import Path
from urllib.parse import urljoin

import pytest
import requests
from sqlalchemy import update
from werkzeug.serving import make_server

from app.accounts.models import User
from tests.accounts.helpers import events, only, write
from tests.sign_on.provider import CLIENT

SCRIPT = Path(__file__).with_name("oidc_provider.mjs")
SECRET = "a secret that the provider and Docket share"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture
def here(app, admin, setting):
    """Return the URL of Docket."""
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    setting("base_url", address)
    setting("has_base_url", True)
    server = make_server("127.0.0.1", port, app, threaded=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield address
    server.shutdown()


@pytest.fixture
def issuer(here, setting):
    """Run the real provider, with Docket as its client; yield the issuer."""
    port = free_port()
    given = {
        "port": port,
        "callback": f"{here}/login/oidc/callback",
        "logout": f"{here}/auth/oidc/backchannel-logout",
        "client": CLIENT,
        "secret": SECRET,
    }
    modules = Path(os.environ["OIDC_PROVIDER"]).resolve()
    command = ["node", str(SCRIPT), str(modules), json.dumps(given)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout.readline().strip() == "ready"
        issuer = f"http://127.0.0.1:{port}"
        setting("oidc_issuer", issuer)
        setting("oidc_client_id", CLIENT)
        setting("oidc_client_secret", SECRET)
        yield issuer
        running.terminate()


def submit(browser, answer, **fields):
    """Submit the form of a provider's page."""
    form = re.search(r"<form[^>]*action=\"([^\"]+)\"", answer.text)
    hidden = re.findall(r"<input type=\"hidden\" name=\"([^\"]+)\" value=\"([^\"]*)\"", answer.text)
    return browser.post(urljoin(answer.url, form[1]), data=dict(hidden) | fields, timeout=10)


def log_in(browser, here, name):
    answer = browser.get(f"{here}/login/oidc?next=/profile", timeout=10)
    answer = submit(browser, answer, prompt="login", login=name, password="any")
    return submit(browser, answer, prompt="consent")


@pytest.mark.one_database
def test_a_login_and_a_logout(app, here, issuer):
    write(app, update(User).values(email="ada@example.org", email_confirmed_at=1))
    browser = requests.Session()
    answer = log_in(browser, here, "ada")
    assert (answer.status_code, answer.url) == (200, f"{here}/profile")
    me = browser.get(f"{here}/api/v1/auth/me", timeout=10).json()
    assert me["username"] == "ada"
    assert only(app, "auth.oidc.success").payload == {"username": "ada"}
    asked = browser.get(f"{issuer}/session/end", timeout=10)
    submit(browser, asked, logout="yes")
    answer = browser.get(f"{here}/api/v1/auth/me", timeout=10)
    assert answer.status_code == 401
    assert only(app, "auth.oidc.logout").payload == {"sessions": 1}
    stranger = requests.Session()
    assert log_in(stranger, here, "stranger").status_code == 422
    assert [event.payload["reason"] for event in events(app, "auth.oidc.failure")] == [
        "not_admitted"
    ]
