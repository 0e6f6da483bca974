"""Undo: reverting events by ordinary writes."""
