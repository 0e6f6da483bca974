"""Fixtures of the tests of accounts and bots."""

import pytest

from tests.accounts.helpers import set_up


@pytest.fixture
def admin(app):
    """A browser in which the first admin, ada, is logged in."""
    return set_up(app)


@pytest.fixture
def setting(app):
    """A function that changes a setting for one test."""
    settings = app.config["SETTINGS"]
    before = {}

    def change(name, value):
        before.setdefault(name, getattr(settings, name))
        object.__setattr__(settings, name, value)

    yield change
    for name, value in before.items():
        object.__setattr__(settings, name, value)
