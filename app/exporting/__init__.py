"""Exporting data: a dump to restore from, and Markdown to read."""
