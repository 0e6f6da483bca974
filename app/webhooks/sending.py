"""Sending one request in bounded time: no proxy, no redirect, no retry.

``connecting`` decides to which addresses it may connect.
"""

import time
from contextlib import suppress
from typing import Any

import requests
from urllib3.exceptions import HTTPError

from app.core.clock import now_ms
from app.http.time_limit import Guard
from app.webhooks import messages
from app.webhooks.attempts import DeliveryAttempt, DeliveryOutcome
from app.webhooks.connecting import CONNECT_SECONDS, Adapter, AddressBlocked, Limits, Unresolved

READ_SECONDS = 30.0
READ_BYTES = 64 * 1024
MESSAGE_LENGTH = 300

# The first match for the exception or one of its causes describes it.
_KNOWN: tuple[tuple[type[BaseException], str], ...] = (
    (Unresolved, messages.HOST_UNRESOLVED),
    (requests.exceptions.SSLError, messages.TLS_REJECTED),
    (requests.exceptions.ConnectTimeout, messages.CONNECT_TIMEOUT),
    (requests.exceptions.ReadTimeout, messages.RESPONSE_TIMEOUT),
    (TimeoutError, "timeout"),
    (ConnectionRefusedError, messages.CONNECTION_REFUSED),
    (ConnectionResetError, messages.CONNECTION_RESET),
    (requests.exceptions.ConnectionError, messages.CONNECTION_FAILED),
)


def send(attempt: DeliveryAttempt, limits: Limits) -> DeliveryOutcome:
    """Make the attempt; failures are outcomes, not exceptions."""
    if attempt.secret is None:
        return DeliveryOutcome(None, 0, messages.SECRET_OF_ANOTHER_KEY)
    started = time.monotonic()
    guard = Guard(limits.total)
    try:
        status = _post(attempt, limits, guard)
        error, is_transient = _judge(status)
    except Exception as problem:
        status = None
        error, is_transient = _describe(problem, guard)
    finally:
        guard.end()
    duration_ms = round((time.monotonic() - started) * 1000)
    return DeliveryOutcome(status, duration_ms, error, is_transient)


def _judge(status: int) -> tuple[str | None, bool]:
    """The error message, and whether another attempt could succeed."""
    if 200 <= status < 300:
        return None, False
    if 300 <= status < 400:
        return messages.redirects(status), False
    return messages.http_status(status), status == 429 or status >= 500


def _describe(problem: Exception, guard: Guard) -> tuple[str, bool]:
    """Like ``_judge``, if there is no response."""
    causes = _causes(problem)
    if any(isinstance(cause, AddressBlocked) for cause in causes):
        return messages.ADDRESS_NOT_ALLOWED, False
    if guard.has_fired:
        return messages.ATTEMPT_TOO_LONG, True
    for kind, text in _KNOWN:
        if any(isinstance(cause, kind) for cause in causes):
            return text, True
    return f"{type(problem).__name__}"[:MESSAGE_LENGTH], True


def _causes(problem: Exception) -> list[BaseException]:
    """The exception and everything it wraps."""
    seen: list[BaseException] = []
    waiting: list[Any] = [problem]
    while waiting:
        cause = waiting.pop()
        if isinstance(cause, BaseException) and cause not in seen:
            seen.append(cause)
            waiting += [cause.__cause__, cause.__context__, *cause.args]
            waiting.append(getattr(cause, "reason", None))
    return seen


def _post(attempt: DeliveryAttempt, limits: Limits, guard: Guard) -> int:
    """The status of the response; its body is discarded."""
    body = attempt.body
    headers = attempt.headers(body, now_ms() // 1000, limits.user_agent)
    headers |= {"Accept-Encoding": "identity", "Accept": "*/*", "Connection": "close"}
    with requests.Session() as session:
        # No proxies and no .netrc from the environment.
        session.trust_env = False
        session.adapters.clear()
        session.mount("https://", Adapter(limits, guard))
        with session.request(
            attempt.method,
            attempt.address,
            data=body,
            headers=headers,
            timeout=(CONNECT_SECONDS, READ_SECONDS),
            allow_redirects=False,
            stream=True,
        ) as response:
            if guard.has_fired:
                # The connection was shut down during the headers, which then look complete.
                raise TimeoutError
            status = int(response.status_code)
            _discard(response)
            return status


def _discard(response: requests.Response) -> None:
    """Read up to ``READ_BYTES`` of the body; a failure does not change the outcome."""
    with suppress(HTTPError, OSError, requests.RequestException):
        response.raw.read(READ_BYTES, decode_content=False)
