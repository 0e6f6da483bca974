"""Feeds that calendars and readers subscribe to, each at a URL with its own token."""
