"""The WSGI entry point: any WSGI server can run ``wsgi:app``; ``make run`` uses granian."""

from app import create_app

app = create_app()
