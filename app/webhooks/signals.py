"""What tells the worker of this process, right after a commit, that there is something to send."""

from app.database.signals import Bell

outbox_filled = Bell()
