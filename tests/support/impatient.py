"""The application in a server with short deadlines, for tests that wait for them.

CONNECTIONS is each worker's connection limit; the product itself has no such setting.
"""

import os

from app.config import Settings
from app.serving import asgi, connection, uploads, worker

worker.HEAD_SECONDS = connection.HEAD_SECONDS = 2
worker.CONNECTIONS = int(os.environ.get("CONNECTIONS", worker.CONNECTIONS))
uploads.FIRST_BYTE_SECONDS = 2.0
uploads.LAST_BYTE_SECONDS = 4.0
asgi.UNREAD_SECONDS = connection.UNREAD_SECONDS = 2.0


def create_app():
    """Create the application for flask --app."""
    from app import create_app as made

    return made(Settings.from_env())
