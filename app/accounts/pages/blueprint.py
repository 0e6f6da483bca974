"""The blueprint of these pages, and what several of them need."""

from flask import Blueprint

from app.accounts.sessions import Peer
from app.web import guard

pages = Blueprint("accounts_pages", __name__)


def peer() -> Peer:
    """The other end of this request."""
    client = guard.client()
    return Peer(client.address, client.user_agent, client.is_local)
