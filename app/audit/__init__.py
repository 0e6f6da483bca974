"""Writing the audit log: the event types, and how they are recorded. ``activity`` reads it."""
