"""Screenshots of every page, to be looked at: ``make screenshots``."""
