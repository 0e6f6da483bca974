"""The read side of the audit log: the log itself, and the activity of a ticket or project."""
