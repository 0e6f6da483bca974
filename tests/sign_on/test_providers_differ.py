"""What providers do in different ways, and what the log says where they fail."""

import pytest

from app.accounts.throttle import LIMIT
from app.sign_on.provider import forget
from tests.sign_on.conftest import begin, finish, log_in, reasons
from tests.sign_on.provider import CLIENT, SECRET, with_public_key_as_secret

BOTH = ["client_secret_basic", "client_secret_post"]
CONFIRMED = {"sub": "subject-1", "email": "ada@example.org", "email_verified": True}


class TestCredentials:
    """They are URL-encoded in the header (RFC 6749, 2.3.1), which not all providers decode."""

    @pytest.fixture(autouse=True)
    def _refuses_the_header(self, provider):
        provider.takes_basic = False

    @pytest.mark.one_database
    def test_they_are_sent_in_the_form_if_the_header_is_refused(self, provider, linked, client):
        provider.metadata["token_endpoint_auth_methods_supported"] = BOTH
        assert log_in(client, provider).status_code == 303
        _, (headers, form) = provider.forms
        assert "Authorization" not in headers
        assert (form["client_id"], form["client_secret"]) == (CLIENT, SECRET)

    @pytest.mark.parametrize("methods", [["client_secret_basic"], None])
    @pytest.mark.one_database
    def test_they_are_not_where_the_provider_takes_no_form(self, provider, linked, client, methods):
        if methods:
            provider.metadata["token_endpoint_auth_methods_supported"] = methods
        assert log_in(client, provider).status_code == 422
        assert len(provider.forms) == 1

    @pytest.mark.one_database
    def test_a_wrong_code_is_none_of_them_whatever_its_status(self, app, provider, linked, client):
        provider.metadata["token_endpoint_auth_methods_supported"] = BOTH
        provider.instead["/token"] = lambda one: one.say({"error": "invalid_grant"}, 401)
        for _ in range(LIMIT):
            assert log_in(client, provider).status_code == 422
        assert len(provider.forms) == LIMIT
        assert log_in(client, provider).status_code == 429

    def test_wrong_ones_count_for_nobody(self, app, provider, linked, client):
        for _ in range(LIMIT + 1):
            assert log_in(client, provider).status_code == 422
        assert reasons(app) == ["token_code"] * (LIMIT + 1)
        provider.takes_basic = True
        assert log_in(client, provider).status_code == 303


@pytest.mark.one_database
class TestConfirmedAddress:
    """An ID token may have the address, and the userinfo endpoint that it is confirmed."""

    def test_it_may_be_confirmed_at_the_userinfo_endpoint(self, provider, linked, client):
        provider.userinfo = CONFIRMED
        assert log_in(client, provider, email_verified=None).status_code == 303

    def test_a_confirmation_is_about_the_address_beside_it(self, app, provider, linked, client):
        provider.userinfo = CONFIRMED | {"email": "eve@example.org"}
        assert log_in(client, provider, email_verified=None).status_code == 422
        provider.userinfo = CONFIRMED | {"email_verified": None}
        assert log_in(client, provider, email=None).status_code == 422
        assert reasons(app) == ["not_admitted"] * 2

    def test_without_the_userinfo_endpoint_the_provider_fails(
        self, app, provider, linked, client, caplog
    ):
        provider.instead["/userinfo"] = lambda handler: handler.say({}, 500)
        for _ in range(LIMIT + 1):
            assert log_in(client, provider, email_verified=None).status_code == 422
        assert reasons(app) == ["provider"] * (LIMIT + 1)
        assert caplog.records[-1].cause == f"status 500 from {provider.issuer}/userinfo"

    def test_whoever_is_known_needs_none(self, app, provider, linked, client):
        assert log_in(client, provider).status_code == 303
        for response in (({}, 500), ({"sub": "subject-2"},)):
            provider.instead["/userinfo"] = lambda handler, said=response: handler.say(*said)
            browser = app.test_client()
            assert log_in(browser, provider, email_verified=None).status_code == 303


@pytest.mark.one_database
class TestLog:
    """It says what the page leaves out."""

    @pytest.fixture
    def causes(self, caplog):
        return lambda: [(one.levelname, one.reason, one.cause) for one in caplog.records]

    @pytest.mark.parametrize(
        ("path", "response", "reason", "said"),
        [
            ("/token", ({"error": "invalid_client"}, 401), "token_code", ": invalid_client"),
            (
                "/token",
                ({"error": "unauthorized_client"}, 403),
                "token_code",
                ": unauthorized_client",
            ),
            ("/token", ({"error": "invalid_code"}, 403), "token_code", ": invalid_code"),
            ("/token", ({"error": ["x"]}, 500), "provider", ""),
            ("/token", (b"<html>", 502), "provider", ""),
            ("/userinfo", ({}, 403), "provider", ""),
        ],
    )
    def test_it_names_the_address_and_the_error(
        self, provider, linked, client, causes, path, response, reason, said
    ):
        provider.instead[path] = lambda handler: handler.say(*response)
        assert log_in(client, provider, email=None).status_code == 422
        cause = f"status {response[1]} from {provider.issuer}{path}{said}"
        assert causes() == [("WARNING", reason, cause)]

    def test_it_says_what_was_no_json(self, provider, linked, client, causes):
        provider.instead["/userinfo"] = lambda handler: handler.say(b"eyJhbGciOiJSUzI1NiJ9.e30.")
        assert log_in(client, provider, email=None).status_code == 422
        cause = f"the response from {provider.issuer}/userinfo is not a JSON object"
        assert causes() == [("WARNING", "provider", cause)]

    def test_it_says_what_is_wrong_with_a_token(self, provider, linked, client, causes):
        assert log_in(client, provider, iat=1).status_code == 422
        asked = begin(client)
        token = with_public_key_as_secret(provider.signed(provider.claims(asked["nonce"])))
        assert finish(client, asked, provider, provider.grant(asked, token)).status_code == 422
        (first, (_, reason, cause)) = causes()
        assert first == ("WARNING", "token_iat", "iat")
        assert (reason, "HS256 is not allowed" in cause) == ("token_signature", True)

    def test_it_says_why_no_login_began(self, provider, client, causes):
        provider.metadata["issuer"] = "https://other.example"
        forget()
        assert client.get("/login/oidc").status_code == 422
        cause = "its metadata names another issuer: 'https://other.example'"
        assert causes() == [("WARNING", "provider", cause)]

    def test_it_has_the_error_of_the_provider(self, provider, client, causes):
        asked = begin(client)
        assert finish(client, asked, provider, None, error="invalid_scope").status_code == 422
        assert causes() == [("WARNING", "denied", "invalid_scope")]
