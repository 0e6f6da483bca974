"""What the settings allow a delivery."""

from flask import Flask

from app.config import Settings
from app.webhooks import addresses
from app.webhooks.connecting import Limits


def limits(app: Flask, *, total: float = 60.0) -> Limits:
    """The limits of this installation's deliveries; ``total`` is in seconds."""
    settings: Settings = app.config["SETTINGS"]
    return Limits(
        allowed=addresses.networks(settings.webhook_allowed_networks),
        ca_bundle=str(settings.webhook_ca_bundle) if settings.webhook_ca_bundle else None,
        user_agent=settings.user_agent,
        total=total,
    )
