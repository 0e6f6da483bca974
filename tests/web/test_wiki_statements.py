"""Wiki pages take a fixed number of statements, however much there is to show."""

import pytest

from tests.web.test_statements import LIMIT

WIKI = "/projects/OPEN/wiki"
PAGES = (
    "/wiki",
    "/wiki?view=orphans",
    "/wiki/global",
    "/wiki/broken-links",
    "/wiki/complete?q=a",
    WIKI,
    f"{WIKI}/new",
    f"{WIKI}/home",
    f"{WIKI}/home/edit",
    f"{WIKI}/home/history",
    f"{WIKI}/home/history/1",
    f"{WIKI}/home/diff",
    f"{WIKI}/home/delete",
    f"{WIKI}/complete?q=ticket:o",
)


def write(cast, count: int) -> None:
    """Create pages of both scopes that link to each other, to tickets and to missing pages."""
    for number in range(count):
        body = f"[[home]] [[global]] [[page-{number}]] [[none-{number}]] [[ticket:OPEN-1]] OPEN-2"
        for project in (None, cast.open_project):
            cast.ada.post(
                "/wiki/pages", {"title": f"Page {number}", "body": body, "project_id": project}
            )


@pytest.fixture
def filled(cast, ticket):
    """A page with many links that was changed twice."""
    write(cast, 3)
    links = " ".join(f"[[page-{number}]] [[ticket:OPEN-{number}]]" for number in range(5))
    for title, project in (("Home", cast.open_project), ("Global", None)):
        made = cast.ada.post(
            "/wiki/pages", {"title": title, "body": f"# Big\n\n{links}", "project_id": project}
        ).json
        cast.smith.patch(f"/wiki/pages/{made['id']}", {"body": f"Changed\n\n{links}"})


def test_pages_of_the_wiki_take_few_statements(ada, filled):
    for path in PAGES:
        with ada.statements() as seen:
            assert ada.get(path).status_code == 200
        reads = [one for one in seen if one.lstrip().upper().startswith(("SELECT", "WITH"))]
        assert 1 <= len(reads) <= LIMIT, (path, "\n\n".join(reads))
        assert not [one for one in seen if one.startswith(("INSERT", "UPDATE", "DELETE"))], path


def test_more_pages_take_no_more_statements(ada, cast, filled):
    def counts():
        for path in ("/wiki", WIKI, f"{WIKI}/home", "/wiki/broken-links"):
            with ada.statements() as seen:
                ada.get(path)
            yield path, len(seen)

    before = list(counts())
    write(cast, 8)
    assert list(counts()) == before
