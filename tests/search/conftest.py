import pytest

from app.search import index
from tests.support.story import make_ticket, ok


@pytest.fixture
def ada(cast):
    return cast.ada


@pytest.fixture
def flush(app):
    """Store all pending documents in the index."""

    def run():
        with app.app_context():
            index.flush(own=False)

    return run


@pytest.fixture
def search(cast):
    """Search as ada, or as another caller; return the rows."""

    def run(q, who=None, **filters):
        given = {"q": q, **filters}
        return ok((who or cast.ada).get("/search", query_string=given))["data"]

    return run


@pytest.fixture
def titles(search):
    """Return the titles that a search finds, in order."""

    def run(q, who=None, **filters):
        return [row["title"] for row in search(q, who, **filters)]

    return run


@pytest.fixture
def ticket(cast):
    """Create a ticket in OPEN."""

    def run(title, body="", **fields):
        return make_ticket(cast.ada, cast.open_project, title, body=body, **fields)

    return run


@pytest.fixture
def page(cast):
    """Create a wiki page, global by default."""

    def run(title, body="", project_id=None):
        given = {"title": title, "body": body, "project_id": project_id}
        return ok(cast.ada.post("/wiki/pages", given), 201)

    return run
