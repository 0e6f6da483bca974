"""Measure the real server's speed from outside (`make bench`)."""
