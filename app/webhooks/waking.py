"""What tells the worker of this process, right after a commit, that there is something to send."""

from app.core.bells import Bell

outbox_filled = Bell()
