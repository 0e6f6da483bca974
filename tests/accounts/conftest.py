"""Fixtures of the tests of accounts and bots."""

import pytest

from app.accounts import totp
from app.core import clock
from tests.accounts.helpers import PASSWORD, set_up
from tests.accounts.passkeys import add
from tests.accounts.second_factors import TOTP, Phone
from tests.support.authenticator import Authenticator


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
        _put(settings, name, value)

    yield change
    for name, value in before.items():
        _put(settings, name, value)


def _put(settings, name, value):
    object.__setattr__(settings, name, value)
    # These values are derived from others and cached.
    for derived in ("own_address", "is_https"):
        vars(settings).pop(derived, None)


@pytest.fixture
def device(app, admin):
    """Ada's passkey, on a device with a signature counter."""
    made = Authenticator()
    made.count = 5
    assert add(admin, made).status_code == 201
    made.count = 6
    return made


@pytest.fixture
def still(monkeypatch):
    """A fixed time in the middle of a step."""
    moment = clock.now_ms() // totp.STEP_MS * totp.STEP_MS + 15_000
    for name in ("app.accounts.second_factor", "app.accounts.login"):
        monkeypatch.setattr(f"{name}.now_ms", lambda: moment)


@pytest.fixture
def phone(still, admin):
    """Ada's authenticator app, after she set it up; ``codes`` are her recovery codes."""
    made = admin.post(TOTP, json={"current_password": PASSWORD})
    assert made.status_code == 200, made.json
    phone = Phone(made.json["secret"])
    phone.step -= 1
    answer = admin.post(f"{TOTP}/confirm", json={"code": phone.code()})
    assert answer.status_code == 200, answer.json
    phone.codes = answer.json["recovery_codes"]
    return phone
