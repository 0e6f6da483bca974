import pytest

from app.search import index, waiting
from tests.support.story import make_ticket, ok


@pytest.fixture
def ada(cast):
    return cast.ada


@pytest.fixture
def settle(app):
    """Have all documents that wait settle in the index."""

    def run():
        with app.app_context():
            while index.settle(own=False):
                pass

    return run


@pytest.fixture
def search(cast, settle):
    """Search as ada, or as another; the rows. They are the same once all documents settled."""

    def run(q, who=None, **filters):
        given = {"q": q, **filters}
        # Of what waits, this process knows no more than another.
        waiting._known.clear()
        found = ok((who or cast.ada).get("/search", query_string=given))["data"]
        settle()
        assert ok((who or cast.ada).get("/search", query_string=given))["data"] == found
        return found

    return run


@pytest.fixture
def titles(search):
    """The titles that a search finds, in order."""

    def run(q, who=None, **filters):
        return [row["title"] for row in search(q, who, **filters)]

    return run


@pytest.fixture
def ticket(cast):
    """A new ticket in OPEN."""

    def run(title, body="", **fields):
        return make_ticket(cast.ada, cast.open_project, title, body=body, **fields)

    return run


@pytest.fixture
def page(cast):
    """A new wiki page, global unless told otherwise."""

    def run(title, body="", project_id=None):
        given = {"title": title, "body": body, "project_id": project_id}
        return ok(cast.ada.post("/wiki/pages", given), 201)

    return run
