"""The rules of WebAuthn: those that the library checks, and those that it leaves to us.

The library is loaded on first use, as loading takes a tenth of a second.
"""

import base64
import hashlib
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cryptography.exceptions import InvalidSignature

from app.accounts.ceremonies import LIFETIME_MS, Ceremony, Site
from app.accounts.models import User
from app.core.lanes import Lane, require

if TYPE_CHECKING:
    from fido2.server import Fido2Server
    from fido2.webauthn import AuthenticatorData, CollectedClientData

# ES256, EdDSA and RS256, by their COSE numbers: every authenticator supports one of them.
ALGORITHMS = (-7, -8, -257)
MAX_CREDENTIAL_ID_BYTES = 1023
Json = dict[str, Any]


class NotVerified(Exception):
    """A browser's answer does not fit its challenge."""


@dataclass(frozen=True, slots=True)
class NewCredential:
    """A credential created for a challenge."""

    credential_hash: str
    content: bytes
    sign_count: int


@dataclass(frozen=True, slots=True)
class Assertion:
    """A browser's answer to a login challenge, each part in base64url."""

    credential_id: str
    client_data: str
    authenticator_data: str
    signature: str
    user_handle: str | None

    @property
    def credential_hash(self) -> str:
        """The hash that identifies the passkey; raises NotVerified."""
        try:
            return hash_of(_decoded(self.credential_id))
        except ValueError as error:
            raise NotVerified from error


def _decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text.encode("ascii") + b"==")


def hash_of(credential_id: bytes) -> str:
    return hashlib.sha256(credential_id).hexdigest()


def _server(site: Site, name: str = "") -> "Fido2Server":
    """The library's checks for exactly this origin; attestation is not requested."""
    # Loading the library would block the event loop.
    require(Lane.POOL)
    from fido2.server import Fido2Server  # noqa: PLC0415
    from fido2.webauthn import (  # noqa: PLC0415
        AttestationConveyancePreference,
        PublicKeyCredentialRpEntity,
    )

    server = Fido2Server(
        PublicKeyCredentialRpEntity(id=site.host, name=name or site.host),
        attestation=AttestationConveyancePreference.NONE,
        verify_origin=lambda origin: origin == site.origin,
    )
    server.timeout = LIFETIME_MS  # type: ignore[assignment]  # declared as None alone
    server.allowed_algorithms = [one for one in server.allowed_algorithms if one.alg in ALGORITHMS]
    return server


def _state(ceremony: Ceremony) -> Json:
    from fido2.webauthn import UserVerificationRequirement  # noqa: PLC0415

    required = UserVerificationRequirement.REQUIRED
    return {"challenge": ceremony.challenge, "user_verification": required}


def handle_of(user_id: str) -> bytes:
    """The user handle that an authenticator returns for a person."""
    return uuid.UUID(user_id).bytes


def creation_options(
    site: Site, name: str, ceremony: Ceremony, user: User, known: Iterable[bytes]
) -> Json:
    """The options to create a passkey on a device that has none of ``known`` yet."""
    from fido2.webauthn import (  # noqa: PLC0415
        AttestedCredentialData,
        PublicKeyCredentialUserEntity,
        ResidentKeyRequirement,
        UserVerificationRequirement,
    )

    options, _ = _server(site, name).register_begin(
        PublicKeyCredentialUserEntity(
            id=handle_of(user.id), name=user.username, display_name=user.display_name
        ),
        [AttestedCredentialData(content) for content in known],
        resident_key_requirement=ResidentKeyRequirement.REQUIRED,
        user_verification=UserVerificationRequirement.REQUIRED,
        challenge=_decoded(ceremony.challenge),
    )
    return dict(options.public_key)


def request_options(site: Site, ceremony: Ceremony) -> Json:
    """The options to request any passkey of this site."""
    from fido2.webauthn import UserVerificationRequirement  # noqa: PLC0415

    options, _ = _server(site).authenticate_begin(
        user_verification=UserVerificationRequirement.REQUIRED,
        challenge=_decoded(ceremony.challenge),
    )
    return dict(options.public_key)


def made(site: Site, ceremony: Ceremony, client_data: str, attestation: str) -> NewCredential:
    """The credential that a browser made; raises NotVerified."""
    try:
        return _made(site, ceremony, client_data, attestation)
    except Exception as error:
        # The library's parsers raise many types of exceptions on bad bytes.
        raise NotVerified from error


def _made(site: Site, ceremony: Ceremony, client_data: str, attestation: str) -> NewCredential:
    from fido2.webauthn import RegistrationResponse  # noqa: PLC0415

    parsed = RegistrationResponse.from_dict(
        {
            "rawId": "",
            "response": {"clientDataJSON": client_data, "attestationObject": attestation},
        }
    )
    found = _server(site).register_complete(_state(ceremony), parsed)
    _check(parsed.response.client_data, found)
    credential = found.credential_data
    if credential is None or not 0 < len(credential.credential_id) <= MAX_CREDENTIAL_ID_BYTES:
        raise NotVerified
    if credential.public_key.ALGORITHM not in ALGORITHMS:
        raise NotVerified
    try:
        # An empty signature is always invalid, but an unusable key raises another exception.
        credential.public_key.verify(b"", b"")
    except InvalidSignature:
        hashed = hash_of(credential.credential_id)
        return NewCredential(hashed, bytes(credential), found.counter)
    raise NotVerified


def sign_count(
    site: Site, ceremony: Ceremony, answer: Assertion, content: bytes, user_id: str
) -> int:
    """The signature counter of a valid answer by this credential; raises NotVerified."""
    try:
        return _sign_count(site, ceremony, answer, content, user_id)
    except Exception as error:
        # As in ``made``.
        raise NotVerified from error


def _sign_count(
    site: Site, ceremony: Ceremony, answer: Assertion, content: bytes, user_id: str
) -> int:
    from fido2.webauthn import AttestedCredentialData, AuthenticationResponse  # noqa: PLC0415

    parsed = AuthenticationResponse.from_dict(
        {
            "rawId": answer.credential_id,
            "response": {
                "clientDataJSON": answer.client_data,
                "authenticatorData": answer.authenticator_data,
                "signature": answer.signature,
                "userHandle": answer.user_handle,
            },
        }
    )
    _server(site).authenticate_complete(_state(ceremony), [AttestedCredentialData(content)], parsed)
    response = parsed.response
    _check(response.client_data, response.authenticator_data)
    if response.user_handle not in (None, handle_of(user_id)):
        raise NotVerified
    return response.authenticator_data.counter


def _check(client_data: "CollectedClientData", data: "AuthenticatorData") -> None:
    """Refuse an embedded (cross-origin) answer, and a backup of a key that allows none."""
    if client_data.cross_origin or (data.is_backed_up() and not data.is_backup_eligible()):
        raise NotVerified
