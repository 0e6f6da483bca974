"""A person's choices of how pages look and behave, in cookies.

Pages read the cookies, so none queries the database. ``accounts/personal.py`` stores the same
choices for the next browser.
"""

import re
from collections.abc import Iterable, Mapping

from flask import Response, has_request_context

from app.http.current import current_request, current_settings

YEAR = 365 * 24 * 3600
# The values of each choice by the name of its cookie; the first is the default.
VALUES: dict[str, tuple[str, ...]] = {
    "theme": ("auto", "light", "dark"),
    "density": ("roomy", "tight"),
    # Single-letter shortcuts, which interfere with voice control.
    "keys": ("on", "off"),
    # Relative or absolute times.
    "times": ("passed", "exact"),
}
# The key of the default project of a new ticket outside of any project; may be empty.
PROJECT = "project"
# The cookie of the columns that ticket lists hide, and the columns that can be hidden.
HIDDEN = "hidden_columns"
COLUMNS = (
    "labels",
    "state",
    "priority",
    "assignee",
    "parent",
    "due",
    "created",
    "updated",
)
DEFAULTS = {name: values[0] for name, values in VALUES.items()} | {PROJECT: "", HIDDEN: ""}
_KEY = re.compile(r"[A-Z][A-Z0-9]{1,9}")


def cleaned(choices: Mapping[str, object]) -> dict[str, str]:
    """The choices that exist and have a valid value."""
    valid = {name: str(choices[name]) for name in VALUES if choices.get(name) in VALUES[name]}
    key = choices.get(PROJECT)
    if isinstance(key, str) and (not key or _KEY.fullmatch(key)):
        valid[PROJECT] = key
    hidden = choices.get(HIDDEN)
    if isinstance(hidden, str):
        valid[HIDDEN] = hiding(hidden.split("."))
    return valid


def hiding(names: Iterable[str]) -> str:
    """The value that hides these columns."""
    hidden = set(names)
    return ".".join(column for column in COLUMNS if column in hidden)


def hidden_columns() -> tuple[str, ...]:
    """The columns that this browser hides."""
    return tuple(filter(None, chosen()[HIDDEN].split(".")))


def chosen() -> dict[str, str]:
    """All choices of this browser."""
    return DEFAULTS | cleaned(current_request().cookies)


def shows_exact_times() -> bool:
    """Whether the reader chose absolute times; called for each time on a page."""
    return has_request_context() and current_request().cookies.get("times") == "exact"


def carry(response: Response, choices: Mapping[str, object]) -> Response:
    """Set cookies for these choices."""
    secure = current_settings().cookie_secure
    for name, value in cleaned(choices).items():
        response.set_cookie(name, value, max_age=YEAR, httponly=True, secure=secure, samesite="Lax")
    return response
