"""A linked login is removed while it logs in: no session outlives the removal."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import text, update

from app.accounts import sessions
from app.accounts.models import User
from tests.accounts.helpers import API, logged_in, new_human, write
from tests.sign_on.conftest import identities, is_logged_in, log_in, reasons


@pytest.fixture
def remove(app, provider, admin, linked, client):
    """Link a login to ada, and return what removes it, as a teammate does."""
    assert log_in(client, provider).status_code == 303
    # Her address would link it again.
    write(app, update(User).values(email=None, email_confirmed_at=None))
    new_human(admin, "grace")
    grace = logged_in(app, "grace")
    ada = admin.get(f"{API}/auth/me").json["id"]
    return lambda: grace.post(f"/people/{ada}/linked-logins/remove")


def test_a_login_that_comes_after_the_removal_is_refused(
    app, provider, remove, engine, watch, client
):
    browser = app.test_client()
    with ThreadPoolExecutor(1) as pool, engine.connect() as holding:
        if engine.dialect.name == "postgresql":
            # The login has found the linked login, and waits for the person.
            holding.execute(text("SELECT 1 FROM users FOR NO KEY UPDATE"))
            login = pool.submit(log_in, browser, provider)
            watch()
            assert remove().status_code == 303
        else:
            assert remove().status_code == 303
            login = pool.submit(log_in, browser, provider)
        holding.rollback()
        answer = login.result()
    assert (answer.status_code, "No account here" in answer.text) == (422, True)
    assert reasons(app) == ["not_admitted"]
    assert identities(app) == []
    assert [is_logged_in(one) for one in (browser, client)] == [False, False]


def test_a_removal_waits_for_a_login_and_ends_its_session(
    app, provider, remove, watch, client, monkeypatch
):
    removals = []
    open_session = sessions.open_session

    def opened(*values, **named):
        made = open_session(*values, **named)
        removals.append(pool.submit(remove))
        watch()
        return made

    browser = app.test_client()
    monkeypatch.setattr(sessions, "open_session", opened)
    with ThreadPoolExecutor(1) as pool:
        assert log_in(browser, provider).status_code == 303
        assert [one.result().status_code for one in removals] == [303]
    assert identities(app) == []
    assert [is_logged_in(one) for one in (browser, client)] == [False, False]
