"""Every refusal and failure has the documented envelope, and every response its headers."""

import pytest
from sqlalchemy.exc import OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from app.core.ids import as_uuid
from app.rest.errors import Internal
from tests.support.story import event_types, make_ticket, malformed, ok, refused

PATHS = ["/nowhere", "/", "/tickets/", "/tickets/x/y/z", "/projects/%00/tickets/", "//tickets"]


@pytest.mark.one_database
@pytest.mark.parametrize("path", PATHS)
def test_an_unknown_route_is_not_found(cast, path):
    for caller in (cast.nobody, cast.ada, cast.smith):
        response = caller.client.get(f"/api/v1{path}", headers=caller.headers)
        error = refused(response, 404, "resource.not_found", resource="route")
        assert error["details"]["id"].startswith("/api/v1/")


@pytest.mark.parametrize("path", ["/api", "/api/", "/api/v2/tickets", "/mcp/nowhere", "/.env"])
def test_an_unknown_address_outside_the_api_is_not_found(client, path):
    response = client.get(path)
    refused(response, 404, "resource.not_found", resource="route", id=path)


@pytest.mark.parametrize("method", ["GET", "POST", "PATCH", "DELETE", "PUT"])
@pytest.mark.parametrize(
    "path", ["/api/v1/nowhere", "/api/v1/auth/login", "/api/v1/auth/me", "/no"]
)
def test_a_bad_key_is_told_before_an_unknown_route_or_method(app, cast, client, method, path):
    known = (method, path) in {("POST", "/api/v1/auth/login"), ("GET", "/api/v1/auth/me")}
    bad = client.open(path, method=method, headers={"X-API-Key": "app_bad"})
    if not known:
        refused(bad, 401, "auth.invalid_credentials")
        assert event_types(app).count("auth.bot.failure") == 1
        good = client.open(path, method=method, headers=cast.smith.headers)
        assert good.status_code in (404, 405)
        client.set_cookie("app_session", "x")
        both = client.open(path, method=method, headers={"X-API-Key": "app_bad"})
        refused(both, 401, "auth.ambiguous_credentials")


def test_every_json_answer_ends_its_line(cast, client):
    ticket = f"/tickets/{make_ticket(cast.ada, cast.open_project)['id']}"
    headers = {"Idempotency-Key": "a key of mine"}
    created = [cast.ada.post("/wiki/pages", {"title": "One"}, headers=headers) for _ in range(2)]
    assert "Idempotency-Replayed" in created[1].headers
    answers = [cast.ada.get(ticket), cast.ada.get("/tickets"), cast.ada.get("/nowhere"), *created]
    answers += [client.get(path) for path in ("/healthz", "/readyz", "/api/v1/openapi.json")]
    answers.append(client.post("/mcp/bot/nobody/mcp", json={}))
    message = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    answers.append(client.post(f"/mcp/bot/{cast.smith.token}/mcp", json=message))
    for answer in answers:
        assert answer.data.endswith(b"}\n"), answer.request.path
        assert int(answer.headers["Content-Length"]) == len(answer.data)
    for nothing in (
        cast.ada.get(ticket, headers={"If-None-Match": answers[0].headers["ETag"]}),
        cast.ada.call("DELETE", ticket),
    ):
        assert nothing.data == b""


def test_a_trailing_slash_is_another_route(cast):
    assert ok(cast.ada.get("/tickets"))["data"] == []
    refused(cast.ada.get("/tickets/"), 404, "resource.not_found", resource="route")


def test_a_wrong_method_names_the_right_ones(cast):
    response = cast.ada.call("PUT", "/projects")
    error = refused(response, 405, "request.method_not_allowed")
    assert response.headers["Allow"] == "GET, POST"
    assert error["details"]["allowed"] == ["GET", "POST"]
    assert cast.ada.call("OPTIONS", "/projects").status_code == 405
    refused(cast.nobody.call("TRACE", "/projects"), 405, "request.method_not_allowed")


def test_the_envelope_holds_details_only_where_the_code_has_some(cast):
    bare = ok(cast.nobody.get("/projects"), 401)
    assert set(bare["error"]) == {"code", "message"}
    detailed = ok(cast.ada.get("/projects/none"), 404)
    assert set(detailed["error"]) == {"code", "message", "details"}


def test_the_id_is_shown_as_it_was_sent(cast):
    for sent in ("NONE", "a%20b", "%E2%82%AC", "00000000-0000-0000-0000-00000000000A"):
        response = cast.ada.get(f"/projects/{sent}")
        error = refused(response, 404, "resource.not_found", resource="project")
        assert error["details"]["id"] == response.request.path.rsplit("/", 1)[-1]


def test_a_path_that_is_no_utf_8_is_not_found(cast):
    refused(cast.ada.get("/projects/%FF%FE"), 404, "resource.not_found")


def test_every_answer_has_an_id_of_its_own_making(cast):
    mine = "00000000-0000-7000-8000-00000000beef"
    seen = set()
    for path in ("/projects", "/nowhere", "//healthz", "//readyz", "/openapi.json", "//"):
        response = cast.ada.get(path, headers={"X-Request-Id": mine})
        seen.add(as_uuid(response.headers["X-Request-Id"]))
    assert len(seen) == 6
    assert not seen & {None, mine}


def test_json_is_not_stored_by_anyone(cast):
    ticket = make_ticket(cast.ada, cast.open_project)
    for response in (
        cast.ada.get("/projects"),
        cast.ada.get("/nowhere"),
        cast.ada.delete(f"/tickets/{ticket['id']}"),
        cast.nobody.get("//healthz"),
    ):
        assert response.headers["Cache-Control"] == "no-store"
        assert response.headers["X-Content-Type-Options"] == "nosniff"
        assert response.headers["Referrer-Policy"] == "same-origin"


def test_head_answers_like_get_without_a_body(cast):
    response = cast.ada.call("HEAD", "/projects")
    assert (response.status_code, response.data) == (200, b"")
    assert response.content_type == "application/json; charset=utf-8"


def fail_with(monkeypatch, error):
    def fail(*args, **kwargs):
        raise error

    monkeypatch.setattr("app.projects.service.visible", fail)


@pytest.fixture(name="production")
def _production(app, monkeypatch):
    """Handle exceptions as a real server does."""
    monkeypatch.setattr(app, "testing", False)
    monkeypatch.setitem(app.config, "PROPAGATE_EXCEPTIONS", False)


def test_an_unhandled_exception_tells_nothing(cast, monkeypatch, production):
    fail_with(monkeypatch, RuntimeError("the secret formula"))
    response = cast.ada.get(f"/projects/{cast.open_project}")
    error = refused(response, 500, "server.internal")
    assert error == {"code": "server.internal", "message": "Something went wrong on our side."}
    assert "secret" not in response.get_data(as_text=True)


def test_in_development_a_failure_names_its_trace(app, cast, monkeypatch, production):
    monkeypatch.setattr(app, "debug", True)
    fail_with(monkeypatch, RuntimeError("broken"))
    response = cast.ada.get(f"/projects/{cast.open_project}")
    refused(response, 500, Internal.code, trace_id=response.headers["X-Request-Id"])


class Lost(Exception):
    """An error like that of a driver whose server is gone."""

    sqlstate = "57P01"


@pytest.mark.parametrize(
    "error", [OperationalError("SELECT 1", {}, Lost()), PoolTimeout("no connection is free")]
)
def test_a_database_that_does_not_answer_is_unavailable(cast, monkeypatch, production, error):
    fail_with(monkeypatch, error)
    response = cast.ada.get(f"/projects/{cast.open_project}")
    refused(response, 503, "server.unavailable")


def test_a_failed_write_leaves_nothing(app, cast, monkeypatch, production):
    def fail(*args, **kwargs):
        raise RuntimeError("after the change, before the commit")

    monkeypatch.setattr("app.tickets.api.created", fail)
    refused(
        cast.ada.post(f"/projects/{cast.open_project}/tickets", {"title": "Lost"}),
        500,
        "server.internal",
    )
    monkeypatch.undo()
    assert ok(cast.ada.get("/tickets"))["data"] == []
    assert make_ticket(cast.ada, cast.open_project)["ticket_number"] == 1


def test_health_looks_at_no_credential(cast):
    for path, body in (
        ("//healthz", {"status": "ok"}),
        ("//readyz", {"status": "ready", "db": "ok", "settings_loaded": True}),
    ):
        for caller in (cast.nobody, cast.ada, cast.smith):
            assert ok(caller.get(path)) == body
            assert ok(caller.get(path, headers={"X-API-Key": "rubbish"})) == body


@pytest.mark.parametrize("body", [b"[]", b"1", b'"text"', b"null"])
def test_a_body_that_is_no_object_is_refused(cast, body):
    response = cast.ada.call("POST", "/projects", data=body, content_type="application/json")
    malformed(response, ["body"], "json_invalid")
