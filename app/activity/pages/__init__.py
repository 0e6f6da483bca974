"""The pages of the audit log and of the tool log, undoing, and what a bot did."""

from app.activity.pages import log, tools, undoing
from app.activity.pages.blueprint import pages

__all__ = ["log", "pages", "tools", "undoing"]
