"""The blueprint of these pages, and what several of them need."""

from typing import Any

from flask import Blueprint

from app.tickets.fields import FIELDS
from app.web.guard import actor

pages = Blueprint("tickets_pages", __name__)

# The fields of a ticket as pages name them.
FACTS = {one.part: one.label for one in FIELDS}


def words(values: tuple[str, ...]) -> list[tuple[str, str]]:
    """Words of a closed set as options."""
    return [(value, value.capitalize()) for value in values]


def may_be_assigned(user: Any, project_id: str | None) -> bool:
    """Whether a ticket of this project can be this user's: active, and able to see it."""
    fenced = user.type == "bot" and user.project_ids and project_id not in user.project_ids
    return user.is_active and not (fenced and project_id)


def user_options(users: Any, project_id: str | None) -> list[tuple[str, str]]:
    """Users as options: me first, then people, then bots."""
    me = actor().id
    usable = [row for row in users if may_be_assigned(row, project_id)]
    usable.sort(key=lambda row: row.id != me)
    return [
        (row.id, f"{row.display_name} ({'me' if row.id == me else row.type})")
        if row.id == me or row.type == "bot"
        else (row.id, row.display_name)
        for row in usable
    ]
