"""The database: session, engines, units of work, locks, group commit, idempotency."""
