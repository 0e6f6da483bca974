"""The way in: every ``flask`` command comes through here, and any WSGI server can run it."""

import os

from app import create_app

# What is stored and written out is for this user alone: databases, backups, exports.
os.umask(0o077)

app = create_app()
