"""Which addresses a link may have: http, https, mailto and relative ones."""

import re

from app.core.ids import UUID_PATTERN

# Browsers ignore some of these inside an address: "java\tscript:" would be a scheme.
_INVISIBLE = re.compile(
    "[\x00-\x1f\x7f-\xa0\u00ad\u061c\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff"
    "\ufdd0-\ufdef\ufff0-\uffff]"
)
_FIRST_SEGMENT = re.compile(r"[^/?#]*")
_WEB = re.compile(r"https?://[^/?#@:\s]", re.IGNORECASE)
_FILE = re.compile(rf"/files/{UUID_PATTERN.pattern}")
_MAIL = re.compile(r"mailto:[^/?#\s]", re.IGNORECASE)
_QUOTED = {" ": "%20", '"': "%22", "<": "%3C", ">": "%3E", "`": "%60", "\\": "%5C"}
_TO_QUOTE = re.compile(r'[ "<>`\\]')


def judged(raw: str) -> str | None:
    """The address as a link may have it, or None if it is refused.

    Refuses invisible characters, ``https:host``, and ``//host``, which only looks relative, in
    every spelling that browsers accept.
    """
    address = raw.strip(" \t\n")
    if not address or _INVISIBLE.search(address):
        return None
    # Browsers treat a backslash as a slash.
    flat = address.replace("\\", "/")
    if flat.startswith("//"):
        return None
    if ":" in _FIRST_SEGMENT.match(flat).group() and not (  # type: ignore[union-attr] # matches ""
        _WEB.match(flat) or _MAIL.match(flat)
    ):
        return None
    return _TO_QUOTE.sub(lambda found: _QUOTED[found.group()], address)


def is_file(address: str) -> bool:
    """Whether a judged address is that of a file of ours."""
    return _FILE.fullmatch(address) is not None


def is_external(address: str) -> bool:
    """Whether a judged address leads to another site."""
    return _WEB.match(address) is not None
