"""Data out: a dump to restore from, Markdown to read."""
