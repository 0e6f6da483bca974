"""Disabled passwords, accounts that people link, and logout by the provider."""

import json
import time
from urllib.parse import quote

import pytest
from sqlalchemy import func, select, update

from app.accounts.models import UsedToken, User, UserSession
from app.core.clock import now_ms
from app.database.session import reading, session
from app.sign_on import flow
from tests.accounts.helpers import (
    API,
    PASSWORD,
    error,
    events,
    logged_in,
    new_human,
    only,
    write,
)
from tests.accounts.test_passkey_pages import turn_on_codes
from tests.sign_on.conftest import (
    begin,
    cookie_of,
    finish,
    identities,
    is_logged_in,
    log_in,
)
from tests.support.cases import cases


def candidate_in(page):
    """The login that the page asks about, as its form sends it."""
    return page.text.partition('name="candidate" value="')[2].partition('"')[0]


def confirm(client, page, password=PASSWORD, code=""):
    """Confirm on the page that asks whether to link a login."""
    sent = {"candidate": candidate_in(page), "current_password": password, "code": code}
    return client.post("/profile/sign-on", data=sent)


class TestPasswordLoginOff:
    """Only the provider logs people in."""

    @pytest.fixture(autouse=True)
    def _off(self, provider, setting):
        setting("password_login", False)

    def test_passwords_do_not_log_in(self, app, client):
        answer = client.post(f"{API}/auth/login", json={"username": "ada", "password": PASSWORD})
        assert error(answer) == (403, "auth.forbidden")
        assert answer.json["error"]["details"] == {"reason": "password_login_off"}
        page = client.get("/login").text
        assert "Continue with single sign-on" in page
        assert 'name="password"' not in page
        form = client.post("/login", data={"username": "ada", "password": PASSWORD})
        assert form.status_code == 403
        assert not is_logged_in(client)

    def test_people_are_added_and_no_link_is_offered(self, admin):
        person = {"display_name": "Grace", "email": "grace@example.org"}
        answer = admin.post("/people", data=person)
        assert (answer.status_code, "Grace was added" in answer.text) == (200, True)
        page = admin.get("/people").text
        assert "Add person" in page
        for shown in (answer.text, page):
            assert "/password/" not in shown
            assert "link</button>" not in shown
            assert "Reset password" not in shown

    def test_links_of_people_do_not_log_in_and_those_of_operators_do(
        self, app, admin, client, setting
    ):
        grace = new_human(admin, "grace")
        setting("password_login", True)
        page = admin.post(f"/people/{grace['id']}/link").text
        setting("password_login", False)
        link = page.partition('value="http')[2].partition('"')[0]
        path = link[link.index("/password/") :]
        assert client.get(path).status_code == 403
        assert client.post(path, data={"password": "another horse battery"}).status_code == 403
        result = app.test_cli_runner().invoke(args=["users", "link", "ada"])
        path = "/password/" + result.output.strip().rpartition("/")[2]
        assert client.get(path).status_code == 200
        answer = client.post(path, data={"password": "another horse battery"})
        assert answer.status_code == 303
        assert is_logged_in(client)


class TestLinking:
    """A person links an account in the profile, and removes it."""

    def test_it_is_linked_once_it_is_confirmed(self, app, provider, admin, client):
        answer = log_in(admin, provider, "/profile/sign-on/begin", email_verified=False)
        assert (answer.status_code, "Ada Lovelace" in answer.text) == (200, True)
        assert identities(app) == []
        assert confirm(admin, answer).location == "/profile/sign-on"
        assert "Ada Lovelace" in admin.get("/profile/sign-on").text
        assert log_in(client, provider, email_verified=False).status_code == 303
        assert client.get(f"{API}/auth/me").json["username"] == "ada"

    def test_it_is_the_login_that_the_page_shows(self, app, provider, admin):
        begun = "/profile/sign-on/begin"
        first = log_in(admin, provider, begun, sub="one", name="Ada Work")
        second = log_in(admin, provider, begun, sub="two", name="Someone Else")
        refused = confirm(admin, first, "wrong")
        for page, name in ((refused, "Ada Work"), (second, "Someone Else")):
            assert f"<strong>{name}</strong>" in page.text
        assert confirm(admin, refused).status_code == 303
        assert [row.subject for row in identities(app)] == ["one"]

    def test_no_other_site_links_one(self, app, provider, admin):
        sent = {"candidate": candidate_in(log_in(admin, provider, "/profile/sign-on/begin"))}
        sent["current_password"] = PASSWORD
        headers = {"Sec-Fetch-Site": "cross-site"}
        assert admin.post("/profile/sign-on", data=sent, headers=headers).status_code == 403
        assert identities(app) == []

    def test_a_login_is_linked_within_ten_minutes(self, app, provider, admin, monkeypatch):
        page = log_in(admin, provider, "/profile/sign-on/begin")
        late = now_ms() + 10 * 60_000
        monkeypatch.setattr(flow, "now_ms", lambda: late)
        assert confirm(admin, page).status_code == 409
        assert identities(app) == []

    def test_nobody_links_for_another(self, app, provider, admin):
        new_human(admin, "grace")
        grace = app.test_client()
        grace.post(f"{API}/auth/login", json={"username": "grace", "password": PASSWORD})
        # Only ada can finish what she began: grace's session cannot.
        asked = begin(admin, "/profile/sign-on/begin")
        grace.set_cookie(cookie_of(asked), admin.get_cookie(cookie_of(asked)).value)
        assert finish(grace, asked, provider, provider.grant(asked)).status_code == 422
        page = log_in(admin, provider, "/profile/sign-on/begin")
        assert candidate_in(page)
        assert confirm(grace, page).status_code == 409
        # The cookie of a login does not provide an account to link.
        asked = begin(grace, "/profile/sign-on/begin")
        sent = {"candidate": grace.get_cookie(cookie_of(asked)).value, "current_password": PASSWORD}
        assert grace.post("/profile/sign-on", data=sent).status_code == 409
        assert identities(app) == []

    def test_an_account_logs_one_person_in(self, app, provider, admin, linked):
        assert log_in(app.test_client(), provider).status_code == 303
        new_human(admin, "grace")
        grace = app.test_client()
        grace.post(f"{API}/auth/login", json={"username": "grace", "password": PASSWORD})
        page = log_in(grace, provider, "/profile/sign-on/begin")
        assert page.status_code == 200
        assert confirm(grace, page).status_code == 409

    def test_it_takes_the_password_as_a_session_could_be_stolen(self, app, provider, admin):
        page = log_in(admin, provider, "/profile/sign-on/begin")
        assert 'name="current_password"' in page.text
        assert 'name="code"' not in page.text
        for password, said in (("", "incorrect"), (f"{PASSWORD} no", "incorrect")):
            refused = confirm(admin, page, password)
            assert (refused.status_code, said in refused.text) == (422, True)
            assert "Link this login?" in refused.text
            assert "<strong>Ada Lovelace</strong>" in refused.text
        assert len(events(app, "auth.password.failure")) == 2
        assert identities(app) == []
        for _ in range(3):
            assert confirm(admin, page, "wrong").status_code == 422
        # Wrong ones count like failed logins.
        assert confirm(admin, page).status_code == 429
        assert identities(app) == []

    def test_it_takes_a_code_where_two_factor_authentication_is_on(self, app, provider, admin):
        recovery_code, *_ = turn_on_codes(admin)
        page = log_in(admin, provider, "/profile/sign-on/begin")
        assert 'name="code"' in page.text
        for code in ("", "x"):
            assert confirm(admin, page, code=code).status_code == 422
        assert identities(app) == []
        assert confirm(admin, page, code=recovery_code).status_code == 303

    def test_whoever_has_no_password_links_another(self, app, provider, linked, client):
        assert log_in(client, provider).status_code == 303
        write(app, update(User).values(password_hash=None))
        page = log_in(client, provider, "/profile/sign-on/begin", sub="subject-2")
        assert 'name="current_password"' not in page.text
        assert confirm(client, page).status_code == 303
        assert len(identities(app)) == 2

    def test_it_is_removed_with_its_sessions(self, app, provider, admin, linked, client, setting):
        assert log_in(client, provider).status_code == 303
        page = admin.get("/profile/sign-on").text
        path = page.partition('action="/profile/sign-on/')[2].partition('"')[0]
        setting("password_login", False)
        assert admin.post(f"/profile/sign-on/{path}").status_code == 409
        setting("password_login", True)
        assert admin.post(f"/profile/sign-on/{path}").status_code == 303
        assert identities(app) == []
        assert not is_logged_in(client)
        assert is_logged_in(admin)
        assert admin.post(f"/profile/sign-on/{path}").status_code == 404
        assert only(app, "user.identity_unlinked").payload == {"username": "ada"}


class TestOthers:
    """Teammates and operators see a person's linked logins, and remove them."""

    @pytest.fixture
    def two(self, app, provider, admin, linked):
        """Link two logins to ada; return a teammate's browser and one that each logged in."""
        new_human(admin, "grace")
        browsers = [app.test_client() for _ in range(2)]
        for number, browser in enumerate(browsers):
            name = f"Login {number}"
            assert log_in(browser, provider, sub=name, name=name).status_code == 303
        return logged_in(app, "grace"), *browsers

    def test_a_teammate_removes_all(self, app, admin, two):
        grace, *browsers = two
        assert "Linked logins: Login 0, Login 1" in grace.get("/people").text
        ada = admin.get(f"{API}/auth/me").json["id"]
        path = f"/people/{ada}/linked-logins/remove"
        assert path in grace.get("/people").text
        assert path not in admin.get("/people").text
        refused = admin.post(path)
        assert (refused.status_code, "in your profile" in refused.text) == (409, True)
        assert len(identities(app)) == 2
        assert "linked logins still log in" in grace.post(f"/people/{ada}/link").text
        back = {"back": "/people?cursor=x"}
        assert grace.post(path, data=back).location == "/people?cursor=x"
        assert identities(app) == []
        assert [is_logged_in(one) for one in (admin, *browsers)] == [True, False, False]
        assert "Linked logins" not in grace.get("/people").text
        # Nobody but grace did anything.
        by = {(one.actor_user_id, one.target_id) for one in events(app, "user.identity_unlinked")}
        assert by == {(grace.get(f"{API}/auth/me").json["id"], ada)}
        assert events(app, "auth.logout") == []

    def test_an_operator_removes_one_or_all(self, app, two):
        def flask(*args):
            result = app.test_cli_runner().invoke(args=["users", *args])
            return result.exit_code, result.output

        listed = flask("logins", "ada")[1].splitlines()
        assert [line.partition(" http://")[2].partition(" ")[2] for line in listed] == [
            "Login 0",
            "Login 1",
        ]
        shown = json.loads(flask("logins", "ada", "--json")[1].splitlines()[0])
        assert (shown["id"], shown["name"]) == (listed[0].split()[0], "Login 0")
        stay = "Linked logins of ada still log in. 'flask users remove-logins ada' removes them.\n"
        assert flask("reset-password", "ada", "--password", PASSWORD)[1].endswith(stay)
        assert flask("remove-logins", "ada", shown["id"]) == (0, "Removed 1 linked login of ada.\n")
        assert flask("remove-logins", "ada", shown["id"])[0] == 1
        assert [name for _, name, _ in identities(app)] == ["Login 1"]
        assert flask("remove-logins", "ada") == (0, "Removed 1 linked login of ada.\n")
        assert flask("remove-logins", "ada") == (0, "Removed 0 linked logins of ada.\n")
        assert flask("logins", "ada") == (0, "")
        assert {one.actor_kind for one in events(app, "user.identity_unlinked")} == {"system"}
        assert stay not in flask("reset-password", "ada", "--password", PASSWORD)[1]


class TestLogoutByTheProvider:
    """Back-Channel Logout 1.0."""

    PATH = "/auth/oidc/backchannel-logout"

    def send(self, client, token):
        return client.post(self.PATH, data={"logout_token": token})

    @pytest.fixture
    def two(self, app, provider, linked):
        """Return two browsers with two sessions of the provider."""
        browsers = [app.test_client() for _ in range(2)]
        for number, browser in enumerate(browsers):
            assert log_in(browser, provider, sid=f"session-{number}").status_code == 303
        return browsers

    def test_it_ends_all_sessions_of_a_subject_but_no_others(
        self, app, provider, admin, two, client
    ):
        answer = self.send(client, provider.logout_token())
        assert (answer.status_code, answer.headers["Cache-Control"]) == (200, "no-store")
        assert [is_logged_in(browser) for browser in two] == [False, False]
        # A session that began with a password does not belong to the provider.
        assert is_logged_in(admin)
        assert only(app, "auth.oidc.logout").payload == {"sessions": 2}

    @pytest.mark.parametrize("sub", ["subject-1", None])
    def test_it_ends_one_session(self, provider, two, client, sub):
        token = provider.logout_token(sub=sub, sid="session-1")
        assert self.send(client, token).status_code == 200
        assert [is_logged_in(browser) for browser in two] == [True, False]

    def test_its_token_may_have_no_end(self, provider, two, client):
        assert self.send(client, provider.logout_token(exp=None)).status_code == 200
        assert [is_logged_in(browser) for browser in two] == [False, False]

    def test_of_somebody_unknown_it_ends_nothing(self, provider, two, client):
        assert self.send(client, provider.logout_token(sub="another")).status_code == 200
        assert [is_logged_in(browser) for browser in two] == [True, True]

    @pytest.mark.one_database
    @cases(
        "changes, reason",
        [
            ({"nonce": "x"}, "nonce"),
            ({"events": {}}, "events"),
            ({"events": None}, "events"),
            ({"events": {"http://schemas.openid.net/event/other": {}}}, "events"),
            ({"events": ["http://schemas.openid.net/event/backchannel-logout"]}, "events"),
            ({"iss": "https://evil.example"}, "iss"),
            ({"aud": "another"}, "aud"),
            ({"exp": int(time.time()) - 3600}, "exp"),
            ({"iat": int(time.time()) - 7200}, "iat"),
            ({"iat": None}, "iat"),
            ({"sub": None}, "sub"),
            ({"sub": 5}, "sub"),
            ({"sid": ["session-1"]}, "sid"),
            ({"jti": None}, "jti"),
        ],
    )
    def test_what_is_no_logout_token_ends_nothing(self, provider, two, client, changes, reason):
        answer = self.send(client, provider.logout_token(**changes))
        assert (answer.status_code, answer.json["error_description"]) == (400, reason)
        assert [is_logged_in(browser) for browser in two] == [True, True]

    def test_a_token_works_once(self, app, provider, two, client):
        token = provider.logout_token(sub="another")
        assert self.send(client, token).status_code == 200
        answer = self.send(client, token)
        assert (answer.status_code, answer.json["error_description"]) == (400, "replayed")

    @cases("token", ["", "x", "a.b.c"])
    def test_nonsense_is_refused(self, provider, two, client, token):
        assert self.send(client, token).status_code == 400
        assert client.post(self.PATH).status_code == 400

    def test_an_id_token_is_no_logout_token(self, provider, two, client):
        answer = self.send(client, provider.signed(provider.claims("x", jti="y")))
        assert answer.json["error_description"] == "events"

    def test_used_tokens_are_swept(self, app, provider, two, client):
        def count():
            with app.app_context(), reading():
                return session.scalar(select(func.count()).select_from(UsedToken))

        assert count() == 2
        write(app, update(UsedToken).values(expires_at=0))
        app.test_cli_runner().invoke(args=["sweep"])
        assert count() == 0


def test_sessions_keep_no_session_of_the_provider_in_clear(app, provider, linked, client):
    assert log_in(client, provider, sid="a-session-of-the-provider").status_code == 303
    with app.app_context(), reading():
        rows = session.scalars(select(UserSession.provider_session_hash)).all()
    assert "a-session-of-the-provider" not in rows
    assert [len(row) for row in rows if row] == [64]


@pytest.mark.one_database
@pytest.mark.parametrize("character", ["x", "漢", '"'])
def test_the_cookies_of_all_logins_fit_into_one_header_line(provider, client, character):
    for length in (1000, 480, 240, 160):
        path = f"/login/oidc?next=/tickets?q={quote(character * length)}"
        names = [cookie_of(begin(client, path)) for _ in range(4)]
        # By default, nginx refuses lines of more than 8 KiB; other cookies need a part of it.
        assert sum(len(client.get_cookie(name).value) for name in names) < 4000
