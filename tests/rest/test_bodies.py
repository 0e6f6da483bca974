"""The strict JSON boundary: what is read from a request body, and what is refused."""

import io
import json

import pytest

from app.core.errors import RequestTooLarge
from app.core.json_parsing import MAX_DEPTH
from tests.support.cases import cases
from tests.support.story import invalid, make_ticket, malformed, ok, refused

pytestmark = pytest.mark.one_database

JSON = "application/json"


def post(caller, path, raw, content_type=JSON):
    return caller.call("POST", path, data=raw, content_type=content_type)


@pytest.fixture(name="tickets")
def _tickets(cast):
    return f"/projects/{cast.open_project}/tickets"


@cases(
    "raw",
    [
        b"{",
        b"{}{}",
        b"{'title': 'x'}",
        b'{"title": "x",}',
        b'{"title": NaN}',
        b'{"title": Infinity}',
        b'{"title": -Infinity}',
        b'{"title": "x", "title": "y"}',
        b'{"title": "x", "label_ids": [{"a": 1, "a": 2}]}',
        b'{"title": "\\ud800"}',
        b'{"title": "\\udc00 and more"}',
        b'{"\\ud83d": "x"}',
        b'{"title": "\xff"}',
        b'\xef\xbb\xbf{"title": "x"}',
        '{"title": "x"}'.encode("utf-16"),
        b'{"title": 9007199254740993}',
        b'{"title": 1' + b"0" * 5000 + b"}",
        b'{"title": "a\nb"}',
        b'{"title": ' + b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1) + b"}",
        b"[" * 200_000,
        b'{"a":' * 200_000,
        b"null garbage",
        b" ",
    ],
)
def test_what_is_not_plain_json_is_refused(cast, tickets, raw):
    malformed(post(cast.ada, tickets, raw), ["body"], "json_invalid")


def test_a_surrogate_pair_is_one_character(cast, tickets):
    ticket = ok(post(cast.ada, tickets, b'{"title": "\\ud83d\\ude00"}'), 201)
    assert ticket["title"] == "\N{GRINNING FACE}"


def test_nesting_within_bounds_is_a_matter_of_form(cast, tickets):
    deep = "[" * (MAX_DEPTH - 1) + "]" * (MAX_DEPTH - 1)
    response = post(cast.ada, tickets, f'{{"title": {deep}}}')
    malformed(response, ["body", "title"], "invalid_type")
    brackets = json.dumps({"title": "x", "body": "[{" * 500})
    assert ok(post(cast.ada, tickets, brackets), 201)["body"] == "[{" * 500


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_another_content_type_is_refused(cast, tickets, content_type):
    response = post(cast.ada, tickets, b'{"title": "x"}', content_type)
    malformed(response, ["body"], "content_type")


def test_a_charset_may_be_named(cast, tickets):
    ok(post(cast.ada, tickets, b'{"title": "x"}', "application/json; charset=utf-8"), 201)


def test_a_missing_body_is_an_empty_object(cast, tickets):
    malformed(cast.ada.call("POST", tickets), ["body", "title"], "missing")
    ticket = make_ticket(cast.ada, cast.open_project)
    ok(cast.ada.call("POST", f"/tickets/{ticket['id']}/watchers"), 201)
    ok(cast.ada.call("POST", "/auth/logout"), 204)


def test_every_problem_of_the_form_is_listed_with_its_place(cast, tickets):
    body = {"type": "saga", "label_ids": ["x", 1], "due_date": "2026-02-30", "nonsense": 1}
    error = refused(cast.ada.post(tickets, body), 422, "request.validation_error")
    found = {(*entry["loc"], entry["type"]) for entry in error["details"]["errors"]}
    assert found == {
        ("body", "title", "missing"),
        ("body", "type", "invalid_value"),
        ("body", "label_ids", 0, "invalid_value"),
        ("body", "label_ids", 1, "invalid_type"),
        ("body", "due_date", "invalid_value"),
        ("body", "nonsense", "unknown_field"),
    }
    assert all(entry["msg"].endswith(".") for entry in error["details"]["errors"])


@pytest.mark.parametrize(
    ("field", "value"),
    [("title", 1), ("title", None), ("title", ["x"]), ("body", True), ("label_ids", "x")],
)
def test_a_wrong_type_is_named(cast, tickets, field, value):
    response = cast.ada.post(tickets, {"title": "x", field: value})
    malformed(response, ["body", field], "invalid_type")


@pytest.mark.parametrize("field", ["title", "body", "client_request_id"])
def test_nul_is_refused_everywhere(cast, tickets, field):
    response = cast.ada.post(tickets, {"title": "x", field: "a\x00b"})
    invalid(response, field, "nul_character")


def test_client_request_id_is_echoed_within_its_length(cast, tickets):
    body = {"title": "x", "client_request_id": "é" * 128}
    assert ok(cast.ada.post(tickets, body), 201)["client_request_id"] == "é" * 128
    assert "client_request_id" not in ok(cast.ada.post(tickets, {"title": "x"}), 201)
    long = cast.ada.post(tickets, {"title": "x", "client_request_id": "é" * 129})
    invalid(long, "client_request_id", "too_long")
    assert len(ok(cast.ada.get("/tickets"))["data"]) == 2


@pytest.fixture(name="limit")
def _limit(app):
    return app.config["SETTINGS"].max_request_bytes


def test_a_body_declared_too_large_is_refused(cast, tickets, limit):
    body = b'{"title": "' + b"x" * limit + b'"}'
    error = refused(post(cast.ada, tickets, body), 413, "request.too_large")
    assert error["details"] == {"limit_bytes": limit}


def test_a_body_that_only_claims_to_be_large_is_refused(cast, tickets, limit):
    claimed = {"CONTENT_LENGTH": str(limit + 1)}
    response = cast.ada.call(
        "POST", tickets, data=b"{}", content_type=JSON, environ_overrides=claimed
    )
    refused(response, 413, "request.too_large")


def chunked(caller, path, raw):
    """A request with a chunked body, as a server passes it on."""
    return caller.call(
        "POST",
        path,
        input_stream=io.BytesIO(raw),
        content_type=JSON,
        headers={"Transfer-Encoding": "chunked"},
        environ_overrides={"wsgi.input_terminated": True},
    )


def test_a_chunked_body_is_read_to_its_end(cast, tickets, limit):
    ok(chunked(cast.ada, tickets, b'{"title": "x"}'), 201)
    exact = b'{"title": "x", "body": "y"}'.ljust(limit)
    ok(chunked(cast.ada, tickets, exact), 201)
    refused(chunked(cast.ada, tickets, exact + b" "), 413, RequestTooLarge.code)


def test_credentials_are_judged_before_size(cast, tickets, limit):
    body = b" " * (limit + 1)
    refused(post(cast.nobody, tickets, body), 401, "auth.unauthenticated")


def test_of_many_problems_fifty_are_listed(cast):
    body = {f"field{number}": 1 for number in range(400)}
    answer = cast.ada.post("/projects", body)
    details = refused(answer, 422, "request.validation_error")["details"]
    assert len(details["errors"]) == 50
    # The missing fields were counted as well.
    assert details["more"] == 400 + 2 - 50
    few = cast.ada.post("/projects", {"odd": 1})
    assert "more" not in refused(few, 422, "request.validation_error")["details"]


def test_a_path_to_a_problem_has_bounds(cast):
    answer = cast.ada.post("/projects", {"x" * 100_000: 1})
    assert len(answer.data) < 2_000


def test_a_list_has_bounds(cast):
    body = {"title": "T", "label_ids": [1] * 100_001}
    answer = cast.ada.post(f"/projects/{cast.open_project}/tickets", body)
    (problem,) = refused(answer, 422, "request.validation_error")["details"]["errors"]
    assert (problem["loc"], problem["type"]) == (["body", "label_ids"], "too_long")


@pytest.mark.parametrize("path", ["/auth/login", "/setup/admin"])
def test_what_is_for_everybody_takes_little(cast, path):
    sent = {"data": b"{" + b" " * 65_536, "content_type": "application/json"}
    answer = cast.nobody.call("POST", path, **sent)
    assert refused(answer, 413, "request.too_large")["details"] == {"limit_bytes": 65_536}
    assert cast.nobody.client.post("/login", data={"username": "x" * 65_536}).status_code == 413
