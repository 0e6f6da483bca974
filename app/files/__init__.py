"""Files: their contents by SHA-256 in a store, what they are, and sending them."""
