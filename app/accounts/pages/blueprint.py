"""The blueprint of these pages, and what several of them need."""

from flask import Blueprint, current_app

from app.accounts.sessions import Peer
from app.config import Settings
from app.web import guard

pages = Blueprint("accounts_pages", __name__)


def settings() -> Settings:
    """The settings of this installation."""
    found: Settings = current_app.config["SETTINGS"]
    return found


def peer() -> Peer:
    """The other end of this request."""
    client = guard.client()
    return Peer(client.address, client.user_agent)
