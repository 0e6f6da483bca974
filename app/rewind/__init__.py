"""Rewind: undoing what one user did in a time span, newest first, by ordinary writes."""
