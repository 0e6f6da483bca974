"""Flask without what every request would pay for (app/http/flask_app.py) answers as Flask does."""

import pytest
from flask import Flask, Request, Response, request
from werkzeug.test import EnvironBuilder, run_wsgi_app

from app.http import flask_app
from app.http.flask_app import Docket, DocketRequest, Reply, add_missing


def asked(**given):
    return DocketRequest(EnvironBuilder(**given).get_environ())


def test_headers_are_found_as_they_were_sent():
    request = asked(
        method="POST",
        headers={"If-None-Match": 'W/"1"', "X-Empty": ""},
        data=b"{}",
        content_type="application/json",
    )
    headers = request.headers
    assert headers.get("if-none-match") == headers["If-None-Match"] == 'W/"1"'
    assert "IF-NONE-MATCH" in headers
    assert headers.get("X-Empty") == ""
    assert headers.get("Content-Type") == "application/json"
    assert headers.get("Content-Length", type=int) == 2
    for missing in ("X-API-Key", "Http-If-None-Match"):
        assert headers.get(missing) is None
        assert headers.get(missing, "none") == "none"
        assert missing not in headers
    assert 7 not in headers
    with pytest.raises(KeyError):
        headers["X-API-Key"]


def test_parameters_and_cookies_give_their_first_value_or_the_default():
    request = asked(query_string="a=1&a=2&b=x", headers={"Cookie": "theme=dark"})
    assert request.args.get("a") == "1"
    assert request.args.getlist("a") == ["1", "2"]
    assert request.args.get("a", type=int) == 1
    assert request.args.get("b", 5, type=int) == 5
    assert request.args.get("c", "none") == "none"
    assert request.args.get("c", type=int) is None
    assert request.cookies.get("theme") == "dark"
    assert request.cookies.get("times") is None
    assert asked().cookies.get("theme") is None
    assert not asked().cookies


@pytest.mark.parametrize(
    "sent", ["a=1; b=2; a=3", "", "=;;a", 'a="x\\073y"; b', "a=\xe9\xff", "a=\xc3\xa9; theme"]
)
def test_cookies_are_those_that_werkzeug_finds(sent):
    environ = EnvironBuilder().get_environ() | {"HTTP_COOKIE": sent}
    found = DocketRequest(dict(environ)).cookies
    assert found.to_dict(flat=False) == Request(dict(environ)).cookies.to_dict(flat=False)


def replies(kind):
    """Answers of this kind: whole ones, and those that werkzeug changes or wraps."""
    closed = kind(b"closed")
    closed.call_on_close(lambda: None)
    unmeasured = kind(b"unmeasured", headers={"ETag": "x"})
    del unmeasured.headers["Content-Length"]
    doubled = kind(b"doubled")
    doubled.set_cookie("a", "1")
    doubled.set_cookie("b", "2")
    yield from (closed, unmeasured, doubled)
    yield kind(b"{}", 201, {"Location": "/é", "Content-Type": "application/json"})
    yield kind(b"{}", 201, {"Location": "http://localhost:8000/api/v1/comments/0-a"})
    yield kind(b"{}", 201, {"Location": "http://localhost/a comment"})
    yield kind(b"", 200, {"Content-Location": "/é"})
    yield kind("text", 404, content_type="text/html; charset=utf-8")
    yield kind([b"one ", b"two"])
    yield kind(one for one in (b"one ", b"two"))
    yield kind(["text"], headers={"Content-Length": "4"})
    yield from (kind(b"nothing", status) for status in (100, 204, 304))


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST"])
def test_answers_go_out_as_flasks_do(method):
    environ = EnvironBuilder(method=method).get_environ()
    for ours, theirs in zip(replies(Reply), replies(Response), strict=True):
        assert (
            run_wsgi_app(ours, environ, buffered=True)[1:]
            == (run_wsgi_app(theirs, environ, buffered=True)[1:])
        )
        told = [list(run_wsgi_app(one, environ, buffered=True)[0]) for one in (ours, theirs)]
        assert told[0] == told[1]


def test_what_is_to_be_done_at_the_end_of_an_answer_is_done():
    reply, done = Reply(b"text"), []
    reply.call_on_close(lambda: done.append("closed"))
    run_wsgi_app(reply, EnvironBuilder().get_environ(), buffered=True)
    assert done == ["closed"]


@pytest.fixture(params=[Flask, Docket])
def plain(request):
    """An application with a few rules, as Flask makes it and as ours."""
    app = request.param(__name__, static_folder=None)
    app.add_url_rule("/folder/", "folder", lambda: "folder")
    app.add_url_rule("/name/<name>", "name", lambda name: name)
    app.add_url_rule("/posted", "posted", lambda: "posted", methods=["POST"])
    app.add_url_rule("/name/<name>", "renamed", lambda name: f"no {name}", methods=["DELETE"])
    return app


@pytest.mark.parametrize(
    ("path", "host", "status", "found"),
    [
        ("/folder", "Example.COM:8080", 308, "http://example.com:8080/folder/"),
        ("/folder?a=1&b=%C3%A9", "example.com", 308, "http://example.com/folder/?a=1&b=%C3%A9"),
        ("/name/a%20b%C3%A9", "example.com", 200, "a bé"),
        ("/name/x", f"{'a' * 64}.com", 400, None),
        ("/name/x", "bad host", 200, "x"),
        ("/posted", "example.com", 405, None),
        ("/nowhere", "example.com", 404, None),
    ],
)
def test_rules_are_found_as_flask_finds_them(plain, path, host, status, found):
    for _ in range(2):
        answer = plain.test_client().get(path, headers={"Host": host})
        assert answer.status_code == status
        if status == 308:
            assert answer.headers["Location"] == found
        elif found is not None:
            assert answer.text == found


def test_a_known_address_has_a_rule_for_each_method(plain):
    client = plain.test_client()
    for _ in range(2):
        answers = [client.open("/name/x", method=one) for one in ("GET", "DELETE", "HEAD", "PUT")]
        assert [one.text for one in answers[:3]] == ["x", "no x", ""]
        assert answers[3].status_code == 405


def test_what_a_view_does_to_its_values_does_not_stay(plain):
    @plain.before_request
    def spoil():
        request.view_args["name"] += "!"

    assert [plain.test_client().get("/name/x").text for _ in range(3)] == ["x!"] * 3


def test_only_so_many_addresses_are_known(monkeypatch):
    monkeypatch.setattr(flask_app, "CACHED_PATHS", 3)
    app = Docket(__name__, static_folder=None)
    app.add_url_rule("/name/<name>", "name", lambda name: name)
    for at in [*range(8), 0, 7]:
        assert app.test_client().get(f"/name/{at}").text == str(at)
        assert len(app._rules) <= 3
    known = len(app._rules)
    assert app.test_client().get("/name/" + "n" * 200).text == "n" * 200
    assert len(app._rules) == known


def test_missing_headers_are_added_and_others_left_alone():
    response = Flask.response_class("", headers={"cache-control": "private"})
    add_missing(response, {"Cache-Control": "no-store", "Referrer-Policy": "same-origin"})
    assert response.headers.getlist("Cache-Control") == ["private"]
    assert response.headers.getlist("Referrer-Policy") == ["same-origin"]
