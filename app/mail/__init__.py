"""Mail to people: an outbox, what letters look like, and sending them by SMTP."""
