"""Importing issues and wiki pages from the files of other programs."""
