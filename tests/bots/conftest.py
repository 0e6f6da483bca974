"""Fixtures of the tests of bots: those of accounts."""

from tests.accounts.conftest import admin, setting

__all__ = ["admin", "setting"]
