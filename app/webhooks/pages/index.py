"""The list of webhooks; creating, changing and deleting them."""

import secrets
from typing import Any

from flask import Response, request
from sqlalchemy import select

from app.audit.catalogue import EVENTS
from app.core.actor import Actor
from app.database.session import reading, session
from app.web.forms import Form, load_form, submit
from app.web.guard import actor, write
from app.web.render import go, page
from app.webhooks import retrying, service
from app.webhooks.deliveries import health_of
from app.webhooks.models import Webhook
from app.webhooks.pages.show import pages, show_webhook, shown
from app.webhooks.rules import NEVER_FORWARDED
from app.webhooks.schemas import WebhookCreate, WebhookPatch

# What stands before the first dot, in words.
DOMAINS = {
    "ticket": "Tickets",
    "comment": "Comments",
    "wiki": "Wiki pages",
    "sticky_note": "Notes of projects",
    "project": "Projects",
    "workflow_state": "Workflow states",
    "label": "Labels",
    "bot": "Bots",
    "user": "People",
    "auth": "Logins and tokens in use",
    "webhook": "Webhooks",
    "workspace": "The workspace",
    "system": "Sweeps",
    "audit": "Faults of the audit log",
}


def event_tree() -> list[dict[str, Any]]:
    """All event types that webhooks can be told of, by domain."""
    domains: dict[str, list[str]] = {domain: [] for domain in DOMAINS}
    for name in EVENTS:
        if not name.startswith(NEVER_FORWARDED):
            domains.setdefault(name.partition(".")[0], []).append(name)
    return [
        {"name": DOMAINS.get(domain, domain), "prefix": f"{domain}.*", "types": types}
        for domain, types in domains.items()
        if types
    ]


def load_webhook_form() -> Form:
    """The form of this request; a secret that was left empty is made here."""
    secret = request.form.get("secret") or secrets.token_urlsafe(32)
    return with_events(load_form(WebhookCreate, secret=secret))


def with_events(form: Form) -> Form:
    """The form, refused where no event is ticked: a box that is not ticked is not sent."""
    if not any(request.form.getlist("event_types")):
        form.errors.pop("event_types", None)
        form.refuse("event_types", "Choose at least one kind of event.")
    return form


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
