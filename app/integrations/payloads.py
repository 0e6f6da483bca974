"""Deliveries of code hosts as values: pull requests, branches, commits and check results.

A payload is untrusted: each value is read with its type, and a value that is missing or has
another type is left out.
"""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from app.core.text import BODY_LENGTH, NAME_LENGTH, without_bidi_controls
from app.tickets.models import LinkChecks, LinkKind, LinkState

NUMBER_LIMIT = 2**53
URL_LENGTH = 2048
MAX_COMMITS = 100
HEADS = "refs/heads/"
_HASH = re.compile(r"[0-9a-f]{7,64}")
_UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_OFFSET = re.compile(r" (?=[+-][0-9]{2}:?[0-9]{2}$)")


@dataclass(frozen=True, slots=True)
class ChangeNews:
    """A pull request, branch or commit as of one delivery."""

    # Identifies it at the code host.
    key: str
    kind: LinkKind
    url: str
    title: str
    author: str | None = None
    state: LinkState | None = None
    head: str | None = None
    at: int = 0
    # Where tickets may be named; in branch names, case does not matter.
    texts: tuple[str, ...] = ()
    branch: str = ""
    # Whether this delivery reports its merge into the default branch.
    merges: bool = False

    @property
    def version(self) -> str:
        """Sorts after the versions of older deliveries, in whatever order they arrive.

        Times only have seconds, so the parts after the time break ties. A merge sorts last.
        """
        is_merged = self.state is LinkState.MERGED
        rank = _RANKS[self.state]
        words = "\x01".join((self.title, self.url, self.author or "", self.head or ""))
        return f"{is_merged:d}{self.at:016d}{rank}{words}"


_RANKS = {None: 0, LinkState.DRAFT: 1, LinkState.OPEN: 2, LinkState.CLOSED: 3, LinkState.MERGED: 4}


@dataclass(frozen=True, slots=True)
class CheckNews:
    """The result of one check of a commit; a later run replaces an earlier one."""

    repository: str
    commit: str
    context: str
    checks: LinkChecks
    at: int
    run: int = 0


News = ChangeNews | CheckNews


class Payload:
    """JSON of a code host; values are read by path."""

    def __init__(self, content: Any) -> None:
        self._content = content

    def _at(self, path: str) -> Any:
        found = self._content
        for name in path.split("."):
            found = found.get(name) if isinstance(found, dict) else None
        return found

    def body(self, *paths: str) -> str:
        """The first of these texts that exists, cut to the maximum length of a ticket's body."""
        found = (self._at(path) for path in paths)
        return next((one[:BODY_LENGTH] for one in found if isinstance(one, str) and one), "")

    def line(self, *paths: str) -> str:
        """The first of these texts that exists, as one line cut to the length of a title."""
        for path in paths:
            value = self._at(path)
            cut = value[: NAME_LENGTH * 2].strip() if isinstance(value, str) else ""
            seen = _UNSEEN.sub(" ", without_bidi_controls(cut.partition("\n")[0]))
            line = seen.strip()[:NAME_LENGTH].strip()
            if line:
                return line
        return ""

    def address(self, *paths: str) -> str:
        """The first of these URLs, unchanged; it is validated when it becomes a link."""
        found = (self._at(path) for path in paths)
        return next((one for one in found if isinstance(one, str) and len(one) <= URL_LENGTH), "")

    def number(self, *paths: str) -> int | None:
        """The first of these values that is an integer in range."""
        for path in paths:
            value = self._at(path)
            if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < NUMBER_LIMIT:
                return value
        return None

    def commit(self, *paths: str) -> str | None:
        """The first of these values that is a commit hash."""
        for path in paths:
            value = self._at(path)
            if isinstance(value, str) and _HASH.fullmatch(value):
                return value
        return None

    def flag(self, path: str) -> bool:
        return self._at(path) is True

    def moment(self, *paths: str) -> int:
        """The first of these times in milliseconds; 0 if there is none."""
        return next((one for one in (moment(self._at(path)) for path in paths) if one), 0)

    def each(self, path: str) -> "Iterator[Payload]":
        """The items of a list, at most ``MAX_COMMITS``."""
        found = self._at(path)
        for part in found[:MAX_COMMITS] if isinstance(found, list) else ():
            yield Payload(part)


def moment(value: Any) -> int:
    """A time like ``2013-12-03T17:23:34Z`` or ``2017-09-15 16:50:55 UTC`` in ms; 0 if invalid."""
    if not isinstance(value, str) or len(value) > 40:
        return 0
    try:
        parsed = datetime.fromisoformat(_OFFSET.sub("", value.replace(" UTC", "+00:00")))
        since = parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)
        return max(0, int(since.timestamp() * 1000))
    except (ValueError, OverflowError):
        return 0


def pushed(content: Payload, repository: str, branches: str, author: str) -> Iterator[ChangeNews]:
    """The branch and the commits of a push; ``branches`` is the base URL of branches."""
    ref = content.line("ref")
    branch = ref.removeprefix(HEADS) if ref.startswith(HEADS) else ""
    is_deleted = not (content.commit("after") or "").strip("0")
    if branch and not is_deleted:
        yield ChangeNews(
            key=f"{repository}/branch/{hashlib.sha256(branch.encode()).hexdigest()[:32]}",
            kind=LinkKind.BRANCH,
            url=f"{branches}{quote(branch)}",
            title=branch,
            author=author or None,
            branch=branch,
        )
    for one in content.each("commits"):
        commit = one.commit("id")
        if commit is not None:
            yield ChangeNews(
                key=f"{repository}/commit/{commit}",
                kind=LinkKind.COMMIT,
                url=one.address("url"),
                title=one.line("message") or commit[:7],
                author=one.line("author.username", "author.name") or None,
                head=commit,
                texts=(one.body("message"),),
            )
