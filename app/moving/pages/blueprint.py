"""The blueprint of these pages, and what both need."""

from typing import Any

from flask import Blueprint

from app.projects import service as projects
from app.web.guard import actor

pages = Blueprint("moving_pages", __name__)

SHOWN = 200


def project_options() -> list[tuple[str, str]]:
    """Projects as options, by their keys."""
    found: list[dict[str, Any]] = projects.list_projects(actor(), limit=SHOWN, cursor=None).data
    return [(one["key"], f"{one['key']} · {one['name']}") for one in found]
