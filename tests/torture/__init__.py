"""Faults against the real server, and one ledger that is held against the database after each.

``make torture`` runs everything for MINUTES (20); ``make torture SHORT=1`` is the form of CI. What
has been run, and what it found, stands in RELIABILITY.md.
"""
