"""The application in a server with short deadlines, for tests that wait for them."""

from app import asgi, worker
from app.config import Settings

worker.HEAD_SECONDS = 2
asgi.FIRST_BYTE_SECONDS = 2.0
asgi.LAST_BYTE_SECONDS = 4.0
asgi.UNREAD_SECONDS = worker.UNREAD_SECONDS = 2.0


def create_app():
    """The application of flask --app."""
    from app import create_app as made

    return made(Settings.from_env())
