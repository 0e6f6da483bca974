from dataclasses import replace

import pytest
from sqlalchemy import select

from app.database.session import reading, session
from app.webhooks.connecting import limits
from app.webhooks.models import OutboxEntry
from app.webhooks.worker import Worker
from tests.support.receiver import SECRET, receiving
from tests.support.serving import until
from tests.support.story import ok


@pytest.fixture(scope="session")
def authority_directory(tmp_path_factory):
    return tmp_path_factory.mktemp("authority")


@pytest.fixture
def receiver(authority_directory):
    """A receiver whose authority and address the application trusts (see ``trusting``)."""
    with receiving(authority_directory) as made:
        yield made


@pytest.fixture
def trusting(app, receiver):
    """The application, with settings that let it reach the receiver."""
    before = app.config["SETTINGS"]
    app.config["SETTINGS"] = replace(
        before, webhook_allowed_networks="127.0.0.0/8, ::1", webhook_ca_bundle=receiver.ca_file
    )
    yield app
    app.config["SETTINGS"] = before


@pytest.fixture
def reach(trusting):
    """The limits of a delivery that may reach the receiver."""
    return limits(trusting)


@pytest.fixture
def worker(trusting):
    """A running worker of this process."""
    made = Worker(trusting)
    made.start()
    yield made
    made.stop()


@pytest.fixture
def subscribe(cast, receiver):
    """Return a function that creates a webhook to the receiver."""

    def run(*event_types, url=None, **fields):
        given = {"url": url or receiver.url, "secret": SECRET, "event_types": [*event_types]}
        return ok(cast.ada.post("/webhooks", {**given, **fields}), 201)

    return run


@pytest.fixture
def all_done(app):
    """Return a function that waits until nothing is left to be sent, now or later."""

    def run():
        open_entries = select(OutboxEntry.id).where(OutboxEntry.finished_at.is_(None))

        def are_gone():
            with app.app_context(), reading():
                return not session.scalars(open_entries).all()

        until(are_gone)

    return run


@pytest.fixture
def deliveries(cast):
    """Return a webhook's delivery log, oldest first."""

    def run(webhook, **query):
        found = ok(cast.ada.get(f"/webhooks/{webhook['id']}/deliveries", query_string=query))
        return found["data"][::-1]

    return run
