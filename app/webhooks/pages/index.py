"""The list of webhooks, and making one."""

from flask import Response
from sqlalchemy import select

from app.core.actor import Actor
from app.database.session import reading, session
from app.web.forms import Form, submit
from app.web.guard import actor
from app.web.render import page
from app.webhooks import service
from app.webhooks.health import health_of
from app.webhooks.models import Webhook
from app.webhooks.pages.blueprint import pages, shown
from app.webhooks.pages.forms import event_tree, load_webhook_form
from app.webhooks.pages.show import show_webhook

SHOWN = 200


@pages.get("/webhooks")
def index() -> Response:
    """Show all webhooks with how their last attempts went."""
    service.list_webhooks.admit(actor())
    with reading():
        found = session.scalars(
            select(Webhook).order_by(Webhook.created_at.desc(), Webhook.id.desc()).limit(SHOWN)
        ).all()
        health = health_of([one.id for one in found])
    return page("webhooks/index.html", webhooks=[shown(one, health[one.id]) for one in found])


@pages.get("/webhooks/new")
def new() -> Response:
    """Show the form of a new webhook."""
    service.create_webhook.admit(actor())
    return page("webhooks/new.html", form=Form(), tree=event_tree())


@pages.post("/webhooks")
def create() -> Response:
    """Make a webhook and show its secret, in this one answer.

    Sent twice it makes two: the answer holds a secret, so it is not kept to be replayed.
    """
    form = load_webhook_form()
    made: list[str] = []

    def work(present: Actor) -> None:
        made[:] = [service.create_webhook(present, **form.data).id]

    form.data.pop("client_request_id", None)
    if not submit(form, work):
        return page("webhooks/new.html", form=form, tree=event_tree(), status=422)
    return show_webhook(made[0], secret=form.data["secret"])
