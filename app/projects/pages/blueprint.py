"""The blueprint of these pages, and how they find their project."""

from typing import Any

from flask import Blueprint

from app.database.session import reading
from app.projects import service as projects
from app.projects.loaders import SeenProject, visible_by_key
from app.web.guard import actor

# Projects that a form offers.
OPTIONS = 200

pages = Blueprint("projects_pages", __name__)


def project_of(key: str) -> SeenProject:
    """The project that an address names; raises NotFound or Gone."""
    with reading():
        return visible_by_key(actor(), key)


def project_options() -> list[tuple[str, str]]:
    """Projects as options, by their keys."""
    found: list[dict[str, Any]] = projects.list_projects(actor(), limit=OPTIONS, cursor=None).data
    return [(one["key"], f"{one['key']} · {one['name']}") for one in found]
