"""Fixtures for mail tests: a server in this process, and an application that uses it."""

from dataclasses import replace

import pytest

from app.mail.worker import send_due
from tests.accounts.helpers import set_up
from tests.support.mailbox import mail_server
from tests.support.receiver import make_authority

SENDER = "Docket <docket@mail.example.org>"


@pytest.fixture(scope="session")
def authority(tmp_path_factory):
    """Return a CA file, and a certificate with key for localhost."""
    return make_authority(tmp_path_factory.mktemp("mail"))


@pytest.fixture
def mailbox():
    """A mail server without TLS."""
    with mail_server() as box:
        yield box


@pytest.fixture
def using(app):
    """Return a function that sets the SMTP_URL that the application sends mail to."""
    before = app.config["SETTINGS"]

    def run(smtp_url, **changes):
        given = {"smtp_url": smtp_url, "mail_from": SENDER} | changes
        app.config["SETTINGS"] = replace(before, **given)
        return app.config["SETTINGS"]

    yield run
    app.config["SETTINGS"] = before


@pytest.fixture
def posting(app, mailbox, using):
    """The application, set to send to ``mailbox``."""
    using(f"smtp://127.0.0.1:{mailbox.port}?starttls=off")
    return app


@pytest.fixture
def admin(app):
    """A browser in which the first admin, ada, is logged in."""
    return set_up(app)


@pytest.fixture
def deliver(app):
    """Send all mail that is due; return how many mails were claimed."""

    def run():
        total = 0
        with app.app_context():
            while count := send_due(app.config["SETTINGS"]):
                total += count
        return total

    return run
