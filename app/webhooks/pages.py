"""The pages of webhooks: the list, a new one, one with its deliveries, one delivery."""

import secrets
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode, urlsplit

import orjson
from flask import Blueprint, Response, g, request
from sqlalchemy import select

from app.audit.event_types import EVENTS, SUBJECTS
from app.core.actor import Actor
from app.core.clock import DAY_MS, HOUR_MS, now_ms
from app.core.errors import Conflict, InvalidField
from app.database.session import reading, session
from app.http.current import current_settings
from app.projects.loaders import listed_keys, projects_in_words
from app.projects.pages import offered_projects
from app.web.forms import Form, Words, load_form, remember_originals, submit, submit_edits
from app.web.guard import actor, write
from app.web.render import go, page
from app.webhooks import attempts, deliveries, manual_delivery, messages, service
from app.webhooks.deliveries import Health, delivery_json, health_of
from app.webhooks.models import DeliveryStatus, Webhook, WebhookDelivery, WebhookForm
from app.webhooks.rules import NEVER_FORWARDED
from app.webhooks.schemas import WebhookCreate, WebhookPatch
from app.webhooks.service import webhook_json
from app.webhooks.snippets import NODE, PYTHON

pages = Blueprint("webhooks_pages", __name__)

MAX_WEBHOOKS = 200
EDITABLE = ("url", "event_types", "project_ids")
MAX_SIBLINGS = 20
ROWS = 50
STATUSES = [
    (DeliveryStatus.SUCCEEDED.value, messages.DELIVERED),
    (DeliveryStatus.RETRYING.value, messages.RETRYING),
    (DeliveryStatus.FAILED.value, messages.FAILED),
]
FORM_NAMES = {
    WebhookForm.JSON: messages.SIGNED_JSON,
    WebhookForm.SLACK: "Slack",
    WebhookForm.MATTERMOST: "Mattermost",
    WebhookForm.DISCORD: "Discord",
    WebhookForm.TEAMS: "Microsoft Teams",
    WebhookForm.MATRIX: "Matrix",
}
SINCE = {"1h": HOUR_MS, "24h": DAY_MS, "7d": 7 * DAY_MS}
PERIODS = [("1h", messages.LAST_HOUR), ("24h", messages.LAST_DAY), ("7d", messages.LAST_WEEK)]
ATTEMPTS = [("2", messages.RETRIES_ONLY), ("4", messages.LAST_RETRY_ONLY)]
EVENT_TYPES = [
    (name, name)
    for name in (*sorted(EVENTS), attempts.TEST_EVENT)
    if not name.startswith(NEVER_FORWARDED)
]
# The name, the label and the options of each filter.
FILTERS = (
    ("status", messages.ANY_OUTCOME, STATUSES),
    ("since", messages.ANY_TIME, PERIODS),
    ("attempt_min", messages.ANY_ATTEMPT, ATTEMPTS),
    ("event_type", messages.ANY_EVENT, EVENT_TYPES),
)


@pages.get("/webhooks")
def index() -> Response:
    service.list_webhooks.admit(actor())
    with reading():
        webhooks = session.scalars(
            select(Webhook)
            .order_by(Webhook.created_at.desc(), Webhook.id.desc())
            .limit(MAX_WEBHOOKS)
        ).all()
        health = health_of([webhook.id for webhook in webhooks])
    return page(
        "webhooks/index.html",
        webhooks=[_summary(webhook, health[webhook.id]) for webhook in webhooks],
    )


def _summary(webhook: Webhook, health: Health) -> dict[str, Any]:
    """A webhook with its host apart from the rest of its address."""
    split = urlsplit(webhook.url)
    rest = split.path + (f"?{split.query}" if split.query else "")
    return webhook_json(webhook) | {
        "host": split.netloc,
        "rest": "" if rest == "/" else rest,
        "health": health,
        "events": _events_in_words(webhook.event_types),
        "form_name": FORM_NAMES[WebhookForm(webhook.form)],
    }


def _events_in_words(event_types: list[str]) -> str:
    if len(event_types) > 2 and "*" not in event_types:
        return messages.event_types(len(event_types))
    return _each_in_words(event_types)


def _each_in_words(event_types: list[str]) -> str:
    return messages.ALL_EVENTS if "*" in event_types else ", ".join(event_types)


@pages.get("/webhooks/new")
def new() -> Response:
    service.create_webhook.admit(actor())
    return _new_page(Form())


def _new_page(form: Form, status: int = 200) -> Response:
    with reading():
        projects = offered_projects()
    return page(
        "webhooks/new.html",
        form=form,
        tree=_event_tree(),
        forms=FORM_NAMES.items(),
        projects=projects,
        status=status,
    )


@pages.post("/webhooks")
def create() -> Response:
    """Create a webhook and show its secret, in this answer only.

    A form that is sent twice creates two, as an answer with a secret is not stored for replay.
    """
    # An empty secret is generated, except for Matrix, where it is an access token.
    secret = request.form.get("secret") or secrets.token_urlsafe(32)
    form = _require_events(load_form(WebhookCreate, secret=secret))
    is_matrix = request.form.get("form") == WebhookForm.MATRIX
    if is_matrix and not request.form.get("secret"):
        form.refuse("secret", messages.TOKEN_NEEDED)
    created: list[str] = []

    def work(person: Actor) -> None:
        created[:] = [service.create_webhook(person, **form.data).id]

    if not submit(form, work):
        return _new_page(form, 422)
    # Chats need no signature, and the person who entered an access token has it.
    if form.data.get("form", WebhookForm.JSON) != WebhookForm.JSON:
        return go(f"/webhooks/{created[0]}")
    return _show_webhook(created[0], secret=form.data["secret"])


@pages.get("/webhooks/<webhook_id>/edit")
def edit(webhook_id: str) -> Response:
    return _edit_page(webhook_id, Form())


def _edit_page(webhook_id: str, form: Form, status: int = 200) -> Response:
    with reading():
        webhook = service.get_webhook(actor(), webhook_id)
        projects = offered_projects()
    remember_originals(form, _editable_values(webhook))
    return page(
        "webhooks/edit.html",
        webhook=webhook,
        form=form,
        tree=_event_tree(),
        projects=projects,
        status=status,
    )


def _editable_values(webhook: Webhook) -> dict[str, Any]:
    return {name: getattr(webhook, name) for name in EDITABLE}


@pages.post("/webhooks/<webhook_id>/edit")
def change(webhook_id: str) -> Response:
    form = _require_events(load_form(WebhookPatch))
    # Browsers do not send unticked boxes: none ticked means all projects.
    form.data.setdefault("project_ids", [])
    secret = request.form.get("secret")
    rotation: dict[str, Any] = {"secret": secret, "rotate_secret": True} if secret else {}

    def stored(_: Actor) -> dict[str, Any]:
        return _editable_values(service.find(webhook_id, lock=True))

    def work(person: Actor, edited: dict[str, Any]) -> None:
        changes = {name: edited[name] for name in EDITABLE if name in edited}
        service.update_webhook(person, webhook_id, **changes, **rotation)

    words: Words = {"project_ids": projects_in_words, "event_types": _each_in_words}
    if submit_edits(form, stored, work, words):
        return go(f"/webhooks/{webhook_id}")
    return _edit_page(webhook_id, form, 422)


def _event_tree() -> list[dict[str, Any]]:
    """The event types that webhooks can subscribe to, by domain."""
    domains: dict[str, list[str]] = {domain: [] for domain in SUBJECTS}
    for name in EVENTS:
        if not name.startswith(NEVER_FORWARDED):
            domains.setdefault(name.partition(".")[0], []).append(name)
    return [
        {"name": SUBJECTS.get(domain, domain), "prefix": f"{domain}.*", "types": types}
        for domain, types in domains.items()
        if types
    ]


def _require_events(form: Form) -> Form:
    """Refuse a form without an event; all events leave none to select."""
    given = request.form.getlist("event_types")
    if "*" in given:
        form.data["event_types"] = ["*"]
    # Browsers do not send unticked boxes.
    if not any(given):
        form.errors.pop("event_types", None)
        form.refuse("event_types", messages.SELECT_AN_EVENT)
    return form


@pages.get("/webhooks/<webhook_id>/delete")
def ask_to_delete(webhook_id: str) -> Response:
    with reading():
        webhook = service.get_webhook(actor(), webhook_id)
    return page("webhooks/delete.html", block="sheet", webhook=webhook)


@pages.post("/webhooks/<webhook_id>/delete")
def delete(webhook_id: str) -> Response:
    """Delete a webhook; its deliveries remain in the API."""
    write(lambda person: service.delete_webhook(person, webhook_id))
    return go("/webhooks")


@pages.get("/webhooks/<webhook_id>")
def show(webhook_id: str) -> Response:
    return _show_webhook(webhook_id)


@pages.post("/webhooks/<webhook_id>")
def act(webhook_id: str) -> Response:
    """Switch a webhook on or off, rotate its secret, or send a test."""
    action = request.form.get("action")
    if action == "rotate":
        secret = secrets.token_urlsafe(32)
        write(
            lambda person: service.update_webhook(
                person, webhook_id, rotate_secret=True, secret=secret
            )
        )
        return _show_webhook(webhook_id, secret=secret)
    if action == "test":
        row = manual_delivery.send_test(actor(), webhook_id)
        return go(f"/webhooks/{webhook_id}/deliveries/{row['id']}")
    if action in ("activate", "deactivate"):
        is_active = action == "activate"
        write(lambda person: service.update_webhook(person, webhook_id, is_active=is_active))
    return go(f"/webhooks/{webhook_id}")


def _show_webhook(webhook_id: str, *, secret: str = "") -> Response:
    """One webhook with its delivery log; a new secret is shown in this answer only."""
    filters = _chosen_filters()
    cursor = request.args.get("cursor") or None
    path = f"/webhooks/{webhook_id}"
    if secret:
        g.shows_secret = True
    with reading():
        webhook = service.get_webhook(actor(), webhook_id)
        health = health_of([webhook.id])[webhook.id]
        keys = listed_keys(webhook.project_ids)
        try:
            log = deliveries.list_deliveries(
                actor(),
                webhook.id,
                limit=ROWS,
                cursor=cursor,
                status=filters.get("status"),
                since=now_ms() - SINCE[filters["since"]] if "since" in filters else None,
                attempt_min=int(filters["attempt_min"]) if "attempt_min" in filters else None,
                event_type=filters.get("event_type"),
            )
        except InvalidField:
            # The cursor is malformed: start at the top.
            return go(_address(path, filters))
    more = {"cursor": log.next_cursor} if log.next_cursor else None
    return page(
        "webhooks/show.html",
        block="" if secret else "results",
        webhook=_summary(webhook, health),
        project_keys=keys,
        deliveries=log.data,
        secret=secret,
        action=path,
        filtered=bool(filters),
        filters=_filter_fields(filters),
        first_url=_address(path, filters) if cursor else "",
        next_url=_address(path, {**filters, **more}) if more else "",
        python=PYTHON,
        node=NODE,
    )


def _chosen_filters() -> dict[str, str]:
    """The valid filters in the address; others are ignored."""
    chosen = {}
    for name, _, options in FILTERS:
        value = request.args.get(name, "")
        if value in dict(options):
            chosen[name] = value
    return chosen


def _filter_fields(chosen: dict[str, str]) -> list[dict[str, Any]]:
    return [
        {"name": name, "label": label, "options": options, "value": chosen.get(name, "")}
        for name, label, options in FILTERS
    ]


def _address(path: str, query: dict[str, str]) -> str:
    return f"{path}?{urlencode(query)}" if query else path


@pages.get("/webhooks/<webhook_id>/deliveries/<delivery_id>")
def show_delivery(webhook_id: str, delivery_id: str) -> Response:
    return _show_delivery(webhook_id, delivery_id)


@pages.post("/webhooks/<webhook_id>/deliveries/<delivery_id>/retry")
def retry(webhook_id: str, delivery_id: str) -> Response:
    try:
        row = manual_delivery.retry_delivery(actor(), webhook_id, delivery_id)
    except Conflict as error:
        return _show_delivery(webhook_id, delivery_id, refused=error.message, status=409)
    return go(f"/webhooks/{row['webhook_id']}/deliveries/{row['id']}")


def _show_delivery(
    webhook_id: str, delivery_id: str, *, refused: str = "", status: int = 200
) -> Response:
    """One attempt with its request, rebuilt from the event, which never changes."""
    with reading():
        webhook = service.get_webhook(actor(), webhook_id)
        delivery = deliveries.find(delivery_id, webhook_id=webhook_id)
        event = _event(delivery)
        message = attempts.message_about(webhook, event)
        attempt = attempts.attempt_of(webhook, event, delivery.id, delivery.attempt, message)
        body: Any = orjson.loads(attempt.body)
        siblings = _siblings(delivery)
    return page(
        "webhooks/delivery.html",
        webhook=webhook,
        host=urlsplit(webhook.url).netloc,
        delivery=delivery_json(delivery),
        headers=_shown_headers(attempt),
        body=orjson.dumps(body, option=orjson.OPT_INDENT_2).decode(),
        audit_event_id=delivery.audit_event_id,
        siblings=[delivery_json(sibling) for sibling in siblings],
        refused=refused,
        status=status,
    )


def _shown_headers(attempt: attempts.DeliveryAttempt) -> dict[str, str]:
    """The headers without the secret, and without time and signature, which each request sets."""
    sent = replace(attempt, secret=b"").headers(b"", 0, current_settings().user_agent)
    for name in ("X-Webhook-Timestamp", "X-Webhook-Signature", "Authorization"):
        sent.pop(name, None)
    return sent


def _event(delivery: WebhookDelivery) -> attempts.Event:
    if delivery.audit_event_id is None:
        return attempts.test_event(delivery.webhook_id, delivery.created_at, delivery.request_id)
    return attempts.event_of(delivery.audit_event_id)


def _siblings(delivery: WebhookDelivery) -> list[WebhookDelivery]:
    """The newest attempts to deliver this event to this webhook and this one, oldest first."""
    if delivery.audit_event_id is None:
        return [delivery]
    statement = (
        select(WebhookDelivery)
        .where(
            WebhookDelivery.webhook_id == delivery.webhook_id,
            WebhookDelivery.audit_event_id == delivery.audit_event_id,
        )
        .order_by(WebhookDelivery.created_at.desc(), WebhookDelivery.id.desc())
        .limit(MAX_SIBLINGS)
    )
    newest = [*session.scalars(statement)][::-1]
    return newest if delivery in newest else [delivery, *newest]
