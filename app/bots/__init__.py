"""Managing bots: their rights and their tokens."""
