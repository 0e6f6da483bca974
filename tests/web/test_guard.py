"""Checks before every page: login, other sites, and the headers for the browser."""

import gzip
from dataclasses import replace

import pytest

from app.web.guard import safe_next
from tests.support.cases import cases

pytestmark = pytest.mark.one_database

POLICY = "default-src 'none'; script-src 'self'; style-src 'self'"
OTHER = {"Origin": "https://evil.example"}


@pytest.mark.parametrize(
    "path", ["/", "/projects", "/projects/OPEN/board", "/tickets/OPEN-1", "/profile", "/OPEN-1"]
)
def test_a_stranger_is_sent_to_the_login_and_back(stranger, path):
    answer = stranger.get(path)
    assert answer.status_code == 303
    assert answer.location == ("/login" if path == "/" else f"/login?next={path}")


def test_the_query_comes_back_too(stranger):
    answer = stranger.get("/projects/OPEN/board?priority=high&label_id=x")
    assert answer.location == "/login?next=/projects/OPEN/board%3Fpriority%3Dhigh%26label_id%3Dx"


def test_htmx_is_told_where_the_reader_looks(stranger):
    answer = stranger.post("/tickets/OPEN-1/comments", htmx=True, body="text")
    assert answer.status_code == 401
    assert answer.headers["HX-Retarget"] == "#toasts"
    assert "You were logged out" in answer.text


def test_a_bot_has_no_pages(cast):
    answer = cast.smith.client.get("/projects", headers={"X-API-Key": cast.smith.token})
    assert answer.status_code == 401


@pytest.mark.parametrize(
    ("target", "safe"),
    [
        ("/projects/OPEN/board?x=1", "/projects/OPEN/board?x=1"),
        ("https://evil.example/", "/"),
        ("//evil.example", "/"),
        ("/\\evil.example", "/"),
        ("/a\r\nSet-Cookie: x", "/"),
        ("javascript:alert(1)", "/"),
        ("", "/"),
        (None, "/"),
    ],
)
def test_only_addresses_of_this_site_follow_a_login(target, safe):
    assert safe_next(target) == safe


@cases(
    "headers, refused",
    [
        ({}, False),
        ({"Sec-Fetch-Site": "same-origin"}, False),
        ({"Sec-Fetch-Site": "none"}, False),
        ({"Sec-Fetch-Site": "same-site"}, True),
        ({"Sec-Fetch-Site": "cross-site"}, True),
        ({"Sec-Fetch-Site": "cross-site", "Origin": "http://localhost"}, True),
        ({"Origin": "http://localhost"}, False),
        ({"Origin": "null"}, True),
        (OTHER, True),
    ],
)
@cases("who", ["ada", "stranger"])
def test_another_site_can_send_no_form(ada, stranger, who, headers, refused):
    reader = ada if who == "ada" else stranger
    path = "/projects/new" if who == "ada" else "/login"
    form = {"key": "SITE", "name": "Site"} if who == "ada" else {"username": "ada", "password": "x"}
    answer = reader.post(path, headers=headers, **form)
    assert (answer.status_code == 403) == refused
    if refused:
        assert "another site" in answer.text


@pytest.mark.parametrize("path", ["/projects", "/login", "/tickets/NOPE-1", "/nowhere"])
@pytest.mark.parametrize("who", ["ada", "stranger"])
def test_every_page_carries_the_policy(ada, stranger, who, path):
    answer = (ada if who == "ada" else stranger).get(path)
    if answer.status_code == 303:
        return
    assert answer.headers["Content-Security-Policy"].startswith(POLICY)
    assert "unsafe" not in answer.headers["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Referrer-Policy"] == "same-origin"
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["Cross-Origin-Opener-Policy"] == "same-origin"


def test_pages_hold_no_inline_script_or_style(ada, ticket):
    for path in ("/projects/OPEN/board", "/tickets/OPEN-1", "/bots", "/profile"):
        text = ada.get(path).text
        assert "<style" not in text
        assert " style=" not in text
        assert " onclick" not in text
        assert text.count("<script") == text.count("<script src=") + text.count(
            '<script type="module" src='
        )


def test_large_pages_are_packed_and_secrets_are_not(ada, cast):
    packed = ada.get("/projects/OPEN/board", **{"Accept-Encoding": "gzip"})
    assert packed.headers["Content-Encoding"] == "gzip"
    shown = ada.post(
        "/bots",
        headers={"Accept-Encoding": "gzip"},
        username="bot-x",
        mode="read",
        all_projects="on",
    )
    assert "app_" in shown.text
    assert "Content-Encoding" not in shown.headers


def test_a_packed_page_is_the_page(ada):
    packed = ada.get("/help", **{"Accept-Encoding": "gzip"})
    assert gzip.decompress(packed.data).decode() == ada.get("/help").text
    assert packed.headers["Content-Length"] == str(len(packed.data))


@pytest.mark.parametrize("path", ["/login", "/api/v1/setup/status", "/healthz", "/nowhere"])
@pytest.mark.parametrize("is_https", [True, False])
def test_every_answer_behind_tls_says_so(app, client, monkeypatch, path, is_https):
    settings = app.config["SETTINGS"]
    if is_https:
        monkeypatch.setitem(
            app.config, "SETTINGS", replace(settings, base_url="https://docket.example")
        )
    answer = client.get(path)
    assert ("Strict-Transport-Security" in answer.headers) is is_https
