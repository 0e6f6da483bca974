"""The form of a webhook: its address and a tree of events."""

import secrets
from typing import Any

from flask import request

from app.audit.catalogue import EVENTS
from app.web.forms import Form, load_form
from app.webhooks.rules import NEVER_FORWARDED
from app.webhooks.schemas import WebhookCreate

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
