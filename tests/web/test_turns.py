"""What pages and answers need of PostgreSQL goes there in few turns."""

import pytest

from tests.support.statements import announced, turns
from tests.web.test_wiki_statements import write

WIKI = "/projects/OPEN/wiki"
# How many statements go by each turn: first who asks, then what it is about, then the rest. A list
# of tickets asks for its tickets and states too; a page of the wiki for what is said around links.
PAGES = {
    "/tickets/OPEN-1": [1, 1, 5],
    "/projects/OPEN/board": [1, 1, 3],
    "/projects/OPEN/tickets": [1, 1, 1, 2],
    f"{WIKI}/home": [1, 1, 2, 1],
    "/wiki/global": [1, 1, 2, 1],
}


@pytest.fixture(autouse=True)
def _texts(cast, ticket):
    write(cast, 2)
    for title, project in (("Home", cast.open_project), ("Global", None)):
        body = "See [[page-1]]"
        cast.ada.post("/wiki/pages", {"title": title, "body": body, "project_id": project})


@pytest.fixture(name="on_postgresql")
def _on_postgresql(app):
    return app.config["SETTINGS"].database_url.startswith("postgresql")


@pytest.mark.parametrize("path", PAGES)
def test_a_page_takes_few_turns(ada, path, on_postgresql):
    ada.get(path)
    with turns() as taken, announced() as idle:
        assert ada.get(path).status_code == 200
    assert taken == (PAGES[path] if on_postgresql else [])
    assert idle == []


def test_nothing_goes_along_with_a_credential(cast, ticket, on_postgresql):
    """What a stranger is told takes as long where there is nothing to find."""
    with turns() as taken:
        assert cast.scout.get(f"/tickets/{ticket['id']}").status_code == 200
    assert taken == ([1, 1] if on_postgresql else [])
