"""An installation as files that outlive it: JSON lines to restore from, Markdown to read.

The format is documented in docs/export-format.md and stable: it only grows, and exporting what was
imported gives the same files, byte by byte.
"""
