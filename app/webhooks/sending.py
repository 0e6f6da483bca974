"""Sending one request, within bounded time, reading little back.

No proxy, no redirect, no retry. Where it may connect to is decided in ``connecting``.
"""

import time
from collections.abc import Callable
from typing import Any

import requests
from urllib3.exceptions import HTTPError

from app.webhooks.attempts import DeliveryAttempt, DeliveryOutcome
from app.webhooks.connecting import (
    CONNECT_SECONDS,
    Adapter,
    AddressBlocked,
    Guard,
    Limits,
    Unresolved,
)

READ_SECONDS = 30.0
READ_BYTES = 64 * 1024
MESSAGE_LENGTH = 300


def send(attempt: DeliveryAttempt, limits: Limits) -> DeliveryOutcome:
    """Make the attempt; whatever happens is an outcome, never an exception."""
    if attempt.secret is None:
        return DeliveryOutcome(None, 0, "the secret was sealed under another SECRET_KEY; rotate it")
    started = time.monotonic()
    guard = Guard(limits.total)
    try:
        status = _post(attempt, limits, guard)
        error, transient = _judged(status)
    except Exception as problem:
        status = None
        error, transient = _described(problem, guard)
    finally:
        guard.end()
    return DeliveryOutcome(status, round((time.monotonic() - started) * 1000), error, transient)


def _judged(status: int) -> tuple[str | None, bool]:
    if 200 <= status < 300:
        return None, False
    if 300 <= status < 400:
        return f"HTTP {status}: redirects are not followed", False
    return f"HTTP {status}", status == 429 or status >= 500


def _described(problem: Exception, guard: Guard) -> tuple[str, bool]:
    """What to tell people, and whether another attempt could do better."""
    causes = list(_causes(problem))
    if any(isinstance(cause, AddressBlocked) for cause in causes):
        return "address not allowed", False
    if guard.has_fired:
        return "timeout: the attempt took too long", True
    for kind, text in _KNOWN:
        if any(isinstance(cause, kind) for cause in causes):
            return text, True
    return f"{type(problem).__name__}"[:MESSAGE_LENGTH], True


def _causes(problem: BaseException) -> Any:
    """The exception and everything it wraps."""
    seen: list[BaseException] = []
    waiting: list[Any] = [problem]
    while waiting:
        one = waiting.pop()
        if isinstance(one, BaseException) and one not in seen:
            seen.append(one)
            waiting += [one.__cause__, one.__context__, getattr(one, "reason", None), *one.args]
    return seen


_KNOWN: tuple[tuple[type[BaseException], str], ...] = (
    (Unresolved, "the host name could not be resolved"),
    (requests.exceptions.SSLError, "TLS: the certificate or handshake was not accepted"),
    (requests.exceptions.ConnectTimeout, "timeout while connecting"),
    (requests.exceptions.ReadTimeout, "timeout while waiting for the answer"),
    (TimeoutError, "timeout"),
    (ConnectionRefusedError, "connection refused"),
    (ConnectionResetError, "connection reset"),
    (requests.exceptions.ConnectionError, "connection failed"),
)


def _post(attempt: DeliveryAttempt, limits: Limits, guard: Guard) -> int:
    """The status of the answer; its body is read up to a bound and thrown away."""
    body = attempt.body()
    headers = attempt.headers(body, int(time.time()), limits.user_agent)
    headers |= {"Accept-Encoding": "identity", "Accept": "*/*", "Connection": "close"}
    with requests.Session() as session:
        # No proxies and no .netrc from the environment.
        session.trust_env = False
        session.adapters.clear()
        session.mount("https://", Adapter(limits, guard))
        with session.post(
            attempt.url,
            data=body,
            headers=headers,
            timeout=(CONNECT_SECONDS, READ_SECONDS),
            allow_redirects=False,
            stream=True,
        ) as response:
            if guard.has_fired:
                # The connection was shut down within the headers, which then look whole.
                raise TimeoutError
            status = int(response.status_code)
            _discard(response)
            return status


def _discard(response: requests.Response) -> None:
    """Read a little of the body; what goes wrong with it does not change the outcome."""
    try:
        response.raw.read(READ_BYTES, decode_content=False)
    except (HTTPError, OSError, requests.RequestException):
        return


Sender = Callable[[DeliveryAttempt, Limits], DeliveryOutcome]
