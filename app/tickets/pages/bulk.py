"""One change to many tickets of a list: the bar below it, and what it answers."""

from collections import Counter
from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qsl

from flask import Response, request
from werkzeug.datastructures import MultiDict

from app.core.actor import Actor
from app.core.context import request_id
from app.core.errors import DomainError, InvalidField
from app.core.ids import as_uuid
from app.database.session import reading
from app.projects import labels as project_labels
from app.projects import states
from app.projects.loaders import SeenProject, visible_by_key
from app.rest.fields import load
from app.tickets import board_sidebar, bulk, listing, loaders
from app.tickets.bulk import BATCH, MOST_TICKETS, BulkOutcome, Changes
from app.tickets.filters import CATEGORIES, PRIORITIES
from app.tickets.pages.blueprint import pages, user_options
from app.tickets.pages.filters import words
from app.tickets.pages.listing import conditions_of, read_request
from app.tickets.schemas import TicketPatch
from app.web.filters import number
from app.web.forms import Form, explain
from app.web.guard import actor, safe_next, write
from app.web.render import go, html, is_htmx, page, render

# Reasons that the answer names; the rest is one number.
REASONS = 3


def _project() -> SeenProject | None:
    """The project whose list this is; needs a unit of work."""
    key = request.values.get("project")
    return visible_by_key(actor(), key) if key else None


def _chosen_ids(project: SeenProject | None) -> list[str]:
    """The tickets that were ticked, or all that the filters match; raises InvalidField."""
    if request.form.get("all") != "yes":
        named = [as_uuid(value) for value in request.form.getlist("id")]
        found = list(dict.fromkeys(one for one in named if one))
    else:
        query = MultiDict(parse_qsl(request.form.get("query", "")))
        wanted = read_request(query, everywhere=project is None)
        found = listing.ids(conditions_of(wanted, project), MOST_TICKETS + 1)
    if not found:
        raise InvalidField("id", "required", "Tick some tickets first.")
    if len(found) > MOST_TICKETS:
        raise InvalidField(
            "id", "too_many", f"At most {MOST_TICKETS} tickets change at once; narrow the filter."
        )
    return found


def _changes() -> Changes:
    """What the bar asks for; raises RequestInvalid or InvalidField. Needs a unit of work."""
    sent = request.form
    if sent.get("action") == "delete":
        return Changes(delete=True)
    fields: dict[str, Any] = {}
    assignee = sent.get("assignee_user_id", "")
    if assignee:
        named = {"none": None, "me": actor().id}
        fields["assignee_user_id"] = named.get(assignee, assignee)
    if sent.get("priority"):
        fields["priority"] = sent["priority"]
    if sent.get("no_due_date") or sent.get("due_date"):
        fields["due_date"] = None if sent.get("no_due_date") else sent["due_date"]
    parent = sent.get("parent", "").strip().upper()
    if parent:
        fields["parent_ticket_id"] = None if parent == "NONE" else _parent(parent)
    return Changes(
        fields=load(TicketPatch, fields, "body"),
        place=sent.get("place") or None,
        add_label=as_uuid(sent.get("add_label", "")),
        remove_label=as_uuid(sent.get("remove_label", "")),
    )


def _parent(number_: str) -> str:
    found = loaders.named_in_body(actor(), number_)
    if found is None:
        raise InvalidField("parent", "not_found", f"There is no ticket {number_}.")
    return found.id


@pages.get("/tickets/bulk")
def bar() -> Response:
    """The bar for the cards chosen on a board; without a script one chooses on the list."""
    with reading():
        project = _project()
        if not is_htmx():
            return go(f"/projects/{project.key}/tickets" if project else "/tickets")
        return page("tickets/board_bulk.html", project=project, back=_back(), **choices(project))


def choices(project: SeenProject | None) -> dict[str, Any]:
    """What the bar offers for the tickets of a project, or of all; needs a unit of work."""
    project_id = project.id if project else None
    ordered = states.ordered(project.id) if project else ()
    labels = project_labels.by_name(project.id) if project else ()
    return {
        "places": [(one.id, one.name) for one in ordered] or words(sorted(CATEGORIES)),
        "people": user_options(board_sidebar.all_users(), project_id),
        "priorities": words(PRIORITIES),
        "label_options": [(one.id, one.name) for one in labels],
    }


def _back() -> str:
    return safe_next(request.values.get("back"))


@pages.get("/tickets/matching")
def matching() -> Response:
    """How many tickets the filters match, as far as one change reaches."""
    with reading():
        project = _project()
        wanted = read_request(request.args, everywhere=project is None)
        found = len(listing.ids(conditions_of(wanted, project), MOST_TICKETS + 1))
    return html(f"over {MOST_TICKETS}" if found > MOST_TICKETS else number(found))


@pages.post("/tickets/bulk")
def change() -> Response:
    """Change the chosen tickets in one request; deleting asks first."""
    form = Form(raw=request.form.copy())
    try:
        with reading():
            project = _project()
            chosen = _chosen_ids(project)
            changes = _changes()
        if changes.is_empty:
            raise InvalidField("action", "required", "Choose what to change.")
    except DomainError as error:
        if not explain(form, error):
            raise
        return _refused(next(iter(form.errors.values())))
    if changes.delete and request.form.get("sure") != "yes":
        return _ask(project, chosen)
    outcomes: list[BulkOutcome] = []
    for at in range(0, len(chosen), BATCH):
        outcomes += _batch(chosen[at : at + BATCH], changes)
    return _summary_toast(project, outcomes, deleted=changes.delete)


def _batch(ticket_ids: Sequence[str], changes: Changes) -> list[BulkOutcome]:
    def work(present: Actor) -> list[BulkOutcome]:
        return bulk.change(present, ticket_ids, changes)

    return write(work)


def _refused(message: str) -> Response:
    if is_htmx():
        return html(render("tickets/_picked.html", text=message, kind="error"), 422)
    back = _back()
    return page("tickets/bulk.html", refused=message, back=back, status=422)


def _ask(project: SeenProject | None, chosen: Sequence[str]) -> Response:
    """Say how many tickets would go, and that what lies below them stays."""
    answer = page(
        "tickets/bulk_delete.html",
        block="sheet",
        project=project,
        chosen=chosen,
        back=_back(),
    )
    if is_htmx():
        answer.headers["HX-Retarget"] = "#dialog-body"
        answer.headers["HX-Reswap"] = "innerHTML"
        answer.headers["HX-Trigger-After-Swap"] = "docket:sheet"
    return answer


def _summary_toast(
    project: SeenProject | None, outcomes: Sequence[BulkOutcome], *, deleted: bool
) -> Response:
    changed = sum(one.is_changed for one in outcomes)
    skipped = [one for one in outcomes if not one.is_changed]
    text = f"{changed} {'deleted' if deleted else 'changed'}"
    if skipped:
        text += f", {len(skipped)} skipped ({_why(skipped)})"
    shown: dict[str, Any] = {
        "text": text,
        "request_id": request_id.get() if changed else None,
        "back": _back(),
    }
    if is_htmx():
        answer = html(render("tickets/_bulk_toast.html", **shown))
        answer.headers["HX-Trigger"] = "docket:changed"
        return answer
    return page("tickets/bulk.html", project=project, skipped=skipped, refused="", **shown)


def _why(skipped: Sequence[BulkOutcome]) -> str:
    """The reasons, the most frequent first."""
    counted = Counter(one.why for one in skipped).most_common()
    if len(counted) == 1:
        return counted[0][0].rstrip(".")
    named = [f"{why.rstrip('.')}: {count}" for why, count in counted[:REASONS]]
    return "; ".join([*named, *(["and other reasons"] if len(counted) > REASONS else [])])
