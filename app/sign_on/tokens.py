"""Checking ID tokens and logout tokens: signature, algorithm, issuer, audience, times, nonce.

Pure rules; ``provider.py`` has the keys.
"""

from collections.abc import Mapping
from typing import Any

from joserfc import errors, jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet
from joserfc.jws import JWSRegistry

# Never ``none``, and no algorithm with a shared key.
ALGORITHMS = ("RS256", "ES256", "PS256", "EdDSA", "Ed25519")
LEEWAY = 60
MAX_TOKEN_LENGTH = 32 * 1024
# How old an ID token or a logout token may be, in seconds.
OLDEST = 600
LOGOUT_EVENT = "http://schemas.openid.net/event/backchannel-logout"
MAX_KEYS = 50

Claims = Mapping[str, Any]


class _Algorithms(JWSRegistry):
    """Only these algorithms; the library warns of EdDSA, whose new name few providers use yet."""

    def get_alg(self, name: str) -> Any:
        if name not in ALGORITHMS:
            raise errors.UnsupportedAlgorithmError(f"{name} is not allowed")
        return self.algorithms[name]


# Unknown header parameters are ignored, unless they are critical (RFC 7515, 4).
_REGISTRY = _Algorithms(strict_check_header=False)


class TokenRefused(Exception):
    """A token that must not be accepted; the message is for the audit log."""


class ClientRefused(TokenRefused):
    """The provider does not accept the credentials of this installation."""


class UnknownKey(TokenRefused):
    """No published key signed it; the provider may have new ones."""


def read_keys(published: Mapping[str, Any]) -> KeySet:
    """The keys of a JWKS that can verify one of the algorithms; raises TokenRefused."""
    listed = published.get("keys")
    if not isinstance(listed, list) or len(listed) > MAX_KEYS:
        raise TokenRefused("keys")
    found = []
    for one in listed:
        is_key = isinstance(one, dict) and one.get("kty") in ("RSA", "EC", "OKP")
        if not is_key or one.get("use", "sig") != "sig":
            continue
        # Only the public part, even if more was published.
        public = {
            name: one[name] for name in ("kty", "kid", "n", "e", "crv", "x", "y") if name in one
        }
        try:
            found += KeySet.import_key_set({"keys": [public]}).keys
        except (JoseError, ValueError, TypeError, KeyError):
            continue
    if not found:
        raise TokenRefused("keys")
    return KeySet(found)


def verified(token: str, keys: KeySet) -> Claims:
    """The claims of a token that one of these keys signed; raises TokenRefused, UnknownKey."""
    if len(token) > MAX_TOKEN_LENGTH:
        raise TokenRefused("too_long")
    try:
        found = jwt.decode(token, keys, registry=_REGISTRY)
    except errors.InvalidKeyIdError as error:
        raise UnknownKey("unknown_key") from error
    except errors.BadSignatureError as error:
        # A new key need not have a new id, or any.
        raise UnknownKey("signature") from error
    except (JoseError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise TokenRefused("signature") from error
    return found.claims


def check_id_token(claims: Claims, *, issuer: str, client_id: str, nonce: str, now: int) -> None:
    """Check the claims of an ID token by OpenID Connect Core 3.1.3.7; raises TokenRefused."""
    _check_common(claims, issuer, client_id, now)
    _check_end(claims, now)
    _text(claims, "sub")
    audience = claims["aud"]
    if isinstance(audience, list) and len(audience) > 1 and "azp" not in claims:
        raise TokenRefused("azp")
    if claims.get("azp", client_id) != client_id:
        raise TokenRefused("azp")
    if _text(claims, "nonce") != nonce:
        raise TokenRefused("nonce")


def check_logout_token(claims: Claims, *, issuer: str, client_id: str, now: int) -> None:
    """Check the claims of a logout token by Back-Channel Logout 2.6; raises TokenRefused."""
    _check_common(claims, issuer, client_id, now)
    # Many providers follow a draft in which logout tokens have no end; ``iat`` limits their age.
    if "exp" in claims:
        _check_end(claims, now)
    events = claims.get("events")
    if not isinstance(events, dict) or not isinstance(events.get(LOGOUT_EVENT), dict):
        raise TokenRefused("events")
    if "nonce" in claims:
        raise TokenRefused("nonce")
    if "sub" not in claims and "sid" not in claims:
        raise TokenRefused("sub")
    for name in ("sub", "sid"):
        if name in claims:
            _text(claims, name)
    _text(claims, "jti")


def _check_common(claims: Claims, issuer: str, client_id: str, now: int) -> None:
    if claims.get("iss") != issuer:
        raise TokenRefused("iss")
    audience = claims.get("aud")
    listed = audience if isinstance(audience, list) else [audience]
    if client_id not in listed or not all(isinstance(one, str) for one in listed):
        raise TokenRefused("aud")
    issued_at = _moment(claims, "iat")
    if not now - OLDEST - LEEWAY <= issued_at <= now + LEEWAY:
        raise TokenRefused("iat")
    if "nbf" in claims and _moment(claims, "nbf") > now + LEEWAY:
        raise TokenRefused("nbf")


def _check_end(claims: Claims, now: int) -> None:
    if _moment(claims, "exp") <= now - LEEWAY:
        raise TokenRefused("exp")


def _moment(claims: Claims, name: str) -> float:
    value = claims.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e12:
        raise TokenRefused(name)
    return value


def _text(claims: Claims, name: str) -> str:
    """A text that can be stored."""
    value = claims.get(name)
    if not isinstance(value, str) or not 0 < len(value) <= 255 or not value.isprintable():
        raise TokenRefused(name)
    return value


def is_true(value: object) -> bool:
    """Whether a claim is true; some providers send it as text or number."""
    return value is True or value == 1 or value in ("true", "True", "1")
