"""The pages of projects: the list, a new one, and its settings."""

from app.projects.pages import projects, settings
from app.projects.pages.blueprint import pages

__all__ = ["pages", "projects", "settings"]
