"""Rewind: taking back what one user did in a span, newest first, by ordinary writes."""
