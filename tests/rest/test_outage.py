"""A database that cannot be reached: 503 in the envelope, and health checks that report it."""

import logging

import pytest

from app import create_app
from app.database import failures
from tests.support.cases import cases
from tests.support.openapi import CheckedClient
from tests.support.settings import settings_for


@pytest.fixture(name="stranded", params=["postgresql", "sqlite"], scope="module")
def _stranded(request, tmp_path_factory):
    """An application whose database cannot be reached."""
    tmp_path = tmp_path_factory.mktemp("stranded")
    url = "postgresql+psycopg://docket@127.0.0.1:1/docket"
    if request.param == "sqlite":
        folder = tmp_path / "gone"
        folder.mkdir()
        url = f"sqlite:///{folder / 'docket.db'}"
    app = create_app(settings_for(url, tmp_path))
    app.test_client_class = CheckedClient
    if request.param == "sqlite":
        folder.rmdir()
    return app.test_client()


@cases(
    "method, path",
    [
        ("GET", "/api/v1/setup/status"),
        ("GET", "/api/v1/projects"),
        ("POST", "/api/v1/auth/login"),
        ("PATCH", "/api/v1/tickets/OPS-1"),
        ("GET", "/readyz"),
    ],
)
def test_what_needs_the_database_is_unavailable(stranded, method, path):
    body = {"username": "ada", "password": "x" * 12} if path.endswith("login") else {}
    options = {"json": body} if method != "GET" else {}
    key = {} if path.endswith("login") else {"X-API-Key": "app_" + "a" * 32}
    response = stranded.open(path, method=method, headers=key, **options)
    assert response.status_code == 503
    assert response.get_json()["error"] == {
        "code": "server.unavailable",
        "message": "The service is temporarily unavailable. Try again shortly.",
    }


def test_what_does_not_need_it_goes_on(stranded):
    assert stranded.get("/healthz").get_json() == {"status": "ok"}
    assert stranded.get("/api/v1/openapi.json").status_code == 200
    assert stranded.get("/api/v1/projects").status_code == 401
    assert stranded.get("/api/v1/nowhere").status_code == 404


def test_the_log_of_a_server_says_why_and_not_for_every_request(stranded, monkeypatch, caplog):
    def reasons():
        caplog.clear()
        for _ in range(2):
            assert stranded.get("/readyz").status_code == 503
        return [one.reason for one in caplog.records if one.name == failures.__name__]

    monkeypatch.setattr(failures, "_logged_at", None)
    with caplog.at_level(logging.WARNING):
        # Commands print it.
        assert reasons() == []
        failures.log_outages()
        (reason,) = reasons()
        assert reasons() == []
        monkeypatch.setattr(failures, "REPEAT_SECONDS", 0.0)
        assert reasons() == [reason, reason]
    assert reason.endswith(("unable to open database file", "Connection refused"))
