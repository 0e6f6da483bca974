"""An empty list says in a sentence what it is for, what to do, and where the help says more."""

import re

import pytest

PLACES = [
    "/",
    "/inbox",
    "/webhooks",
    "/wiki",
    "/sticky-notes",
    "/tickets",
    "/audit?project=NONE",
    "/audit/tools",
    "/search?q=zzzzqq",
]
OF_PROJECT = ["/board", "/tickets", "/epics", "/wiki", "/sticky-notes", "/settings/labels"]


@pytest.fixture
def anchors(ada):
    found = {f"/help#{one}" for one in re.findall(r' id="([^"]+)"', ada.get("/help").text)}
    return found | {"/help/agents"}


def leads(ada, path):
    return set(re.findall(r'class="small learn" href="([^"]+)"', ada.get(path).text))


def test_an_empty_place_leads_to_its_help(ada, cast, anchors):
    for path in (*PLACES, *(f"/projects/OPEN{one}" for one in OF_PROJECT)):
        found = leads(ada, path)
        assert found, path
        assert found <= anchors, path
    cast.ada.post(f"/projects/{cast.open_project}/tickets", {"title": "The first"})
    assert leads(ada, "/projects/OPEN/board") == leads(ada, "/projects/OPEN/tickets") == set()
