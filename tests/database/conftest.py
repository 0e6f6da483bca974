import pytest

from app.database import failures
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


@pytest.fixture
def logged(monkeypatch, caplog):
    """The reasons that a server has logged for outages."""
    monkeypatch.setattr(failures, "_logged_at", {})
    return lambda: [one.reason for one in caplog.records if one.name == failures.__name__]
