"""Inject faults into the real server and check one ledger against the database after each.

``make torture`` runs everything for MINUTES (20); ``make torture SHORT=1`` is the short form for
CI. RELIABILITY.md lists the runs and their findings.
"""
