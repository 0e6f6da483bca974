"""The renderers of the API document: absent by default, and complete where enabled."""

import re

import pytest

from app import create_app
from tests.support.settings import settings_for
from tests.support.story import refused

pytestmark = pytest.mark.one_database


@pytest.fixture(name="enabled", scope="module")
def _enabled(tmp_path_factory):
    directory = tmp_path_factory.mktemp("docs")
    settings = settings_for(f"sqlite:///{directory / 'x.db'}", directory, docs_enabled=True)
    return create_app(settings).test_client()


@pytest.mark.parametrize("path", ["/docs", "/redoc", "/docs/start.js", "/docs/swagger-ui.css"])
def test_they_are_not_there_unless_enabled(cast, path):
    refused(cast.ada.get(path), 404, "resource.not_found", resource="route")


@pytest.mark.parametrize("page", ["docs", "redoc"])
def test_a_page_and_all_it_names_is_served(enabled, page):
    response = enabled.get(f"/api/v1/{page}")
    html = response.get_data(as_text=True)
    assert response.status_code == 200
    named = re.findall(r'(?:src|href)="([^"]+)"', html)
    assert len(named) >= 2
    for address in named:
        asset = enabled.get(f"/api/v1/{address}")
        assert asset.status_code == 200, address
        assert asset.mimetype in ("text/javascript", "text/css")
        assert len(asset.data) > 100
    assert "<style" not in html
    assert not re.search(r"<script[^>]*>[^<]", html)


@pytest.mark.parametrize("page", ["docs", "redoc"])
def test_a_page_runs_no_foreign_or_inline_script(enabled, page):
    policy = enabled.get(f"/api/v1/{page}").headers["Content-Security-Policy"]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["script-src"] == "'self'"
    assert rules["default-src"] == "'none'"
    assert rules["frame-ancestors"] == "'none'"


def test_an_asset_is_sent_once(enabled):
    first = enabled.get("/api/v1/docs/swagger-ui.css")
    again = enabled.get(
        "/api/v1/docs/swagger-ui.css", headers={"If-None-Match": first.headers["ETag"]}
    )
    assert (again.status_code, again.data) == (304, b"")


def test_nothing_else_of_the_packages_is_served(enabled):
    for path in ("docs/index.html", "docs/swagger-ui.js", "docs/../openapi.py", "redoc/redoc.svg"):
        assert enabled.get(f"/api/v1/{path}").status_code == 404
