"""The provider: its metadata and keys, cached for an hour per process, and its token responses."""

import threading
import time
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote, urlencode

from joserfc.jwk import KeySet
from requests.auth import HTTPBasicAuth

from app.config import Settings
from app.core.lanes import Lane, require
from app.sign_on import messages, tokens
from app.sign_on.requests import ProviderFailure, checked_address, get_json, post_form
from app.sign_on.tokens import Claims, ClientRefused, TokenRefused, UnknownKey

CACHED_SECONDS = 3600.0
# After an unknown key, the keys are read again, at most this often.
REREAD_SECONDS = 60.0
# The time after a failure in which no request is sent to the provider.
FAILED_SECONDS = 2.0
SCOPE = "openid email profile"
MAX_TOKEN_LENGTH = 16_384
# The claims that say whether an email address is confirmed; the second is Entra's.
CONFIRMATIONS = ("email_verified", "xms_edov")
# What providers say about wrong credentials of a client.
CLIENT_ERRORS = ("invalid_client", "unauthorized_client")
# What they say about a wrong code.
CODE_ERROR = "invalid_grant"


@dataclass(frozen=True, slots=True)
class Metadata:
    """The provider's metadata."""

    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str | None
    names_itself: bool
    # How the provider lets a client authenticate.
    by_basic: bool
    by_form: bool


@dataclass(frozen=True, slots=True)
class _Published:
    metadata: Metadata
    keys: KeySet
    read_at: float
    keys_read_at: float


class Provider:
    """One provider with one client registration."""

    def __init__(self, issuer: str, client_id: str, client_secret: str, user_agent: str) -> None:
        self.issuer = issuer
        self.client_id = client_id
        self._secret = client_secret
        self._user_agent = user_agent
        self._known: _Published | None = None
        self._failed_at = 0.0
        self._lock = threading.Lock()

    def metadata(self) -> Metadata:
        """The published metadata; raises ProviderFailure."""
        return self._current().metadata

    def _current(self) -> _Published:
        require(Lane.LONG)
        known = self._known
        if known is not None and time.monotonic() - known.read_at < CACHED_SECONDS:
            return known
        with self._lock:
            if self._known is not known and self._known is not None:
                return self._known
            if self._failed_at and time.monotonic() - self._failed_at < FAILED_SECONDS:
                raise ProviderFailure(messages.FAILED_JUST_NOW)
            try:
                metadata = self._read_metadata()
                keys = self._read_keys(metadata)
            except ProviderFailure:
                self._failed_at = time.monotonic()
                raise
            moment = time.monotonic()
            self._known = _Published(metadata, keys, moment, moment)
            return self._known

    def _read_metadata(self) -> Metadata:
        place = f"{self.issuer.rstrip('/')}/.well-known/openid-configuration"
        found = get_json(place, self._user_agent)
        if found.get("issuer") != self.issuer:
            raise ProviderFailure(messages.other_issuer(found.get("issuer")))
        methods = found.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
        return Metadata(
            authorization_endpoint=checked_address(
                found.get("authorization_endpoint"), "authorization_endpoint"
            ),
            token_endpoint=checked_address(found.get("token_endpoint"), "token_endpoint"),
            jwks_uri=checked_address(found.get("jwks_uri"), "jwks_uri"),
            userinfo_endpoint=(
                checked_address(found["userinfo_endpoint"], "userinfo_endpoint")
                if found.get("userinfo_endpoint")
                else None
            ),
            names_itself=found.get("authorization_response_iss_parameter_supported") is True,
            by_basic=not isinstance(methods, list) or "client_secret_basic" in methods,
            by_form=isinstance(methods, list) and "client_secret_post" in methods,
        )

    def _read_keys(self, metadata: Metadata) -> KeySet:
        try:
            return tokens.read_keys(get_json(metadata.jwks_uri, self._user_agent))
        except TokenRefused as error:
            raise ProviderFailure(messages.NO_USABLE_KEYS) from error

    def verified(self, token: str) -> Claims:
        """The claims of a token it signed; raises TokenRefused, ProviderFailure.

        A key that is not known may be new: the keys are then read again, at most once a minute.
        """
        known = self._current()
        try:
            return tokens.verified(token, known.keys)
        except UnknownKey:
            renewed = self._renew(known)
            if renewed is known:
                raise
            return tokens.verified(token, renewed.keys)

    def _renew(self, known: _Published) -> _Published:
        with self._lock:
            current = self._known or known
            if current is not known:
                return current
            if time.monotonic() - known.keys_read_at < REREAD_SECONDS:
                return known
            # Record the time first, so that not everyone sends requests to a failing provider.
            self._known = replace(known, keys_read_at=time.monotonic())
            self._known = replace(self._known, keys=self._read_keys(known.metadata))
            return self._known

    def login_address(self, *, callback: str, state: str, nonce: str, challenge: str) -> str:
        """The address to which the browser is sent to log in."""
        endpoint = self.metadata().authorization_endpoint
        query = urlencode(
            {
                "response_type": "code",
                "client_id": self.client_id,
                "redirect_uri": callback,
                "scope": SCOPE,
                "state": state,
                "nonce": nonce,
                "code_challenge": challenge,
                "code_challenge_method": "S256",
            },
            quote_via=quote,
        )
        return f"{endpoint}{'&' if '?' in endpoint else '?'}{query}"

    def redeem(
        self, code: str, *, verifier: str, callback: str, nonce: str, now: int
    ) -> tuple[Claims, ProviderFailure | None]:
        """The claims of the person with this code; raises TokenRefused, ProviderFailure.

        Those of the userinfo endpoint are added if the ID token does not say whether the provider
        confirmed an email address; also returns why they are missing.
        """
        metadata = self.metadata()
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": callback,
            "code_verifier": verifier,
        }
        answer = self._token_response(metadata, form)
        token = answer.get("id_token")
        if not isinstance(token, str):
            raise TokenRefused("no_id_token")
        claims = self.verified(token)
        tokens.check_id_token(
            claims, issuer=self.issuer, client_id=self.client_id, nonce=nonce, now=now
        )
        access = answer.get("access_token")
        is_complete = "email" in claims and any(name in claims for name in CONFIRMATIONS)
        if is_complete or metadata.userinfo_endpoint is None or not _is_token(access):
            return claims, None
        # Whoever is known needs no confirmed address.
        may_do_without = "email" in claims
        try:
            more = get_json(metadata.userinfo_endpoint, self._user_agent, token=str(access))
        except ProviderFailure as error:
            if may_do_without:
                return claims, error
            raise
        if more.get("sub") != claims["sub"]:
            if may_do_without:
                return claims, None
            raise TokenRefused("userinfo")
        # A confirmation is about the address beside it.
        of_email = ("email", *CONFIRMATIONS)
        own = {name: one for name, one in claims.items() if name not in of_email}
        return {**more, **own}, None

    def _token_response(self, metadata: Metadata, form: dict[str, str]) -> dict[str, Any]:
        """The response of the token endpoint; raises TokenRefused, ProviderFailure."""
        if metadata.by_basic:
            # RFC 6749, 2.3.1: URL-encode both first.
            auth = HTTPBasicAuth(quote(self.client_id, safe=""), quote(self._secret, safe=""))
            try:
                return self._redeemed(metadata.token_endpoint, form, auth)
            except ClientRefused:
                # Some providers do not decode them, or know this client by the form alone.
                if not metadata.by_form:
                    raise
        credentials = {"client_id": self.client_id, "client_secret": self._secret}
        return self._redeemed(metadata.token_endpoint, form | credentials, None)

    def _redeemed(
        self, endpoint: str, form: dict[str, str], auth: HTTPBasicAuth | None
    ) -> dict[str, Any]:
        try:
            return post_form(endpoint, self._user_agent, form, auth)
        except ProviderFailure as error:
            # Some providers refuse the code, too, with 401.
            if error.error in CLIENT_ERRORS or (error.status == 401 and error.error != CODE_ERROR):
                raise ClientRefused("code") from error
            if error.status in (400, 401, 403):
                raise TokenRefused("code") from error
            raise

    def logout_claims(self, token: str, now: int) -> Claims:
        """The claims of a logout token; raises TokenRefused, ProviderFailure."""
        claims = self.verified(token)
        tokens.check_logout_token(claims, issuer=self.issuer, client_id=self.client_id, now=now)
        return claims


def _is_token(value: Any) -> bool:
    return (
        isinstance(value, str)
        and value.isascii()
        and value.isprintable()
        and (0 < len(value) <= MAX_TOKEN_LENGTH)
    )


_made: dict[tuple[str, str, str, str], Provider] = {}
_making = threading.Lock()


def provider_of(settings: Settings) -> Provider:
    """The provider of these settings, one for each process."""
    key = (
        settings.oidc_issuer,
        settings.oidc_client_id,
        settings.oidc_client_secret,
        settings.user_agent,
    )
    with _making:
        if key not in _made:
            _made.clear()
            _made[key] = Provider(*key)
        return _made[key]


def forget() -> None:
    """Discard the cached metadata and keys."""
    with _making:
        _made.clear()
