"""The pages of webhooks: the list, a new one, one with its deliveries, one delivery."""

from app.webhooks.pages import index, show
from app.webhooks.pages.show import pages

__all__ = ["index", "pages", "show"]
