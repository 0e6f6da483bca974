import pytest

from app.database.session import db
from tests.support.databases import postgres_database


@pytest.fixture(name="alone", scope="module")
def _alone(cluster):
    """An application on a PostgreSQL of its own."""
    with postgres_database(cluster) as made:
        yield made.app


@pytest.fixture
def on_postgresql_alone(alone):
    """Its context, with connections that keep nothing yet."""
    with alone.app_context():
        db.engine.dispose()
        yield
