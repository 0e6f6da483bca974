"""The fixtures of accounts, for the tests of bots."""

from tests.accounts.conftest import admin, setting

__all__ = ["admin", "setting"]
