"""Importing from the APIs of other trackers: downloading, and reading downloads."""
