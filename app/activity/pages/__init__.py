"""The pages of the audit log and of the tool log."""

from app.activity.pages import log, tools
from app.activity.pages.blueprint import pages

__all__ = ["log", "pages", "tools"]
