"""Downloading the files of issues, by the rules of uploads, and only from known hosts.

The token goes to the tracker's host and to the hosts that hold its private files according to its
documentation. A redirect may lead to any public host, over https and without the token. Addresses
of connections are checked as for webhooks.
"""

import hashlib
import mimetypes
import os
import random
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

import requests
from urllib3 import BaseHTTPResponse
from urllib3.exceptions import HTTPError
from werkzeug.http import parse_options_header

from app.config import Settings
from app.core.errors import DomainError
from app.files import adding
from app.files.adding import PreparedFile
from app.files.store import incoming
from app.http.multipart import ReceivedFile
from app.http.time_limit import Guard
from app.importing.issue_files import SuppliedFiles
from app.importing.issues import Issue, IssueFile
from app.importing.messages import file_not_imported
from app.importing.report import ImportReport
from app.importing.trackers import messages
from app.importing.trackers.client import (
    ANSWER_SECONDS,
    CHUNK,
    MAX_REDIRECTS,
    PARALLEL_REQUESTS,
    ApiClient,
    Elsewhere,
    LimitReached,
    Refused,
    TrackerError,
)
from app.webhooks.connecting import CONNECT_SECONDS, Adapter, AddressBlocked, Limits

# Files of one issue in one run: the most downloaded, and the most requested.
MAX_FILES = 100
MAX_ATTEMPTS = 300
# Consecutive failed files before the run ends.
MAX_FAILURES = 5
# Files prepared before their issues are written. Other writers wait while files are stored.
PORTION_BYTES = 256 * 1024 * 1024
PORTION_FILES = 50
READ_SECONDS = 60.0
ATTEMPTS = 3
_GONE = frozenset({404, 410})
_DENIED = frozenset({401, 403, 404})
_REDIRECTS = frozenset({301, 302, 303, 307, 308})


class FileRefused(Exception):
    """A file is not imported; the message is the reason, as shown in the report."""


class FileGone(FileRefused):
    """A file no longer exists, or not for this token."""


class FileNotWritten(TrackerError):
    """A file cannot be written on this machine."""


@contextmanager
def _written_to(folder: Path) -> Iterator[None]:
    """Raise FileNotWritten for an OSError; failed connections raise other exceptions inside."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise FileNotWritten(messages.files_not_written(folder, reason)) from error


class _Download:
    """Writes a response to a temporary file, up to ``max_bytes``."""

    def __init__(self, path: Path, max_bytes: int) -> None:
        self.path = path
        self._max_bytes = max_bytes
        self.size = 0
        self.sha256 = ""

    def __call__(self, response: BaseHTTPResponse) -> None:
        deadline = time.monotonic() + ANSWER_SECONDS
        digest = hashlib.sha256()
        self.size = 0
        with _written_to(self.path.parent), self.path.open("wb") as file:
            for chunk in response.stream(CHUNK, decode_content=False):
                self.size += len(chunk)
                if self.size > self._max_bytes:
                    raise FileRefused(messages.FILE_TOO_LARGE)
                if time.monotonic() > deadline:
                    raise HTTPError("the response took too long")
                digest.update(chunk)
                file.write(chunk)
        self.sha256 = digest.hexdigest()


class FileDownloads:
    """Files of one tracker: from its host, ``hosts`` that get its token, and ``public_hosts``."""

    def __init__(
        self,
        client: ApiClient,
        settings: Settings,
        limits: Limits,
        hosts: Sequence[str],
        public_hosts: Sequence[str] = (),
    ) -> None:
        self._client = client
        self._settings = settings
        self._limits = limits
        self._hosts = frozenset(hosts)
        self._public_hosts = frozenset(public_hosts)
        self._failures = 0

    @contextmanager
    def prepared(
        self, issues: Sequence[Issue], report: ImportReport
    ) -> Iterator[dict[str, SuppliedFiles]]:
        """The files of the first issues, by issue id; they exist until the end of the context.

        Covers as many issues as fit into a portion, at least one. Notes files that are unavailable.
        Raises TrackerError if another run could get them.
        """
        made: dict[str, SuppliedFiles] = {}
        paths: list[Path] = []
        size = count = 0
        try:
            for issue in issues:
                count += min(len(issue.files), MAX_FILES)
                if made and (size > PORTION_BYTES or count > PORTION_FILES):
                    break
                made[issue.id] = supplied = self._of(issue, report, paths)
                files = supplied.files.values()
                size += sum(content.size for one in files for content in one.contents)
            yield made
        finally:
            for path in paths:
                _remove(path)

    def _of(self, issue: Issue, report: ImportReport, paths: list[Path]) -> SuppliedFiles:
        made: dict[str, PreparedFile] = {}
        gone: list[str] = []
        start, chosen = 0, issue.files
        if len(chosen) > MAX_ATTEMPTS:
            # A random choice, so that unavailable files do not block the others in every run.
            chosen = tuple(random.sample(chosen, MAX_ATTEMPTS))
        while start < len(chosen) and len(made) < MAX_FILES:
            wanted = chosen[start : start + MAX_FILES - len(made)]
            start += len(wanted)
            targets = [self._target(paths) for _ in wanted]
            with ThreadPoolExecutor(PARALLEL_REQUESTS) as threads:
                received = list(threads.map(self._receive, wanted, targets))
            for file, got, target in zip(wanted, received, targets, strict=True):
                try:
                    if isinstance(got, FileRefused):
                        raise got
                    made[file.address] = adding.prepare(self._settings, got)
                    continue
                except FileRefused as refused:
                    reason: object = refused
                    if isinstance(refused, FileGone):
                        gone.append(file.address)
                except DomainError as error:
                    reason = error.message
                _remove(target)
                report.note(issue.id, file_not_imported(reason), file.address)
        if start < len(issue.files):
            report.note(issue.id, messages.too_many_files(MAX_FILES))
        return SuppliedFiles(made, gone)

    def _target(self, paths: list[Path]) -> Path:
        """A new temporary file."""
        with _written_to(self._settings.incoming_dir):
            folder = incoming(self._settings)
            descriptor, name = tempfile.mkstemp(dir=folder, prefix="imported-")
        os.close(descriptor)
        paths.append(Path(name))
        return paths[-1]

    def _receive(self, file: IssueFile, target: Path) -> ReceivedFile | FileRefused:
        if not _is_plain(file.address):
            return FileRefused(messages.ADDRESS_NOT_PLAIN)
        download = _Download(target, self._settings.files_max_bytes)
        try:
            headers = self._fetch(file.source, download)
        except FileRefused as refused:
            return refused
        except Refused as refused:
            if refused.status in _GONE:
                return FileGone(messages.file_gone(refused.status))
            return FileRefused(messages.http_status(refused.status))
        self._failures = 0
        kind = parse_options_header(headers.get("content-type", ""))[0]
        name = _named(file.name, headers)
        if kind == "text/html" and not name.lower().endswith((".html", ".htm")):
            # For example a login page.
            return FileRefused(messages.ANSWER_IS_A_PAGE)
        if "." not in name:
            name += mimetypes.guess_extension(kind) or ""
        return ReceivedFile(target, name, download.size, download.sha256)

    def _fetch(self, source: str, download: _Download) -> Mapping[str, str]:
        if self._client.is_own(source):
            try:
                return self._client.download(source, download)
            except Elsewhere as elsewhere:
                return self._from_elsewhere(elsewhere.url, {}, download)
            except (Refused, LimitReached, FileNotWritten):
                raise
            except TrackerError as error:
                raise self._count_failure(error, messages.NO_ANSWER) from error
        host = urlsplit(source).hostname
        if host in self._public_hosts:
            return self._from_elsewhere(source, {}, download)
        if host not in self._hosts:
            raise FileRefused(messages.ON_ANOTHER_HOST)
        try:
            return self._from_elsewhere(source, self._client.headers, download)
        except Refused as refused:
            # A host may refuse a restricted token for a public file, so retry without the token.
            if refused.status not in _DENIED:
                raise
            with suppress(Refused):
                return self._from_elsewhere(source, {}, download)
            # Raise the first error: without the token, a private file looks as if it were gone.
            raise

    def _count_failure(self, problem: object, reason: str) -> FileRefused:
        """The reason that a file is not imported; raises TrackerError after too many failures."""
        self._failures += 1
        if self._failures >= MAX_FAILURES:
            raise TrackerError(messages.leave_files_out(problem))
        return FileRefused(reason)

    def _from_elsewhere(
        self, url: str, token: Mapping[str, str], download: _Download
    ) -> Mapping[str, str]:
        """Download from another host, following redirects; raises Refused, FileRefused."""
        for _ in range(MAX_REDIRECTS + 1):
            own = {"Authorization": token["Authorization"]} if "Authorization" in token else {}
            status, headers = self._patiently(url, own, download)
            if status == HTTPStatus.OK:
                return headers
            if status not in _REDIRECTS:
                raise Refused(status, "")
            try:
                following = urljoin(url, headers.get("location", ""))
                if urlsplit(following)[:2] != urlsplit(url)[:2]:
                    token = {}
            except ValueError:
                break
            url = following
        raise FileRefused(messages.REDIRECTS_AGAIN)

    def _patiently(
        self, url: str, token: Mapping[str, str], download: _Download
    ) -> tuple[int, Mapping[str, str]]:
        failures = waits = 0
        while True:
            try:
                host = urlsplit(url).hostname or ""
                status, headers = self._once(url, token, download)
            except ValueError as error:
                # The URL is invalid, which a retry would not change.
                raise FileRefused(messages.NO_ANSWER) from error
            except (requests.RequestException, HTTPError, OSError) as error:
                if _is_blocked(error):
                    raise FileRefused(messages.IN_PRIVATE_NETWORK) from error
                problem = messages.NO_ANSWER
            else:
                limited = self._client.wait_of(status, headers)
                if limited is not None:
                    waits += 1
                    self._client.wait_for_limit(limited, waits, host)
                    continue
                if status < HTTPStatus.INTERNAL_SERVER_ERROR:
                    return status, headers
                problem = messages.http_status(status)
            failures += 1
            if failures == ATTEMPTS:
                raise self._count_failure(messages.files_not_available(host, problem), problem)
            self._client.waits.wait(2.0 ** (failures - 1), messages.file_not_available(problem))

    def _once(
        self, url: str, token: Mapping[str, str], download: _Download
    ) -> tuple[int, Mapping[str, str]]:
        parts = urlsplit(url)
        if parts.scheme != "https" or parts.username is not None:
            raise FileRefused(messages.FILE_NOT_HTTPS)
        guard = Guard(ANSWER_SECONDS)
        given = {"Accept": "*/*", "Accept-Encoding": "identity", **token}
        try:
            with requests.Session() as session:
                # Ignore proxies and .netrc of the environment.
                session.trust_env = False
                session.adapters.clear()
                session.mount("https://", Adapter(self._limits, guard))
                with session.get(
                    url,
                    headers={"User-Agent": self._limits.user_agent, **given},
                    timeout=(CONNECT_SECONDS, READ_SECONDS),
                    allow_redirects=False,
                    stream=True,
                ) as response:
                    if response.status_code == HTTPStatus.OK:
                        download(response.raw)
                    headers = {name.lower(): value for name, value in response.headers.items()}
                    return response.status_code, headers
        finally:
            guard.end()


def _remove(path: Path) -> None:
    """Remove a file and its derived files."""
    for left in path.parent.glob(f"{path.name}*"):
        left.unlink(missing_ok=True)


def _is_blocked(error: BaseException | None) -> bool:
    """Whether the error was caused by an address that must not be connected to."""
    while error is not None:
        if isinstance(error, AddressBlocked):
            return True
        error = error.__cause__ or error.__context__
    return False


def _is_plain(url: str) -> bool:
    """Whether a URL's path has no hidden or dot segments, which could name any path of the host."""
    try:
        path = urlsplit(url).path
    except ValueError:
        return False
    parts = unquote(path).replace("\\", "/").split("/")
    return parts == [unquote(part) for part in path.split("/")] and not {".", ".."} & set(parts)


def _named(name: str, headers: Mapping[str, str]) -> str:
    """The name from the response, else from the issue."""
    options: Mapping[str, Any] = {}
    with suppress(ValueError):
        options = parse_options_header(headers.get("content-disposition", ""))[1]
    return str(options.get("filename") or name or "file").replace("\x00", "")
