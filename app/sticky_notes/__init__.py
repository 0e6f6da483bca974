"""Sticky notes: personal ones, which only their creator sees, and those of a project."""
