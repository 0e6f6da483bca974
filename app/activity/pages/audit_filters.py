"""The filters of the audit log and the tool log: the URL holds their state, menus change it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from flask import request
from sqlalchemy import select

from app.accounts.models import User
from app.accounts.users import list_users
from app.activity import messages
from app.core.clock import DAY_MS, HOUR_MS, now_ms
from app.core.ids import NIL_ID, as_uuid
from app.database.session import session
from app.web.guard import actor

DEFAULT_SPAN = "24h"
# The length of a span in milliseconds, and its name.
SPANS: dict[str, tuple[int | None, str]] = {
    "1h": (HOUR_MS, messages.LAST_HOUR),
    "24h": (DAY_MS, messages.LAST_DAY),
    "7d": (7 * DAY_MS, messages.LAST_WEEK),
    "30d": (30 * DAY_MS, messages.LAST_MONTH),
    "all": (None, messages.ALL_TIME),
}
# People and bots in a menu; the URL accepts any username.
MAX_USERS = 200
MAX_OPTIONS_WITHOUT_SEARCH = 8


@dataclass(frozen=True, slots=True)
class Option:
    text: str
    note: str
    href: str
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class Menu:
    """A filter chosen from a menu of links; the first option clears it."""

    name: str
    label: str
    # The text of the selected option; empty for the first one.
    shown: str
    options: list[Option]

    @property
    def is_many(self) -> bool:
        """Whether the menu has a search box for options."""
        return len(self.options) > MAX_OPTIONS_WITHOUT_SEARCH


def menu(
    path: str,
    filters: Mapping[str, str],
    name: str,
    label: str,
    none: str,
    options: Iterable[tuple[str, str, str]],
) -> Menu:
    """The menu of one filter; each option is a value, a text and a note."""
    value = filters.get(name, "")
    offered = list(options)
    texts = {key: text for key, text, _ in offered}
    return Menu(
        name=name,
        label=label,
        shown=texts.get(value, value),
        options=[
            Option(text, note, address(path, {**filters, name: key}), key == value)
            for key, text, note in [("", none, ""), *offered]
        ],
    )


def time_menu(path: str, filters: Mapping[str, str]) -> Menu:
    chosen = filters.get("span", DEFAULT_SPAN)
    options = [
        Option(
            text,
            "",
            address(path, {**filters, "span": key if key != DEFAULT_SPAN else ""}),
            key == chosen,
        )
        for key, (_, text) in SPANS.items()
    ]
    return Menu("span", messages.TIME, SPANS[chosen][1], options)


def people_offered() -> list[dict[str, Any]]:
    """People and bots by name, for menus; needs a unit of work."""
    users = list_users(actor(), limit=MAX_USERS, cursor=None).data
    return sorted(users, key=lambda user: str(user["display_name"]).casefold())


def user_id(username: str) -> str:
    return session.scalar(select(User.id).where(User.username == username.lower())) or NIL_ID


def id_or_nil(sent: str) -> str:
    """The id that a client sent; the nil UUID, which no row has, if it is none."""
    return as_uuid(sent) or NIL_ID


def read_filters(*names: str) -> dict[str, str]:
    """The filters that the URL sets, without the default span."""
    filters = {name: request.args.get(name, "").strip() for name in (*names, "span")}
    if filters["span"] not in SPANS or filters["span"] == DEFAULT_SPAN:
        filters["span"] = ""
    return {name: value for name, value in filters.items() if value}


def since(filters: Mapping[str, str]) -> int | None:
    """The start of the chosen span, in milliseconds; None for all time."""
    length, _ = SPANS[filters.get("span", DEFAULT_SPAN)]
    return None if length is None else now_ms() - length


def address(path: str, filters: Mapping[str, str], **more: str | None) -> str:
    query = {name: value for name, value in {**filters, **more}.items() if value}
    return f"{path}?{urlencode(query)}" if query else path


def navigation(path: str, filters: Mapping[str, str], next_cursor: str | None) -> dict[str, Any]:
    """The context that both logs share: the filters, and links to the first and next page."""
    return {
        "path": path,
        "chosen": filters,
        "first_url": address(path, filters) if request.args.get("cursor") else "",
        "next_url": address(path, filters, cursor=next_cursor) if next_cursor else "",
    }
