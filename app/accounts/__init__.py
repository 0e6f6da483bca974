"""Users (human and bot rows), their credentials, sessions, first-run setup and login."""
