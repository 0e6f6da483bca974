"""Writing the audit log: event types, and recording events. ``activity`` reads the log."""
