"""The write side of the audit log: what can be recorded, and how. Reading is in ``activity``."""
