"""A slow, broken or hostile provider lets nobody in and delays nobody."""

import time
from dataclasses import replace

import pytest

from app.commands.doctor import _sign_on
from app.sign_on.provider import forget
from tests.sign_on.conftest import (
    begin,
    finish,
    is_logged_in,
    log_in,
    reasons,
)
from tests.sign_on.provider import KEYS


def drops(handler):
    handler.send_response(200)
    handler.end_headers()
    for _ in range(20):
        time.sleep(0.05)
        try:
            handler.wfile.write(b" ")
        except OSError:
            return


@pytest.mark.one_database
class TestProviderThatFails:
    """Responses that are long, slow, redirected or nonsense, at each address."""

    BAD = {
        "500": lambda handler: handler.say({}, 500),
        "redirect": lambda handler: handler.say({}, 302, [("Location", "/jwks")]),
        "long": lambda handler: handler.say(b'"' + b"x" * 2_000_000 + b'"'),
        "no JSON": lambda handler: handler.say(b"<html>"),
        "no object": lambda handler: handler.say([]),
        "slow": lambda handler: time.sleep(0.6),
        "drops": drops,
        "cut": lambda handler: handler.wfile.write(
            b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"
        ),
    }

    @pytest.mark.parametrize("kind", BAD)
    @pytest.mark.parametrize("path", ["/.well-known/openid-configuration", "/jwks", "/token"])
    def test_it_is_said_and_counts_for_nobody(self, app, provider, linked, client, kind, path):
        if path == "/token":
            asked = begin(client)
            provider.instead[path] = self.BAD[kind]
            answer = finish(client, asked, provider, provider.grant(asked))
            assert reasons(app) == ["provider"]
        else:
            provider.instead[path] = self.BAD[kind]
            answer = client.get("/login/oidc")
        assert (answer.status_code, "did not respond" in answer.text) == (422, True)
        assert not is_logged_in(client)

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("issuer", "https://evil.example"),
            ("issuer", None),
            ("token_endpoint", "http://evil.example/token"),
            ("token_endpoint", "file:///etc/passwd"),
            ("token_endpoint", None),
            ("jwks_uri", "http://169.254.169.254/keys"),
            ("jwks_uri", "https://user@evil.example/"),
            ("authorization_endpoint", "javascript:alert(1)"),
            ("userinfo_endpoint", "http://[::2]/"),
            ("authorization_endpoint", ["https://login.example"]),
        ],
    )
    def test_metadata_that_leads_elsewhere_is_refused(self, provider, client, name, value):
        provider.metadata[name] = value
        assert client.get("/login/oidc").status_code == 422

    @pytest.mark.parametrize(
        "keys", [{"keys": []}, {"keys": "x"}, {}, {"keys": [{}] * 60}, {"keys": [{"kty": "oct"}]}]
    )
    def test_a_provider_without_usable_keys_is_refused(self, provider, client, keys):
        provider.instead["/jwks"] = lambda handler: handler.say(keys)
        assert client.get("/login/oidc").status_code == 422

    def test_what_it_publishes_is_read_once(self, app, provider, linked):
        for _ in range(3):
            assert log_in(app.test_client(), provider).status_code == 303
        assert provider.asked.count("/jwks") == 1
        assert provider.asked.count("/.well-known/openid-configuration") == 1

    @pytest.mark.parametrize("kid", ["new", "rsa"])
    def test_new_keys_are_read_at_most_once_a_minute(self, app, provider, linked, monkeypatch, kid):
        assert log_in(app.test_client(), provider).status_code == 303
        new = type(KEYS["RS256"]).generate_key(2048, {"kid": kid})
        provider.keys = [new]
        asked = begin(browser := app.test_client())
        token = provider.signed(provider.claims(asked["nonce"]), key=new)
        # The keys were read a moment ago, so they are not read again.
        assert finish(browser, asked, provider, provider.grant(asked, token)).status_code == 422
        monkeypatch.setattr("app.sign_on.provider.REREAD_SECONDS", 0.0)
        asked = begin(browser := app.test_client())
        token = provider.signed(provider.claims(asked["nonce"]), key=new)
        assert finish(browser, asked, provider, provider.grant(asked, token)).status_code == 303
        assert provider.asked.count("/jwks") == 2


def test_the_doctor_says_whether_the_provider_answers(app, provider):
    settings = app.config["SETTINGS"]
    (found,) = _sign_on(settings)
    assert (found.message, found.remedy) == (provider.issuer, "")
    forget()
    provider.metadata["issuer"] = "https://other.example"
    (found,) = _sign_on(settings)
    assert (found.mark, "another issuer: 'https://other.example'" in found.message) == (
        "FAIL",
        True,
    )
    assert list(_sign_on(replace(settings, oidc_issuer=""))) == []
