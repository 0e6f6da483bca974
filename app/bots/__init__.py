"""Bots as people manage them: their rights and their tokens."""
