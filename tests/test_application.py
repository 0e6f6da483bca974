"""Flask without what every request would pay for (app/application.py) answers as Flask does."""

import pytest
from flask import Flask
from werkzeug.test import EnvironBuilder

from app.application import Asked, Docket
from app.core.response_headers import add_missing


def asked(**given):
    return Asked(EnvironBuilder(**given).get_environ())


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


@pytest.fixture(params=[Flask, Docket])
def plain(request):
    """An application with a few rules, as Flask makes it and as ours."""
    app = request.param(__name__, static_folder=None)
    app.add_url_rule("/folder/", "folder", lambda: "folder")
    app.add_url_rule("/name/<name>", "name", lambda name: name)
    app.add_url_rule("/posted", "posted", lambda: "posted", methods=["POST"])
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
    answer = plain.test_client().get(path, headers={"Host": host})
    assert answer.status_code == status
    if status == 308:
        assert answer.headers["Location"] == found
    elif found is not None:
        assert answer.text == found


def test_missing_headers_are_added_and_others_left_alone():
    response = Flask.response_class("", headers={"cache-control": "private"})
    add_missing(response, {"Cache-Control": "no-store", "Referrer-Policy": "same-origin"})
    assert response.headers.getlist("Cache-Control") == ["private"]
    assert response.headers.getlist("Referrer-Policy") == ["same-origin"]
