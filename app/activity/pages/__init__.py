"""The pages of the audit log and of the tool log, undoing, and the review of a bot."""

from app.activity.pages import (
    at_work,
    bot,
    exporting,
    home,
    inbox,
    log,
    project,
    reviewing,
    tools,
    undoing,
)
from app.activity.pages.blueprint import pages

__all__ = [
    "at_work",
    "bot",
    "exporting",
    "home",
    "inbox",
    "log",
    "pages",
    "project",
    "reviewing",
    "tools",
    "undoing",
]
