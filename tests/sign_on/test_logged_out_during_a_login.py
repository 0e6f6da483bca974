"""The provider ends a session while it logs in: no session here outlives it."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import func, select, text, update

from app.accounts import sessions
from app.accounts.models import UsedToken
from app.database.session import reading, session
from app.sign_on import flow
from app.sign_on.logout import REMEMBERED_MS
from tests.accounts.helpers import write
from tests.sign_on.conftest import begin, finish, is_logged_in, log_in, reasons
from tests.support.cases import cases

# What a logout token names: a session, a subject, or a session of a subject.
SESSION = {"sub": None, "sid": "session-1"}
SUBJECT = {}
BOTH = {"sid": "session-1"}
SAID = "The identity provider ended this login. Log in again."


@pytest.fixture
def end(app, provider, linked):
    """A function with which the provider ends sessions."""

    def ended(**named):
        token = provider.logout_token(**named)
        path = "/auth/oidc/backchannel-logout"
        answer = app.test_client().post(path, data={"logout_token": token})
        assert answer.status_code == 200, answer.text

    return ended


@pytest.mark.parametrize("named", [SESSION, SUBJECT, BOTH])
def test_a_login_that_had_begun_is_refused(app, provider, end, client, named):
    # Before the login is linked to an account, and then again.
    for refusals in (1, 2):
        asked = begin(client)
        end(**named)
        answer = finish(client, asked, provider, provider.grant(asked))
        assert (answer.status_code, SAID in answer.text) == (422, True)
        assert not is_logged_in(client)
        assert reasons(app) == ["logged_out"] * refusals
        assert log_in(app.test_client(), provider).status_code == 303


@pytest.mark.parametrize("named", [SESSION, SUBJECT, BOTH])
def test_a_login_whose_code_was_redeemed_is_refused(app, provider, end, client, named):
    provider.userinfo = {"sub": "subject-1", "email": "ada@example.org", "email_verified": True}

    def respond(handler):
        end(**named)
        handler.say(provider.userinfo)

    provider.instead["/userinfo"] = respond
    answer = log_in(client, provider, email=None, email_verified=None)
    assert (answer.status_code, SAID in answer.text) == (422, True)
    assert (is_logged_in(client), reasons(app)) == (False, ["logged_out"])


@cases("named", [SESSION, SUBJECT, BOTH])
def test_a_login_that_begins_afterwards_succeeds(app, provider, end, named):
    browser = app.test_client()
    end(**named)
    assert log_in(browser, provider).status_code == 303
    assert is_logged_in(browser)


@cases(
    "named, claims",
    [
        (SESSION, {"sid": "session-2"}),
        (BOTH, {"sid": "session-2"}),
        (SESSION, {"sid": None}),
        (SUBJECT, {"sub": "subject-2"}),
        (BOTH, {"sub": "subject-2", "sid": "session-2"}),
    ],
)
def test_another_login_that_had_begun_succeeds(app, provider, end, named, claims):
    browser = app.test_client()
    asked = begin(browser)
    end(**named)
    answer = finish(browser, asked, provider, provider.grant(asked, **claims))
    assert answer.status_code == 303
    assert is_logged_in(browser)


def test_the_last_logout_counts(provider, end, client):
    end(**SESSION)
    asked = begin(client)
    end(**SESSION)
    assert finish(client, asked, provider, provider.grant(asked)).status_code == 422


def test_a_logout_is_remembered_while_a_login_lasts(app, provider, end, client):
    def remembered():
        with app.app_context(), reading():
            return session.scalar(select(func.count()).select_from(UsedToken))

    def sweep(milliseconds):
        """Sweep as it is done after a time."""
        write(app, update(UsedToken).values(expires_at=UsedToken.expires_at - milliseconds))
        app.test_cli_runner().invoke(args=["sweep"])
        write(app, update(UsedToken).values(expires_at=UsedToken.expires_at + milliseconds))

    asked = begin(client)
    end(**SESSION)
    sweep(flow.LIFETIME_MS + 60_000)
    assert finish(client, asked, provider, provider.grant(asked)).status_code == 422
    sweep(REMEMBERED_MS + 60_000)
    assert remembered() == 0


@pytest.mark.parametrize("named", [SESSION, SUBJECT])
def test_a_logout_waits_for_a_login_and_ends_its_session(
    app, provider, end, watch, client, monkeypatch, named
):
    logouts = []
    open_session = sessions.open_session

    def opened(*values, **given):
        made = open_session(*values, **given)
        logouts.append(pool.submit(end, **named))
        watch()
        return made

    monkeypatch.setattr(sessions, "open_session", opened)
    with ThreadPoolExecutor(1) as pool:
        assert log_in(client, provider).status_code == 303
        for one in logouts:
            one.result()
    assert not is_logged_in(client)


@pytest.mark.parametrize("named", [SESSION, SUBJECT])
def test_a_login_waits_for_a_logout_and_is_refused(
    app, provider, end, engine, watch, client, named
):
    assert log_in(client, provider).status_code == 303
    browser = app.test_client()
    asked = begin(browser)
    with ThreadPoolExecutor(2) as pool, engine.connect() as holding:
        if engine.dialect.name == "postgresql":
            # The logout has begun, and waits for the session of the other browser.
            holding.execute(text("SELECT 1 FROM sessions FOR UPDATE"))
        logout = pool.submit(end, **named)
        watch()
        if engine.dialect.name == "sqlite":
            logout.result()
        login = pool.submit(finish, browser, asked, provider, provider.grant(asked))
        watch(2)
        holding.rollback()
        logout.result()
        assert login.result().status_code == 422
    assert [is_logged_in(one) for one in (client, browser)] == [False, False]
    assert reasons(app) == ["logged_out"]
