"""Changes to many tickets: the bar below a list, and merging labels and states."""

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any
from urllib.parse import parse_qsl

import orjson
from flask import Response, request
from werkzeug.datastructures import MultiDict

from app.core.actor import Actor
from app.core.errors import DomainError, InvalidField
from app.core.ids import as_uuid, request_id
from app.database.idempotency import StoredAnswer
from app.database.session import reading
from app.projects import labels as project_labels
from app.projects import states
from app.projects.loaders import SeenProject, visible_by_key
from app.projects.pages import LABELS, STATES, project_of
from app.rest.fields import load
from app.tickets import board_sidebar, bulk, list_pages, listing, trees
from app.tickets.bulk import BATCH, MAX_TICKETS, BulkOutcome, Changes, OrderEnd
from app.tickets.filters import CATEGORIES, PRIORITIES
from app.tickets.list_pages import MAX_COUNT
from app.tickets.pages import messages
from app.tickets.pages.blueprint import id_of_number, open_below_text, pages, user_options, words
from app.tickets.pages.list_requests import list_of, read_request
from app.tickets.schemas import TicketPatch
from app.web.filters import number
from app.web.forms import Form, explain, once
from app.web.guard import actor, safe_next, write
from app.web.render import go, html, is_htmx, page, render
from app.web.runs import join_run, run_fields

# The most reasons for skipped tickets that a response lists.
REASONS = 3
# The tickets in one step, and one transaction, of a change to more than ``MAX_TICKETS``.
STEP = BATCH


def _project() -> SeenProject | None:
    """The project of the list, or None for all; needs a unit of work."""
    key = request.values.get("project")
    return visible_by_key(actor(), key) if key else None


def _chosen_ids(project: SeenProject | None) -> list[str]:
    """The selected tickets, or all that the filters match; raises InvalidField."""
    if request.form.get("all") != "yes":
        sent = [as_uuid(value) for value in request.form.getlist("id")]
        ids = list(dict.fromkeys(ticket_id for ticket_id in sent if ticket_id))
    else:
        ids = _matching_ids(_sent_query(), project, MAX_TICKETS + 1)
    if not ids:
        raise InvalidField("id", "required", messages.SELECT_TICKETS)
    if len(ids) > MAX_TICKETS:
        raise InvalidField("id", "too_many", messages.too_many_at_once(MAX_TICKETS))
    return ids


def _sent_query() -> MultiDict[str, str]:
    return MultiDict(parse_qsl(request.form.get("query", "")))


def _matching_ids(
    query: MultiDict[str, str],
    project: SeenProject | None,
    limit: int,
    *,
    end: OrderEnd | None = None,
    start: str | None = None,
) -> list[str]:
    """The first tickets in ``bulk.order_of`` that a query string matches, starting at ``start``."""
    ticket_list = list_of(read_request(query, is_cross_project=project is None), project)
    candidates = list_pages.tally(ticket_list).candidates
    conditions = (
        ticket_list.all_conditions
        if candidates is None
        else [candidates, *ticket_list.all_conditions]
    )
    if start:
        conditions = [*conditions, bulk.starting_at(start, end)]
    return listing.ids(conditions, limit, order=bulk.order_of(end))


def _changes() -> Changes:
    """Parse the bar; raises RequestInvalid or InvalidField. Needs a unit of work."""
    sent = request.form
    if sent.get("action") == "delete":
        return Changes(delete=True)
    if sent.get("action") in set(OrderEnd):
        return Changes(end=OrderEnd(sent["action"]))
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
        fields["parent_ticket_id"] = (
            None if parent == "NONE" else id_of_number(actor(), parent, "parent")
        )
    return Changes(
        fields=load(TicketPatch, fields, "body"),
        place=sent.get("place") or None,
        add_label=as_uuid(sent.get("add_label", "")),
        remove_label=as_uuid(sent.get("remove_label", "")),
    )


@pages.get("/tickets/bulk")
def bar() -> Response:
    """The bar for the cards chosen on a board; readers without scripts go to the list."""
    with reading():
        project = _project()
        if not is_htmx():
            return go(f"/projects/{project.key}/tickets" if project else "/tickets")
        ordered = states.ordered(project.id) if project else ()
        labels = project_labels.by_name(project.id) if project else ()
        return page(
            "tickets/board_bulk.html",
            project=project,
            back=_back(),
            places=[(state.id, state.name) for state in ordered] or words(sorted(CATEGORIES)),
            people=user_options(board_sidebar.all_users(), project.id if project else None),
            priorities=words(PRIORITIES),
            label_options=[(label.id, label.name) for label in labels],
        )


def _back() -> str:
    return safe_next(request.values.get("back"))


@pages.get("/tickets/matching")
def matching() -> Response:
    """The number of tickets that the filters match, up to ``MAX_COUNT``."""
    with reading():
        count = len(_matching_ids(request.args, _project(), MAX_COUNT + 1))
    return html(_up_to_counted(count))


def _up_to_counted(count: int) -> str:
    return f"{number(MAX_COUNT)}+" if count > MAX_COUNT else number(count)


@pages.post("/tickets/bulk")
def change() -> Response:
    """Change selected tickets; a deletion asks for confirmation first."""
    form = Form(raw=request.form.copy())
    try:
        with reading():
            project = _project()
            changes = _changes()
            if changes.delete and request.form.get("sure") != "yes":
                return _ask(project)
            chosen = _chosen_ids(project)
            if changes.end:
                chosen = bulk.in_placing_order(chosen, changes.end)
        if changes.is_empty:
            raise InvalidField("action", "required", messages.SELECT_WHAT_TO_CHANGE)
    except DomainError as error:
        if not explain(form, error):
            raise
        return _refused(next(iter(form.errors.values())))
    outcomes = _run(chosen, changes)
    verb = messages.CHANGED
    if changes.delete or changes.end:
        verb = messages.DELETED if changes.delete else messages.MOVED
    changed = [one for one, outcome in zip(chosen, outcomes, strict=True) if outcome.is_changed]
    with reading():
        below = open_below_text(changed) if changes.place else ""
    return _summary(project, outcomes, verb, below)


def _run(chosen: Sequence[str], changes: Changes) -> list[BulkOutcome]:
    outcomes: list[BulkOutcome] = []
    for start in range(0, len(chosen), BATCH):
        batch, before = chosen[start : start + BATCH], chosen[:start]
        outcomes += write(partial(bulk.change, ticket_ids=batch, changes=changes, before=before))
    return outcomes


@pages.post("/tickets/bulk/step")
def change_step() -> Response:
    """Change ``STEP`` of the tickets that match, from the ticket ``next`` on.

    The JSON says what came of it, and with ``next`` and ``beside``, the last ticket placed at an
    end, how the next step begins. A step that is sent again, as its answer was lost, gets it again.
    One undo takes all steps of a ``run`` back.
    """
    join_run(actor(), request.form.get("run", ""))
    form = Form(raw=request.form.copy())
    try:
        with reading():
            changes = _changes()
            if changes.is_empty:
                raise InvalidField("action", "required", messages.SELECT_WHAT_TO_CHANGE)
            start, beside = (as_uuid(request.form.get(name, "")) for name in ("next", "beside"))
            found = _matching_ids(_sent_query(), _project(), STEP + 1, end=changes.end, start=start)
    except DomainError as error:
        if not explain(form, error):
            raise
        return _as_json(orjson.dumps({"problem": next(iter(form.errors.values()))}), 422)
    chosen = found[:STEP]

    def step(person: Actor) -> StoredAnswer:
        before = [beside] if beside else []
        outcomes = bulk.change(person, chosen, changes, before=before)
        answer = {
            "changed": sum(outcome.is_changed for outcome in outcomes),
            "skipped": Counter(outcome.why for outcome in outcomes if not outcome.is_changed),
            "next": found[STEP] if len(found) > STEP else None,
            "beside": chosen[-1] if chosen else None,
            **run_fields(person),
        }
        return StoredAnswer(200, orjson.dumps(answer), {})

    return _as_json(write(lambda person: once(person, partial(step, person))).body)


def _as_json(answer: bytes, status: int = 200) -> Response:
    return Response(answer, status=status, mimetype="application/json")


def _refused(message: str) -> Response:
    if is_htmx():
        return html(render("tickets/_picked.html", text=message, kind="error"), 422)
    return page("tickets/bulk.html", refused=message, back=_back(), status=422)


def _ask(project: SeenProject | None) -> Response:
    """Ask whether to delete; more tickets than one request can handle are deleted in steps."""
    is_all = request.form.get("all") == "yes"
    matching = _matching_ids(_sent_query(), project, MAX_COUNT + 1) if is_all else []
    in_steps = len(matching) > MAX_TICKETS
    chosen = [] if in_steps else _chosen_ids(project)
    answer = page(
        "tickets/bulk_delete.html",
        block="sheet",
        project=project,
        chosen=chosen,
        count=_up_to_counted(len(matching) if in_steps else len(chosen)),
        steps_query=request.form.get("query", "") if in_steps else None,
        kept=trees.kept_below(chosen) if chosen else 0,
        back=_back(),
    )
    if is_htmx():
        answer.headers["HX-Retarget"] = "#dialog-body"
        answer.headers["HX-Reswap"] = "innerHTML"
        answer.headers["HX-Trigger-After-Swap"] = "docket:sheet"
    return answer


def _summary(
    project: SeenProject | None, outcomes: Sequence[BulkOutcome], verb: str, below: str
) -> Response:
    changed = sum(outcome.is_changed for outcome in outcomes)
    skipped = [outcome for outcome in outcomes if not outcome.is_changed]
    text = messages.counted(changed, verb)
    if skipped:
        text += messages.also_skipped(len(skipped), _why(skipped))
    if below:
        text += f". {below}"
    shown: dict[str, Any] = {
        "text": text,
        "changed": changed,
        "request_id": request_id.get() if changed else None,
        "back": _back(),
    }
    if is_htmx():
        answer = html(render("tickets/_bulk_toast.html", **shown))
        answer.headers["HX-Trigger"] = "docket:changed"
        return answer
    return page("tickets/bulk.html", project=project, skipped=skipped, refused="", **shown)


def _why(skipped: Sequence[BulkOutcome]) -> str:
    counts = Counter(outcome.why for outcome in skipped).most_common()
    if len(counts) == 1:
        return counts[0][0].rstrip(".")
    reasons = [f"{why.rstrip('.')}: {count}" for why, count in counts[:REASONS]]
    if len(counts) > REASONS:
        reasons.append(messages.AND_OTHER_REASONS)
    return "; ".join(reasons)


@pages.post(f"{STATES.rule}/<state_id>/replace")
def replace_state(key: str, state_id: str) -> Response:
    project = project_of(key)
    # The rows of the list cannot show messages, so all are shown above the form.
    form = Form()
    into = request.form.get("into_state_id", "")
    if not into:
        form.refuse("into_state_id", messages.SELECT_A_STATE)

    def work(person: Actor) -> None:
        bulk.replace_state(person, project.id, state_id, into_state_id=into)

    return STATES.run(project, form, work, undo_text=messages.MOVED_AND_STATE_DELETED)


@pages.post(f"{LABELS.rule}/merge")
def merge_labels(key: str) -> Response:
    project = project_of(key)
    fields = ("label_id", "into_label_id")
    form = Form(raw=request.form.copy(), shown=frozenset(fields))
    for name in fields:
        if not form.value(name):
            form.refuse(name, messages.SELECT_A_LABEL)

    def work(person: Actor) -> None:
        into = form.value("into_label_id")
        bulk.merge_label(person, project.id, form.value("label_id"), into_label_id=into)

    return LABELS.run(project, form, work, undo_text=messages.LABELS_MERGED)
