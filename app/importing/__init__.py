"""Importing issues and wiki pages from other programs."""
