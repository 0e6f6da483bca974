"""Notices: what a person's inbox holds, by mail, as often as each person chooses."""
