"""Screenshots of every page, for review: ``make screenshots``."""
