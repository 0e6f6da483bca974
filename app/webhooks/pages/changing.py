"""What people do with a webhook: change it, switch it, rotate its secret, try it, delete it."""

import secrets

from flask import Response, request

from app.database.session import reading
from app.web.forms import load_form, submit
from app.web.guard import actor, write
from app.web.render import go, page
from app.webhooks import retrying, service
from app.webhooks.pages.blueprint import pages
from app.webhooks.pages.forms import event_tree, with_events
from app.webhooks.pages.show import show_webhook
from app.webhooks.schemas import WebhookPatch


@pages.post("/webhooks/<webhook_id>")
def act(webhook_id: str) -> Response:
    """Switch it on or off, rotate its secret, or send a test."""
    action = request.form.get("action")
    if action == "rotate":
        made = secrets.token_urlsafe(32)
        write(
            lambda present: service.update_webhook(
                present, webhook_id, rotate_secret=True, secret=made
            )
        )
        return show_webhook(webhook_id, secret=made)
    if action == "test":
        return _test(webhook_id)
    if action in ("activate", "deactivate"):
        wanted = action == "activate"
        write(lambda present: service.update_webhook(present, webhook_id, is_active=wanted))
    return go(f"/webhooks/{webhook_id}")


def _test(webhook_id: str) -> Response:
    row = retrying.send_test(actor(), webhook_id)
    return go(f"/webhooks/{webhook_id}/deliveries/{row['id']}")


@pages.get("/webhooks/<webhook_id>/edit")
def edit(webhook_id: str) -> Response:
    """Show the form that changes it."""
    with reading():
        webhook = service.get_webhook(actor(), webhook_id)
    return page("webhooks/edit.html", webhook=webhook, form=None, tree=event_tree())


@pages.post("/webhooks/<webhook_id>/edit")
def change(webhook_id: str) -> Response:
    """Change its address or its events."""
    form = with_events(load_form(WebhookPatch))
    wanted = {name: form.data[name] for name in ("url", "event_types") if name in form.data}
    if submit(form, lambda present: service.update_webhook(present, webhook_id, **wanted)):
        return go(f"/webhooks/{webhook_id}")
    with reading():
        webhook = service.get_webhook(actor(), webhook_id)
    return page("webhooks/edit.html", webhook=webhook, form=form, tree=event_tree(), status=422)


@pages.get("/webhooks/<webhook_id>/delete")
def ask_to_delete(webhook_id: str) -> Response:
    """Ask before deleting it."""
    with reading():
        webhook = service.get_webhook(actor(), webhook_id)
    return page("webhooks/delete.html", block="sheet", webhook=webhook)


@pages.post("/webhooks/<webhook_id>/delete")
def delete(webhook_id: str) -> Response:
    """Delete it; its deliveries remain in the API."""
    write(lambda present: service.delete_webhook(present, webhook_id))
    return go("/webhooks")
