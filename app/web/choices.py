"""What a person chose about how pages look and behave, as their browser carries it.

Cookies are read for every page, so that none has to ask the database; the table of preferences
(``accounts/preferences.py``) keeps the same for the next browser.
"""

import re
from collections.abc import Iterable, Mapping

from flask import Response, has_request_context

from app.http.current import current_request

YEAR = 365 * 24 * 3600
# What can be chosen, by the name of its cookie; the first is the default.
VALUES: dict[str, tuple[str, ...]] = {
    "theme": ("auto", "light", "dark"),
    "density": ("roomy", "tight"),
    # Whether single-letter shortcuts work; whoever speaks to the machine switches them off.
    "keys": ("on", "off"),
    # How long ago something was, or when it was.
    "times": ("passed", "exact"),
}
# The key of the project that new tickets and keys go to outside of any project; may be empty.
PROJECT = "project"
# The columns that lists of tickets do not show, of those that can be left out; mostly none.
HIDDEN = "hidden_columns"
COLUMNS = ("labels", "state", "priority", "assignee", "parent", "due")
DEFAULTS = {name: values[0] for name, values in VALUES.items()} | {PROJECT: "", HIDDEN: ""}
_KEY = re.compile(r"[A-Z][A-Z0-9]{1,9}")


def cleaned(given: Mapping[str, object]) -> dict[str, str]:
    """Of these choices the ones that exist, each with a value that it can have."""
    known = {name: str(given[name]) for name in VALUES if given.get(name) in VALUES[name]}
    key = given.get(PROJECT)
    if isinstance(key, str) and (not key or _KEY.fullmatch(key)):
        known[PROJECT] = key
    hidden = given.get(HIDDEN)
    if isinstance(hidden, str):
        known[HIDDEN] = hiding(hidden.split("."))
    return known


def hiding(names: Iterable[str]) -> str:
    """The choice not to show these columns, of those that there are."""
    wanted = set(names)
    return ".".join(one for one in COLUMNS if one in wanted)


def hidden_columns() -> tuple[str, ...]:
    """The columns that this browser's lists leave out."""
    return tuple(filter(None, chosen()[HIDDEN].split(".")))


def chosen() -> dict[str, str]:
    """All choices of this browser."""
    return DEFAULTS | cleaned(current_request().cookies)


def shows_exact_times() -> bool:
    """Whether this reader wants to see when something was; asked for each moment of a page."""
    return has_request_context() and current_request().cookies.get("times") == "exact"


def carry(response: Response, choices: Mapping[str, object], *, secure: bool) -> Response:
    """Let the browser carry these choices."""
    for name, value in cleaned(choices).items():
        response.set_cookie(name, value, max_age=YEAR, httponly=True, secure=secure, samesite="Lax")
    return response
