"""The blueprint of these pages."""

from flask import Blueprint

pages = Blueprint("bots_pages", __name__)

# Bots and projects that a page names at once.
SHOWN = 200
