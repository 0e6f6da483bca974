"""Mail to people: an outbox, the form of letters, and sending by SMTP."""
