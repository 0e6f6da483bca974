"""The first steps after setup, and the sample project."""
