"""Logging in at a provider: who gets in as whom, and hostile responses."""

import time
from urllib.parse import urlsplit

import pytest
from sqlalchemy import select, update

from app.accounts.models import User
from app.config import Admission
from app.database.session import reading, session
from app.sign_on import provider as providers
from tests.accounts.helpers import API, at_once, events, new_human, only, try_login, write
from tests.sign_on.conftest import (
    CALLBACK,
    begin,
    cookie_of,
    finish,
    identities,
    is_logged_in,
    log_in,
    reasons,
)
from tests.sign_on.provider import CLIENT, KEYS, with_public_key_as_secret


def test_a_person_with_the_same_confirmed_address_is_logged_in(app, provider, linked, client):
    asked = begin(client, "/login/oidc?next=/tickets")
    assert asked["scope"] == "openid email profile"
    assert (asked["response_type"], asked["code_challenge_method"]) == ("code", "S256")
    assert (asked["client_id"], urlsplit(asked["redirect_uri"]).path) == (CLIENT, CALLBACK)
    answer = finish(client, asked, provider, provider.grant(asked))
    assert (answer.status_code, answer.location) == (303, "/tickets")
    assert client.get(f"{API}/auth/me").json["username"] == "ada"
    assert client.get_cookie(cookie_of(asked)) is None
    assert identities(app) == [(provider.issuer, "subject-1", "ada")]
    assert only(app, "auth.oidc.success").payload == {"username": "ada"}
    assert only(app, "user.identity_linked").payload == {"username": "ada"}


def test_the_account_is_known_by_its_subject_from_then_on(app, provider, linked, client):
    assert log_in(client, provider).status_code == 303
    other = app.test_client()
    answer = log_in(other, provider, email="another@example.org", email_verified=False)
    assert answer.status_code == 303
    assert other.get(f"{API}/auth/me").json["username"] == "ada"
    # A second account with a linked person's address belongs to that person too.
    assert log_in(app.test_client(), provider, sub="subject-2").status_code == 303
    assert len(identities(app)) == 2


def test_the_cookie_of_a_login_is_for_this_browser_and_short(provider, client):
    answer = client.get("/login/oidc")
    (cookie,) = answer.headers.getlist("Set-Cookie")
    assert cookie.startswith("app_oidc_")
    for attribute in ("HttpOnly", "SameSite=Lax", "Max-Age=600"):
        assert attribute in cookie
    assert "state" not in cookie


def test_without_a_provider_there_is_no_such_page(app, admin, client):
    for path in ("/login/oidc", CALLBACK):
        assert client.get(path).status_code == 404
    for path in ("/profile/sign-on", "/profile/sign-on/begin"):
        assert admin.get(path).status_code == 404
    assert client.post("/auth/oidc/backchannel-logout").status_code == 404
    assert "single sign-on" not in client.get("/login").text
    assert "single sign-on" not in admin.get("/profile").text


def test_the_client_secret_is_sent_as_the_provider_wants_it(app, provider, linked, client):
    assert log_in(client, provider).status_code == 303
    headers, form = provider.forms[-1]
    assert headers["Authorization"].startswith("Basic ")
    assert "client_secret" not in form
    provider.metadata["token_endpoint_auth_methods_supported"] = ["client_secret_post"]
    providers.forget()
    assert log_in(app.test_client(), provider).status_code == 303
    headers, form = provider.forms[-1]
    assert "Authorization" not in headers
    assert form["client_id"] == CLIENT


@pytest.mark.parametrize("alg", ["RS256", "ES256", "PS256", "EdDSA"])
def test_these_algorithms_are_accepted(app, provider, linked, client, alg):
    asked = begin(client)
    token = provider.signed(provider.claims(asked["nonce"]), alg)
    assert finish(client, asked, provider, provider.grant(asked, token)).status_code == 303


HOSTILE = {
    "another nonce": {"nonce": "another"},
    "no nonce": {"nonce": None},
    "another issuer": {"iss": "https://evil.example"},
    "no issuer": {"iss": None},
    "another audience": {"aud": "another-client"},
    "no audience": {"aud": None},
    "an audience of numbers": {"aud": [CLIENT, 5], "azp": CLIENT},
    "several audiences without azp": {"aud": [CLIENT, "another"]},
    "another azp": {"aud": [CLIENT, "another"], "azp": "another"},
    "expired": {"exp": int(time.time()) - 3600},
    "expiry as text": {"exp": "soon"},
    "expiry without end": {"exp": float("inf")},
    "expiry as flag": {"exp": True},
    "no expiry": {"exp": None},
    "not yet valid": {"nbf": int(time.time()) + 3600},
    "issued in the future": {"iat": int(time.time()) + 3600},
    "issued long ago": {"iat": int(time.time()) - 7200},
    "no time of issue": {"iat": None},
    "no subject": {"sub": None},
    "a subject of another kind": {"sub": 5},
    "an endless subject": {"sub": "x" * 300},
    "a subject with control characters": {"sub": "a\u0000b"},
}


@pytest.mark.one_database
@pytest.mark.parametrize("name", HOSTILE)
def test_a_token_that_says_something_else_lets_nobody_in(app, provider, linked, client, name):
    answer = log_in(client, provider, **HOSTILE[name])
    assert (answer.status_code, "did not log you in" in answer.text) == (422, True)
    assert not is_logged_in(client)
    (reason,) = reasons(app)
    assert reason.startswith("token_")
    assert identities(app) == []


def changed(provider, claims):
    head, _, tail = provider.signed(claims).split(".")
    return f"{head}.{provider.signed(claims | {'sub': 'admin'}).split('.')[1]}.{tail}"


def by_a_stranger(provider, claims):
    return provider.signed(claims, key=type(KEYS["RS256"]).generate_key(2048, {"kid": "rsa"}))


FORGED = {
    "none": lambda provider, claims: (
        f"eyJhbGciOiJub25lIn0.{provider.signed(claims).split('.')[1]}."
    ),
    "HS256 with the public key": lambda provider, claims: with_public_key_as_secret(
        provider.signed(claims)
    ),
    "a key of somebody else": by_a_stranger,
    "RS512": lambda provider, claims: provider.signed(claims, "RS512", KEYS["RS256"]),
    "the key of another algorithm": lambda provider, claims: provider.signed(
        claims, "ES256", KEYS["ES256"], kid="rsa"
    ),
    "a key that is not published": lambda provider, claims: provider.signed(claims, kid="gone"),
    "a changed claim": changed,
    "words": lambda *_: "not a token",
    "dots": lambda *_: "..",
    "long": lambda *_: "x" * 100_000,
}


@pytest.mark.one_database
@pytest.mark.parametrize("kind", FORGED)
def test_a_token_that_the_provider_did_not_sign_lets_nobody_in(app, provider, linked, client, kind):
    asked = begin(client)
    token = FORGED[kind](provider, provider.claims(asked["nonce"]))
    answer = finish(client, asked, provider, provider.grant(asked, token))
    assert answer.status_code == 422
    assert not is_logged_in(client)
    assert reasons(app)[0].startswith("token_")


def test_a_code_is_redeemed_once(app, provider, linked, client):
    asked = begin(client)
    code = provider.grant(asked)
    assert finish(client, asked, provider, code).status_code == 303
    other = app.test_client()
    again = begin(other)
    assert finish(other, again, provider, code).status_code == 422
    assert reasons(app) == ["token_code"]


def test_a_state_is_used_once(app, provider, linked, client):
    asked = begin(client)
    cookie = client.get_cookie(cookie_of(asked)).value
    assert finish(client, asked, provider, provider.grant(asked)).status_code == 303
    client.delete_cookie("app_session")
    client.set_cookie(cookie_of(asked), cookie)
    assert finish(client, asked, provider, provider.grant(asked)).status_code == 422
    assert reasons(app) == ["replayed"]


def test_the_state_of_another_browser_is_refused(app, provider, linked, client):
    attacker = app.test_client()
    asked = begin(attacker)
    code = provider.grant(asked)
    # The victim has started no login, or a different one.
    assert finish(client, asked, provider, code).status_code == 422
    begin(client)
    assert finish(client, asked, provider, code).status_code == 422
    assert not is_logged_in(client)
    assert reasons(app) == []
    assert provider.forms == []


def test_a_code_for_another_browser_fails_at_its_challenge(app, provider, linked, client):
    stolen = provider.grant(begin(app.test_client()))
    asked = begin(client)
    assert finish(client, asked, provider, stolen).status_code == 422
    assert not is_logged_in(client)


def test_a_login_that_took_too_long_is_refused(app, provider, linked, client, monkeypatch):
    asked = begin(client)
    later = int(time.time() * 1000) + 11 * 60_000
    monkeypatch.setattr("app.sign_on.flow.now_ms", lambda: later)
    assert finish(client, asked, provider, provider.grant(asked)).status_code == 422
    assert reasons(app) == []


@pytest.mark.parametrize("named", [None, "https://evil.example", ""])
def test_the_answer_of_another_provider_is_refused(app, provider, linked, client, named):
    asked = begin(client)
    answer = finish(client, asked, provider, provider.grant(asked), iss=named)
    assert answer.status_code == 422
    assert reasons(app) == ["issuer"]
    assert provider.forms == []


def test_a_provider_that_does_not_name_itself_may_leave_it_out(app, provider, linked, client):
    del provider.metadata["authorization_response_iss_parameter_supported"]
    asked = begin(client)
    assert finish(client, asked, provider, provider.grant(asked), iss=None).status_code == 303


def test_an_error_of_the_provider_is_not_repeated(app, provider, linked, client):
    asked = begin(client)
    answer = finish(client, asked, provider, None, error="<b>access_denied</b>")
    assert (answer.status_code, "access_denied" in answer.text) == (422, False)
    assert reasons(app) == ["denied"]


def test_an_address_that_was_not_confirmed_is_nobodys(app, provider, linked, client):
    for claims in ({"email_verified": False}, {"email_verified": None}, {"email": "Ada"}):
        assert log_in(client, provider, **claims).status_code == 422
    assert set(reasons(app)) == {"not_admitted"}


def test_an_address_that_is_not_confirmed_here_is_nobodys(app, provider, client):
    """Anyone could have entered another person's address as their own."""
    write(app, update(User).values(email="ada@example.org"))
    assert log_in(client, provider).status_code == 422
    assert reasons(app) == ["not_admitted"]


def test_entra_confirms_addresses_by_a_claim_of_its_own(provider, linked, client):
    claims = {"email_verified": None, "xms_edov": "1"}
    assert log_in(client, provider, **claims).status_code == 303


def test_only_allowed_domains_get_in(app, provider, linked, client, setting):
    setting("oidc_allowed_domains", "example.com,example.net")
    assert log_in(client, provider).status_code == 422
    assert log_in(client, provider, email_verified=False).status_code == 422
    setting("oidc_allowed_domains", "example.org")
    assert log_in(client, provider).status_code == 303
    # The domain is checked at each login.
    setting("oidc_allowed_domains", "example.com")
    assert log_in(app.test_client(), provider).status_code == 422
    assert log_in(app.test_client(), provider, email="x@sub.example.com").status_code == 422
    assert reasons(app) == ["domain", "email", "domain", "domain"]


def test_a_deactivated_person_stays_out(app, provider, linked, admin, client):
    assert log_in(client, provider).status_code == 303
    new_human(admin, "grace")
    write(app, update(User).where(User.username == "ada").values(is_active=False))
    other = app.test_client()
    assert log_in(other, provider).status_code == 422
    assert log_in(other, provider, sub="subject-2").status_code == 422
    assert reasons(app) == ["inactive", "inactive"]


def test_all_are_admitted_if_the_settings_say_so(app, provider, admin, client, setting):
    setting("oidc_admit", Admission.ALL)
    for number, wished in enumerate(("Ada", "ada", "me", "<b>", None), 1):
        browser = app.test_client()
        address = f"p{number}@example.org"
        claims = {"sub": f"s{number}", "email": address, "preferred_username": wished}
        assert log_in(browser, provider, **claims).status_code == 303
    with app.app_context(), reading():
        rows = session.execute(select(User.username, User.email).order_by(User.id)).all()
    assert rows == [
        ("ada", None),
        ("ada-2", "p1@example.org"),
        ("ada-3", "p2@example.org"),
        ("person", "p3@example.org"),
        ("person-2", "p4@example.org"),
        ("p5", "p5@example.org"),
    ]
    # They are members, not invited people who never came.
    page = admin.get("/people").text
    assert ("Invite expired" in page, page.count("Reset password")) == (False, 5)
    unconfirmed = log_in(client, provider, sub="s6", email_verified=False)
    assert (unconfirmed.status_code, reasons(app)) == (422, ["email"])


def test_nobody_is_admitted_before_the_first_admin(app, provider, client, setting, database):
    setting("oidc_admit", Admission.ALL)
    database.empty()
    assert log_in(client, provider).status_code == 422
    assert client.get(f"{API}/setup/status").json["needs_setup"] is True


def test_the_address_may_come_from_the_userinfo_endpoint(app, provider, linked, client):
    provider.userinfo = {"sub": "subject-1", "email": "ada@example.org", "email_verified": True}
    assert log_in(client, provider, email=None, email_verified=None).status_code == 303
    provider.userinfo["sub"] = "subject-2"
    other = app.test_client()
    assert log_in(other, provider, email=None, sub="subject-3").status_code == 422
    assert reasons(app) == ["token_userinfo"]


@pytest.mark.parametrize(
    "claims",
    [
        {"sid": "\ud800"},
        {"sid": 5},
        {"name": "\ud800"},
        {"name": ["Ada"]},
        {"preferred_username": "\x00\ud800"},
        {"preferred_username": "x" * 5000, "name": "y" * 5000},
        {"email": "\ud800@example.org"},
        {"email": ["ada@example.org"]},
        {"email_verified": {"yes": True}},
    ],
)
def test_odd_values_break_nothing(app, provider, linked, client, setting, claims):
    setting("oidc_admit", Admission.ALL)
    assert log_in(client, provider, **claims).status_code in (303, 422)


def test_failures_count_for_their_address(app, provider, linked, client):
    for _ in range(5):
        assert log_in(client, provider, nonce="another").status_code == 422
    answer = log_in(client, provider)
    assert (answer.status_code, "Too many attempts" in answer.text) == (429, True)
    assert "Retry-After" in answer.headers


def test_answers_to_no_login_of_this_browser_lock_nobody_out(app, provider, linked, client):
    """Any web page can have its visitors request them."""
    recorded = len(events(app))
    for number in range(6):
        if number == 3:
            begin(client)
        assert client.get(f"{CALLBACK}?state=x&code=y").status_code == 422
    # Strangers cannot flood the log.
    assert len(events(app)) == recorded
    assert try_login(app.test_client(), "ada").status_code == 200
    assert log_in(client, provider).status_code == 303


def test_two_tabs_log_in_at_a_time(provider, linked, client):
    first, second = begin(client), begin(client, "/login/oidc?next=/tickets")
    for asked, target in ((second, "/tickets"), (first, "/")):
        answer = finish(client, asked, provider, provider.grant(asked))
        assert (answer.status_code, answer.location) == (303, target)
        assert client.get_cookie(cookie_of(asked)) is None
    assert is_logged_in(client)


def test_an_answer_to_another_login_ends_none(app, provider, linked, client):
    asked, foreign = begin(client), begin(app.test_client())
    assert finish(client, foreign, provider, provider.grant(foreign)).status_code == 422
    assert finish(client, asked, provider, provider.grant(asked)).status_code == 303


def test_a_browser_keeps_the_cookies_of_few_logins(provider, linked, client):
    *gone, kept = [begin(client) for _ in range(5)]
    assert [client.get_cookie(cookie_of(one)) is None for one in gone] == [True, *[False] * 3]
    assert finish(client, kept, provider, provider.grant(kept)).status_code == 303


def test_two_first_logins_at_once_make_one_identity(app, provider, linked):
    browsers = [app.test_client() for _ in range(2)]
    asked = [begin(browser) for browser in browsers]
    answers = at_once(
        2,
        lambda number: (
            finish(
                browsers[number], asked[number], provider, provider.grant(asked[number])
            ).status_code
        ),
    )
    assert answers == [303, 303]
    assert len(identities(app)) == 1
