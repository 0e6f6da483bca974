"""The tasks of a working agent, against a real server through the official client."""
