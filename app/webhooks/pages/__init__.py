"""The pages of webhooks: the list, a new one, one with its deliveries, one delivery."""

from app.webhooks.pages import changing, delivery, index, show
from app.webhooks.pages.blueprint import pages

__all__ = ["changing", "delivery", "index", "pages", "show"]
