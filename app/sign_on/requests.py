"""Requests to the provider: limited in time and size, without redirects, to its own addresses.

The issuer is the operator's setting, so it may be in a private network. Addresses that the provider
names must be https, or http on this machine.
"""

import time
from typing import Any
from urllib.parse import urlsplit

import orjson
import requests
from requests.auth import AuthBase, HTTPBasicAuth
from urllib3.exceptions import HTTPError

from app.config import is_loopback
from app.sign_on import messages

CONNECT_SECONDS = 4.0
READ_SECONDS = 5.0
TOTAL_SECONDS = 10.0
MAX_RESPONSE_BYTES = 256 * 1024
MAX_URL_LENGTH = 500
MAX_ERROR_LENGTH = 100


class ProviderFailure(Exception):
    """The provider is unreachable, or its response is invalid.

    ``error`` is the code in the response, such as ``invalid_client`` (RFC 6749, 5.2).
    """

    def __init__(self, message: str, status: int | None = None, error: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.error = error


def checked_address(value: object, name: str) -> str:
    """An address to which requests may be sent; raises ProviderFailure."""
    if not isinstance(value, str) or len(value) > MAX_URL_LENGTH or not value.isprintable():
        raise ProviderFailure(messages.no_address(name))
    try:
        parts = urlsplit(value)
        host = parts.hostname or ""
        port_is_fine = parts.port != 0
    except ValueError:
        raise ProviderFailure(messages.no_address(name)) from None
    is_secure = parts.scheme == "https" or (parts.scheme == "http" and is_loopback(host))
    if not (is_secure and host and port_is_fine) or parts.username is not None or parts.fragment:
        raise ProviderFailure(messages.not_https(name))
    return value


def get_json(address: str, user_agent: str, *, token: str = "") -> dict[str, Any]:
    """The JSON object at an address; with a bearer token, if one is given."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return _json("GET", address, user_agent, headers=headers)


def post_form(
    address: str, user_agent: str, form: dict[str, str], auth: HTTPBasicAuth | None
) -> dict[str, Any]:
    """The JSON object in the response to a form."""
    return _json("POST", address, user_agent, data=form, auth=auth or _NoAuth())


class _NoAuth(AuthBase):
    """Keeps requests from reading credentials out of a ``.netrc``."""

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        return request


def _json(method: str, address: str, user_agent: str, **options: Any) -> dict[str, Any]:
    given = {"Accept": "application/json", "User-Agent": user_agent, "Accept-Encoding": "identity"}
    options["headers"] = given | options.get("headers", {})
    options.setdefault("auth", _NoAuth())
    ends_at = time.monotonic() + TOTAL_SECONDS
    try:
        with (
            requests.Session() as line,
            line.request(
                method,
                address,
                timeout=(CONNECT_SECONDS, READ_SECONDS),
                allow_redirects=False,
                stream=True,
                **options,
            ) as answer,
        ):
            content = _read(answer, ends_at)
            status = answer.status_code
    except (requests.RequestException, HTTPError, OSError, ValueError) as error:
        raise ProviderFailure(messages.no_answer(address, type(error).__name__)) from error
    try:
        found = orjson.loads(content)
    except orjson.JSONDecodeError:
        found = None
    if status != 200:
        said = found.get("error") if isinstance(found, dict) else None
        code = said[:MAX_ERROR_LENGTH] if isinstance(said, str) and said.isprintable() else ""
        raise ProviderFailure(messages.status(address, status, code), status, code)
    if not isinstance(found, dict):
        raise ProviderFailure(messages.answer_not_json(address))
    return found


def _read(answer: requests.Response, ends_at: float) -> bytes:
    """The body as sent; reads only what has arrived, so that a slow sender meets the time limit."""
    pieces: list[bytes] = []
    size = 0
    while piece := answer.raw.read1(16_384):
        pieces.append(piece)
        size += len(piece)
        if size > MAX_RESPONSE_BYTES:
            raise ProviderFailure(messages.ANSWER_TOO_LONG)
        if time.monotonic() > ends_at:
            raise ProviderFailure(messages.ANSWER_TOO_SLOW)
    return b"".join(pieces)
