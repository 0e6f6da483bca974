"""Whether the SECRET_KEY at hand is the one under which secrets were sealed."""

from sqlalchemy import select

from app.core.db import session
from app.webhooks import service as webhooks
from app.webhooks.models import Webhook


def sealed_for_good() -> int:
    """How many webhooks have a secret that this SECRET_KEY does not open."""
    return sum(webhooks.opened(one) is None for one in session.scalars(select(Webhook)))
