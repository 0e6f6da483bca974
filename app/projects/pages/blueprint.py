"""The blueprint of these pages, and how they find their project."""

from flask import Blueprint

from app.core.db import reading
from app.projects.loaders import SeenProject, visible_by_key
from app.web.guard import actor

pages = Blueprint("projects_pages", __name__)


def project_of(key: str) -> SeenProject:
    """The project that an address names; raises NotFound or Gone."""
    with reading():
        return visible_by_key(actor(), key)
