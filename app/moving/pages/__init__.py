"""The pages of moving in and out: import and export."""

from app.moving.pages import exporting, importing
from app.moving.pages.blueprint import pages

__all__ = ["exporting", "importing", "pages"]
