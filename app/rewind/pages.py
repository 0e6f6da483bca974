"""The page of a rewind: a preview, the rewind in steps, and the kept values, decided one by one."""

import time
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import urlencode

import orjson
from flask import Blueprint, Response, request

from app.activity import bot_activity
from app.core.clock import iso
from app.core.errors import InvalidField
from app.core.ids import as_uuid
from app.core.lanes import Lane, require
from app.database.pagination import Page
from app.database.session import reading
from app.projects.loaders import visible_by_key
from app.projects.pages import project_options
from app.rewind import messages, others
from app.rewind.previewing import MAX_COUNT, MAX_PREVIEWED_EVENTS, list_kept, preview
from app.rewind.scope import MAX_REQUESTS, RewindScope, end_of_now, moment_of
from app.rewind.service import (
    RewindStep,
    check_scope,
    put_back_anyway,
    rewind_step,
)
from app.rewind.wording import MAX_LISTED, RewindSummary, kept_lines, named_subjects
from app.web.forms import Form
from app.web.guard import actor, write
from app.web.render import go, page

pages = Blueprint("rewind_pages", __name__)

PATH = "/rewind"
# The most events of one request of a rewind; it stops earlier after STEP_SECONDS.
STEP_EVENTS = 200
STEP_SECONDS = 2.0
SPANS = (
    ("1h", messages.LAST_HOUR),
    ("4h", messages.LAST_4_HOURS),
    ("24h", messages.LAST_DAY),
    ("7d", messages.LAST_WEEK),
)


@dataclass(frozen=True, slots=True)
class RewindRequest:
    """Whose changes to rewind, as in the address; ``scope`` is None without a span."""

    title: str
    back: str
    fields: list[tuple[str, str]]
    scope: RewindScope | None

    @property
    def address(self) -> str:
        return f"{PATH}?{urlencode(self.fields)}"


def _read(form: Form) -> RewindRequest:
    """The request; ``form`` gets the errors of its span. Needs a unit of work."""
    request_ids = [as_uuid(value) for value in request.values.getlist("request")]
    if request_ids:
        return _of_import([value for value in request_ids if value])
    username = request.values.get("bot", "")
    if not username:
        raise InvalidField("bot", "required", messages.SELECT_A_BOT)
    bot = bot_activity.bot_named(actor(), username)
    since, until, key = (
        request.values.get(name, "").strip() for name in ("since", "until", "project")
    )
    project = visible_by_key(actor(), key) if key else None
    moments = {
        name: _moment(form, name, value) for name, value in (("since", since), ("until", until))
    }
    start, end = moments["since"], moments["until"]
    if end is None:
        end = end_of_now()
    if start is not None and start >= end:
        form.refuse("until", messages.END_BEFORE_START)
    fields = [("bot", bot.username)]
    scope = None
    if start is not None and not form.errors:
        scope = RewindScope(bot.id, start, end, project.id if project else None)
        # An age would mean a different time in each step.
        fields += [("since", iso(start)), ("until", iso(end)), ("project", key)]
    return RewindRequest(bot.display_name, f"/bots/{bot.username}", fields, scope)


def _moment(form: Form, name: str, text: str) -> int | None:
    try:
        return moment_of(text) if text else None
    except ValueError:
        form.refuse(name, messages.NO_TIME)
        return None


def _of_import(request_ids: list[str]) -> RewindRequest:
    scope = RewindScope.of_requests(actor().id, request_ids[: MAX_REQUESTS + 1])
    check_scope(actor(), scope)
    fields = [("request", one) for one in scope.request_ids]
    return RewindRequest(messages.YOUR_IMPORT, "/import", fields, scope)


@pages.get(PATH)
def show() -> Response:
    """The form of the span and, with one, a preview of what a rewind would do."""
    return _page(RewindSummary(), "")


@pages.post(PATH)
def rewind() -> Response:
    """Rewind some steps, for readers without scripts; the page shows how to go on."""
    done = RewindSummary()
    with reading():
        requested = _read(Form())
    beyond = _steps(requested, done) if requested.scope else None
    return _page(done, beyond or "")


def _page(done: RewindSummary, beyond: str) -> Response:
    require(Lane.LONG)
    form = Form(raw=request.values.copy(), shown=frozenset({"since", "until"}))
    with reading():
        requested = _read(form)
        options = project_options()
    summary, total = RewindSummary(), 0
    cursor = request.args.get("kept")
    if requested.scope is not None and not beyond and not cursor:
        summary, total = preview(actor(), requested.scope)
    stays = _kept(requested.scope, summary, cursor, total) if requested.scope else Page([], None)
    with reading():
        listed = list(summary.subjects.items())[:MAX_LISTED]
        names = named_subjects(subject for subject, _ in listed)
    return page(
        "rewind/show.html",
        form=form,
        requested=requested,
        projects=options,
        spans=SPANS,
        summary=summary,
        done=done,
        beyond=beyond,
        total=total,
        counted=MAX_COUNT,
        previewed=MAX_PREVIEWED_EVENTS,
        listed=[(names[subject], back, kept) for subject, (back, kept) in listed],
        kept=stays.data,
        more_kept=f"{requested.address}&kept={stays.next_cursor}" if stays.next_cursor else "",
        is_later_page=bool(cursor),
        status=422 if form.errors else 200,
    )


def _kept(scope: RewindScope, summary: RewindSummary, cursor: str | None, total: int) -> Page:
    """A page of kept values; a short list is that of the preview."""
    if cursor or summary.kept_count > MAX_LISTED or total > MAX_PREVIEWED_EVENTS:
        return list_kept(actor(), scope, limit=MAX_LISTED, cursor=cursor or None)
    with reading():
        return Page(kept_lines(summary.kept), None)


@pages.post(f"{PATH}/step")
def step() -> Response:
    """Rewind the next steps; the JSON says what came of it, and where the next request begins."""
    form = Form()
    with reading():
        requested = _read(form)
    if requested.scope is None:
        problem = next(iter(form.errors.values()), messages.SELECT_A_START)
        return _as_json({"problem": problem}, 422)
    summary = RewindSummary()
    beyond = _steps(requested, summary)
    return _as_json(
        {
            "events": summary.events,
            "back": summary.back,
            "kept": summary.kept_count,
            "beyond": beyond,
        }
    )


def _as_json(answer: dict[str, Any], status: int = 200) -> Response:
    return Response(orjson.dumps(answer), status=status, mimetype="application/json")


def _steps(requested: RewindRequest, summary: RewindSummary) -> str | None:
    """Run steps for one request; returns the event beyond which the next request begins."""
    require(Lane.LONG)
    scope, started = requested.scope, time.monotonic()
    assert scope is not None  # noqa: S101 - for the type checker: the callers have looked
    beyond = as_uuid(request.form.get("beyond", ""))
    log = others.resumed(scope, beyond)
    while True:
        # Like every write of a page, each step checks the session again.
        taken: RewindStep = write(partial(rewind_step, scope=scope, beyond=beyond, log=log))
        summary.add(taken)
        beyond = taken.beyond
        is_late = time.monotonic() - started > STEP_SECONDS
        if beyond is None or is_late or summary.events >= STEP_EVENTS:
            break
    if beyond is not None:
        others.keep(scope, log)
    return beyond


@pages.post(f"{PATH}/value")
def put_back() -> Response:
    """Put one value back that stands; raises what its verb raises."""
    with reading():
        requested = _read(Form())
    event_id, name = request.form.get("event_id", ""), request.form.get("name", "")
    scope = requested.scope
    if scope is None:
        raise InvalidField("since", "required", messages.SELECT_A_START)
    write(lambda person: put_back_anyway(person, scope, event_id, name))
    return go(f"{requested.address}#kept")
