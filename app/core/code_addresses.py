"""URLs of pull requests, issues and commits at code hosts, and their short names."""

import re
from dataclasses import dataclass
from enum import StrEnum

_SCHEME = "https://"
MAX_ADDRESS_LENGTH = 300
# Short names omit these hosts.
WELL_KNOWN = frozenset({"github.com", "gitlab.com", "codeberg.org"})
_HOST = re.compile(r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::[0-9]{1,5})?")
_OWNER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_NUMBER = re.compile(r"[1-9][0-9]{0,9}")
_COMMIT = re.compile(r"[0-9a-f]{7,64}")
_SHOWN_OF_COMMIT = 7
# GitLab groups can be nested.
_MAX_GROUPS = 20


class CodeKind(StrEnum):
    ISSUE = "issue"
    PULL_REQUEST = "pull_request"
    COMMIT = "commit"


# The URL segment before the number; the kind, and the mark in the short name.
_KINDS = {
    "pull": (CodeKind.PULL_REQUEST, "#"),
    "pulls": (CodeKind.PULL_REQUEST, "#"),
    "merge_requests": (CodeKind.PULL_REQUEST, "!"),
    "issues": (CodeKind.ISSUE, "#"),
    "commit": (CodeKind.COMMIT, "@"),
}


@dataclass(frozen=True, slots=True)
class CodeAddress:
    """The kind of target of a URL, and its short name, such as ``docket/app#5``."""

    kind: CodeKind
    name: str


def read(address: str) -> CodeAddress | None:
    """The target of an https URL of a code host; None for any other URL.

    GitLab puts ``/-/`` after the project. A URL with a query or fragment has no short name, as it
    leads to a part of the target.
    """
    if not address.startswith(_SCHEME) or len(address) > MAX_ADDRESS_LENGTH:
        return None
    host, *owner = address.removeprefix(_SCHEME).removesuffix("/").split("/")
    if len(owner) < 4:
        return None
    *owner, what, which = owner
    is_grouped = owner[-1] == "-"
    if is_grouped:
        del owner[-1]
    kind, mark = _KINDS.get(what, (None, ""))
    if (
        kind is None
        or not (2 <= len(owner) <= _MAX_GROUPS if is_grouped else len(owner) == 2)
        or (what == "merge_requests" and not is_grouped)
        or not _HOST.fullmatch(host)
        or not all(map(_OWNER.fullmatch, owner))
        or not (_COMMIT if kind is CodeKind.COMMIT else _NUMBER).fullmatch(which)
    ):
        return None
    shown = which[:_SHOWN_OF_COMMIT] if kind is CodeKind.COMMIT else which
    where = "" if host in WELL_KNOWN else f"{host}/"
    return CodeAddress(kind, f"{where}{'/'.join(owner)}{mark}{shown}")
