"""The way in: every ``flask`` command comes through here, and any WSGI server can run it."""

import os
import sys

# What is stored and written out is for this user alone: databases, backups, exports.
os.umask(0o077)

try:
    from app import create_app

    app = create_app()
except KeyboardInterrupt:
    # As of a program that SIGINT ended.
    sys.exit(130)
