"""Feeds that calendars and readers subscribe to, each at an address with a token of its own."""
