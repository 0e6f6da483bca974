"""Requests to the API of another tracker: with limits, with retries, and to one host only.

The token only goes into the headers of requests to this host. URLs of other hosts are refused,
whether from a redirect or a response.
"""

import json
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any
from urllib.parse import SplitResult, urljoin, urlsplit

import orjson
from urllib3 import BaseHTTPResponse, PoolManager, Timeout
from urllib3.exceptions import HTTPError, SSLError
from urllib3.util import parse_url

from app.core.own_address import PORTS
from app.core.text import counted
from app.importing.messages import waiting
from app.importing.trackers import messages
from app.webhooks.connecting import trusting

CONNECT_SECONDS = 10.0
READ_SECONDS = 60.0
# Limits of one response.
ANSWER_SECONDS = 300.0
ANSWER_BYTES = 64 * 1024 * 1024
CHUNK = 65_536
# Consecutive failed attempts of a request, and the wait after the first.
ATTEMPTS = 6
BACKOFF_SECONDS = 1.0
# The large trackers have hourly limits.
MAX_WAIT_SECONDS = 3_900.0
# Waits per request.
MAX_WAITS = 10
MIN_WAIT_SECONDS = 1.0
# The wait if a response reports a limit without a time.
DEFAULT_WAIT_SECONDS = 60.0
MAX_REDIRECTS = 3
PARALLEL_REQUESTS = 4
MAX_ERROR_LENGTH = 200
_LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})
_REDIRECTS = frozenset({301, 302, 307, 308})


class TrackerError(Exception):
    """The import cannot continue now; the message is a sentence for the operator."""


class Elsewhere(TrackerError):
    """A response names a URL of another host, which was not requested."""

    def __init__(self, tracker: str, url: str) -> None:
        super().__init__(messages.other_host(tracker))
        self.url = url


class LimitReached(TrackerError):
    """The tracker's rate limit lasts longer than a run waits."""


class Refused(TrackerError):
    """The tracker responded with an error that a retry would not change."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class ApiAnswer:
    """The parsed body of a response, and its headers by lower-case name."""

    body: Any
    headers: Mapping[str, str]
    address: str

    @property
    def next_address(self) -> str | None:
        """The URL of the next page in the ``Link`` header."""
        for part in self.headers.get("link", "").split(","):
            address, _, parameters = part.partition(";")
            if 'rel="next"' in parameters.replace(" ", ""):
                return address.strip().strip("<>")
        return None


class Waits:
    """Sleeps; tests replace it."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell

    def wait(self, seconds: float, reason: str) -> None:
        if seconds >= MIN_WAIT_SECONDS * 5:
            self._tell(waiting(reason, round(seconds)))
        self.sleep(seconds)

    @staticmethod
    def sleep(seconds: float) -> None:
        time.sleep(seconds)


# Consumes the content of a response instead of reading it into memory.
Receive = Callable[[BaseHTTPResponse], None]
# Given status, headers and body: the seconds to wait if a response reports a limit.
LimitRule = Callable[[int, Mapping[str, str], bytes], float | None]


class ApiClient:
    """Sends requests to one host; ``headers`` contain the token."""

    def __init__(
        self,
        tracker: str,
        base: str,
        headers: Mapping[str, str],
        *,
        tell: Callable[[str], None],
        ca_bundle: str | None = None,
        limit_rule: LimitRule | None = None,
    ) -> None:
        self.tracker = tracker
        self.base = checked_base(base)
        self._parts = urlsplit(self.base)
        self.headers = {"Accept": "application/json", **headers}
        self._limit_rule = limit_rule
        self.waits = Waits(tell)
        self._pool = PoolManager(
            num_pools=1,
            maxsize=PARALLEL_REQUESTS,
            block=True,
            retries=False,
            timeout=Timeout(connect=CONNECT_SECONDS, read=READ_SECONDS),
            ssl_context=trusting(ca_bundle) if self._parts.scheme == "https" else None,
        )

    def get(self, address: str) -> ApiAnswer:
        """Get a path below ``base``, or an absolute URL on the same host."""
        return self._ask("GET", address, None)

    def post(self, address: str, body: Any) -> ApiAnswer:
        """Post JSON, which must only query, as it may be sent again."""
        return self._ask("POST", address, orjson.dumps(body))

    def download(self, address: str, receive: Receive) -> Mapping[str, str]:
        """Pass the content of a URL on this host to ``receive``; returns the response's headers.

        Each attempt calls ``receive`` again. Raises Elsewhere for a redirect to another host.
        """
        return self._ask("GET", address, None, receive).headers

    def _ask(
        self, method: str, address: str, body: bytes | None, receive: Receive | None = None
    ) -> ApiAnswer:
        url = self._own(address if "://" in address else f"{self.base}{address}")
        failures = waits = redirects = 0
        while True:
            try:
                status, headers, content = self._exchange(method, url, body, receive)
            except SSLError as problem:
                raise TrackerError(
                    messages.certificate_rejected(self.tracker, _in_words(problem))
                ) from problem
            except (HTTPError, OSError) as problem:
                failures = self._wait_or_give_up(failures, _in_words(problem))
                continue
            wait = self.wait_of(status, headers, content)
            if wait is not None:
                waits += 1
                self.wait_for_limit(wait, waits, self.tracker)
            elif status in _REDIRECTS and method == "GET":
                redirects += 1
                if redirects > MAX_REDIRECTS:
                    raise TrackerError(messages.redirects_again(self.tracker))
                url = self._redirected(url, headers.get("location", ""))
            elif status >= HTTPStatus.INTERNAL_SERVER_ERROR:
                failures = self._wait_or_give_up(failures, messages.http_status(status))
            elif status >= HTTPStatus.MULTIPLE_CHOICES:
                raise Refused(status, self._refusal(status, content))
            elif receive is not None:
                return ApiAnswer(None, headers, url)
            else:
                try:
                    return ApiAnswer(parsed(content), headers, url)
                except ValueError:
                    failures = self._wait_or_give_up(failures, messages.ANSWER_NOT_JSON)

    def _own(self, url: str) -> str:
        """The URL itself; raises Elsewhere if it leads to another host."""
        try:
            parts = urlsplit(url)
            same = _origin(parts) == _origin(self._parts) and not parts.username
            # The library that connects must parse the same host from it.
            same = same and (parse_url(url).host or "").strip("[]") == (parts.hostname or "")
        except (ValueError, HTTPError):
            same = False
        if not same:
            raise Elsewhere(self.tracker, url)
        return url

    def _redirected(self, url: str, location: str) -> str:
        try:
            following = urljoin(url, location)
        except ValueError as error:
            raise Elsewhere(self.tracker, location) from error
        return self._own(following)

    def is_own(self, url: str) -> bool:
        """Whether a URL is on the tracker's host."""
        try:
            return self._own(url) == url
        except Elsewhere:
            return False

    def _exchange(
        self, method: str, url: str, body: bytes | None, receive: Receive | None
    ) -> tuple[int, Mapping[str, str], bytes]:
        headers = {**self.headers, "Accept-Encoding": "gzip"}
        if receive is not None:
            headers |= {"Accept": "*/*", "Accept-Encoding": "identity"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        response = self._pool.request(
            method, url, body=body, headers=headers, redirect=False, preload_content=False
        )
        try:
            content = b""
            if receive is not None and response.status == HTTPStatus.OK:
                receive(response)
            else:
                content = _read(response)
        except BaseException:
            response.close()
            raise
        response.release_conn()
        return (
            response.status,
            {name.lower(): value for name, value in response.headers.items()},
            content,
        )

    def _wait_or_give_up(self, failures: int, problem: str) -> int:
        """Wait before another attempt; raises TrackerError after the last one."""
        failures += 1
        if failures >= ATTEMPTS:
            raise TrackerError(messages.did_not_answer(self.tracker, ATTEMPTS, problem))
        spread = random.uniform(0.75, 1.25)  # noqa: S311 - spreads attempts
        self.waits.wait(BACKOFF_SECONDS * 2 ** (failures - 1) * spread, problem)
        return failures

    def wait_of(
        self, status: int, headers: Mapping[str, str], content: bytes = b""
    ) -> float | None:
        """The seconds to wait, if a response reports a limit."""
        if self._limit_rule is not None:
            wait = self._limit_rule(status, headers, content)
            if wait is not None:
                return wait
        if status == HTTPStatus.TOO_MANY_REQUESTS:
            return limit_wait(headers)
        if status == HTTPStatus.SERVICE_UNAVAILABLE and "retry-after" in headers:
            return limit_wait(headers)
        return None

    def wait_for_limit(self, wait: float, waits: int, host: str) -> None:
        """Wait for the ``waits``-th time; raises LimitReached if that is too long or too often."""
        if wait > MAX_WAIT_SECONDS or waits > MAX_WAITS:
            minutes = max(1, round(wait / 60))
            raise LimitReached(messages.limit_reached(host, counted(minutes, "minutes")))
        self.waits.wait(max(wait, MIN_WAIT_SECONDS), messages.limit_reached_now(host))

    def _refusal(self, status: int, content: bytes) -> str:
        if status == HTTPStatus.UNAUTHORIZED:
            return messages.token_not_accepted(self.tracker)
        said = _message(content)
        if status == HTTPStatus.FORBIDDEN:
            return messages.token_may_not_read(self.tracker, said)
        if status == HTTPStatus.NOT_FOUND:
            return messages.no_such_project(self.tracker, said)
        return messages.answered(self.tracker, status, said)


def checked_base(base: str) -> str:
    """The URL without a trailing slash; raises TrackerError unless it is https.

    Plain http is only allowed to this machine, as others could read the token on the way.
    """
    base = base.strip().rstrip("/")
    try:
        parts = urlsplit(base)
        is_fine = bool(parts.hostname) and not (parts.username or parts.query or parts.fragment)
        _origin(parts)
    except ValueError:
        is_fine = False
    if not is_fine:
        raise TrackerError(messages.ADDRESS_INVALID)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _LOCAL):
        raise TrackerError(messages.ADDRESS_NOT_HTTPS)
    return base


def limit_wait(headers: Mapping[str, str]) -> float:
    """The seconds to wait: ``Retry-After``, else until the limit resets, else a minute."""
    after = headers.get("retry-after", "")
    if after:
        seconds = _seconds_until(after, relative=True)
        if seconds is not None:
            return seconds
    for name in ("x-ratelimit-reset", "ratelimit-reset"):
        seconds = _seconds_until(headers.get(name, ""), relative=False)
        if seconds is not None:
            return seconds
    return DEFAULT_WAIT_SECONDS


def _seconds_until(value: str, *, relative: bool) -> float | None:
    """Parse seconds, an epoch time in seconds or milliseconds, or a date; None for other values."""
    value = value.strip()
    now = time.time()
    if value.isascii() and value.replace(".", "", 1).isdigit() and len(value) < 20:
        number = float(value)
        if relative:
            return number
        return max(0.0, (number / 1000 if number > 1e11 else number) - now)
    for parse in (parsedate_to_datetime, datetime.fromisoformat):
        try:
            moment = parse(value)
        except (ValueError, TypeError):
            continue
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return max(0.0, moment.timestamp() - now)
    return None


def parsed(content: bytes) -> Any:
    """Parse JSON as trackers send it; replaces lone surrogates. Raises ValueError."""
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError:
        try:
            lenient = json.loads(content)
            text = json.dumps(lenient, ensure_ascii=False, allow_nan=False)
            return orjson.loads(text.encode("utf-8", "replace"))
        except RecursionError as error:
            raise ValueError("nested too deeply") from error


def _origin(parts: SplitResult) -> tuple[str, str | None, int | None]:
    return parts.scheme, parts.hostname, parts.port or PORTS.get(parts.scheme)


def _read(response: BaseHTTPResponse) -> bytes:
    """The whole body; raises HTTPError if it is cut off, too long or too slow."""
    deadline = time.monotonic() + ANSWER_SECONDS
    parts: list[bytes] = []
    length = 0
    for chunk in response.stream(CHUNK, decode_content=True):
        parts.append(chunk)
        length += len(chunk)
        if length > ANSWER_BYTES:
            raise HTTPError("the response is too long")
        if time.monotonic() > deadline:
            raise HTTPError("the response took too long")
    return b"".join(parts)


def _in_words(problem: Exception) -> str:
    text = str(problem).rpartition(": ")[2] or type(problem).__name__
    return text[:MAX_ERROR_LENGTH]


def _message(content: bytes) -> str:
    """The tracker's error message, on one line."""
    try:
        body = parsed(content)
    except ValueError:
        return ""
    if not isinstance(body, dict):
        return ""
    said: Any = body.get("message") or body.get("error") or body.get("errorMessages")
    if isinstance(said, list):
        said = said[0] if said else None
    if not isinstance(said, str) or not said.strip():
        return ""
    line = "".join(letter if letter.isprintable() else " " for letter in said)
    return f": {' '.join(line.split()).rstrip('.')[:MAX_ERROR_LENGTH]}"
