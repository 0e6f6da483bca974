"""Notices: a person's inbox by mail, as often as each person chooses."""
