import pytest

from app.database.session import db
from tests.support.databases import postgres_database


@pytest.fixture(name="alone", scope="module")
def _alone(cluster):
    """Provide an application on its own PostgreSQL database."""
    with postgres_database(cluster) as made:
        yield made.app


@pytest.fixture
def on_postgresql_alone(alone):
    """Enter its context, without any pooled connections."""
    with alone.app_context():
        db.engine.dispose()
        yield
