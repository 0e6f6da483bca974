"""The pages of accounts: first-run setup, login, one's profile, people."""

from app.accounts.pages import entry, people, profile
from app.accounts.pages.entry import pages

__all__ = ["entry", "pages", "people", "profile"]
