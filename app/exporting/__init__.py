"""Exporting data: a dump for restoring, and Markdown for reading."""
