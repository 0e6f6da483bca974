"""Comparing texts: diff and three-way merge."""
