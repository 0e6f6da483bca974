"""The frame of every page: five places, one menu for administration, and the notice above them."""

import re

import pytest

from tests.support.cases import cases

ADMINISTRATION = [
    "/bots",
    "/people",
    "/webhooks",
    "/integrations",
    "/mail",
    "/audit",
    "/import",
    "/export",
]


def within(page, start, end):
    return re.findall(r'<a[^>]* href="([^"]+)"', page.text.partition(start)[2].partition(end)[0])


def admin_menu(page):
    return within(page, 'class="menu left admin-menu"', "</details>")


def strip(page):
    return '<aside class="paused"' in page.text


@pytest.mark.parametrize(
    ("path", "places"),
    [
        ("/", ["/", "/board", "/tickets", "/wiki", "/sticky-notes"]),
        (
            "/projects/OPEN/board",
            [
                f"/projects/OPEN/{one}"
                for one in ("board", "tickets", "epics", "wiki", "sticky-notes")
            ],
        ),
    ],
)
def test_the_header_has_five_places(ada, path, places):
    assert within(ada.get(path), '<nav class="tabs"', "</nav>") == places


def test_administration_is_one_menu_with_the_settings_of_the_project_at_hand(ada):
    assert admin_menu(ada.get("/")) == ADMINISTRATION
    of_project = admin_menu(ada.get("/projects/OPEN/board"))
    assert of_project == ["/projects/OPEN/settings/general", *ADMINISTRATION]


@cases("path", ADMINISTRATION)
def test_the_menu_shows_that_one_is_in_administration(ada, path):
    page = ada.get(path)
    assert '<summary class="tab is-here">Admin' in page.text
    assert '<summary class="bar-item is-here"' in page.text
    assert re.search(rf'<a data-item[^>]* href="{path}" aria-current="page">', page.text)


def test_a_page_that_is_not_there_has_the_header_for_whoever_is_logged_in(ada, stranger):
    for path in ("/nowhere", "/tickets/OPEN-999", "/projects/NONE"):
        page = ada.get(path)
        assert page.status_code == 404
        assert "Page not found" in page.text
        assert admin_menu(page) == ADMINISTRATION
    assert ada.post("/search").status_code == 405
    assert admin_menu(ada.post("/search")) == ADMINISTRATION
    unknown = stranger.get("/nowhere")
    assert unknown.status_code == 404
    assert '<header class="header">' not in unknown.text


def test_a_refusal_has_the_header_too(ada):
    refused = ada.post("/bots/pausing", headers={"Sec-Fetch-Site": "cross-site"}, action="pause")
    assert refused.status_code == 403
    assert admin_menu(refused) == ADMINISTRATION


def test_while_all_bots_are_paused_every_page_says_so(ada, cast, ticket, stranger):
    cast.ada.post(f"/projects/{cast.open_project}/wiki/pages", {"title": "Kept"})
    paths = ("/", "/projects/OPEN/board", "/tickets/OPEN-1", "/wiki", "/people", "/nowhere")
    for path in paths:
        assert not strip(ada.get(path))
    ada.post("/bots/pausing", action="pause")
    for path in paths:
        assert strip(ada.get(path)), path
    assert not strip(stranger.get("/login"))
    there = ada.post("/bots/pausing", htmx=True, action="resume")
    assert (there.status_code, there.headers["HX-Refresh"]) == (204, "true")
    for path in paths:
        assert not strip(ada.get(path)), path
