"""The first minutes: three steps after the setup, and a sample project to look around in."""
