"""The pages of the audit log, the tool log, bots and their reviews, and a project's overview."""

from app.activity.pages import bot, bot_review, log, project, tool_log
from app.activity.pages.log import pages

__all__ = ["bot", "bot_review", "log", "pages", "project", "tool_log"]
