"""REST endpoints of rewinds; humans only."""

from dataclasses import replace
from typing import Any

from app.core.clock import iso
from app.core.errors import Conflict, InvalidField, NotFound
from app.core.lanes import Lane, require
from app.database.session import reading
from app.projects import loaders
from app.rest.routing import NO_CONTENT, Answer, Api, Call
from app.rewind import messages, others, previewing, service
from app.rewind.schemas import (
    KeptQuery,
    KeptValueOut,
    RewindPreviewOut,
    RewindQuery,
    RewindStepIn,
    RewindStepOut,
    RewoundValueIn,
)
from app.rewind.scope import RewindScope, end_of_now
from app.rewind.service import check_scope
from app.rewind.wording import MAX_LISTED, KeptLine, RewindSummary, SubjectName, named_subjects

api = Api("rewind")

REWIND = "/users/<actor_id>/rewind"
ERRORS = (InvalidField, NotFound, Conflict)


def _scope(call: Call, given: dict[str, Any]) -> RewindScope:
    """The checked scope that a request names; removes its fields from ``given``."""
    user_id = call.path["actor_id"]
    since, until, project_id = (given.pop(name, None) for name in ("since", "until", "project_id"))
    requests = given.pop("request_ids", None)
    if requests:
        scope = RewindScope.of_requests(user_id, requests)
        since = scope.since if since is None else since
        until = scope.until if until is None else until
        scope = replace(scope, since=since, until=until)
    else:
        end = end_of_now() if until is None else until
        scope = RewindScope(user_id, end - 1 if since is None else since, end)
    check_scope(call.actor, scope)
    if since is None:
        raise InvalidField("since", "required", messages.START_NEEDED)
    if project_id is not None:
        scope = replace(scope, project_id=loaders.visible(call.actor, project_id).id)
    return scope


@api.route(
    "GET",
    REWIND,
    "rewind.preview",
    calls=previewing.preview,
    query=RewindQuery,
    returns=RewindPreviewOut,
    own_transactions=True,
    errors=ERRORS,
)
def preview(call: Call) -> Answer:
    """Preview a rewind: what it would do, by kind of change and by ticket; nothing is written.

    The id is that of a bot, or your own with the `request_ids` of an import. After a rewind,
    `put_back_count` is what is left to do.
    """
    require(Lane.LONG)
    with reading():
        scope = _scope(call, dict(call.query))
    summary, total = previewing.preview(call.actor, scope)
    return Answer(_preview_json(scope, summary, total))


def _preview_json(scope: RewindScope, summary: RewindSummary, total: int) -> dict[str, Any]:
    listed = list(summary.subjects.items())[:MAX_LISTED]
    with reading():
        names = named_subjects(subject for subject, _ in listed)
    return {
        "since": iso(scope.since),
        "until": iso(scope.until),
        "event_count": total,
        "previewed_count": summary.events,
        "put_back_count": summary.back,
        "kept_count": summary.kept_count,
        "changes": [{"count": count, "text": text} for count, text in summary.counts()],
        "subjects": [
            {**_subject_json(subject, names[subject]), "put_back_count": back, "kept_count": kept}
            for subject, (back, kept) in listed
        ],
    }


def _subject_json(subject: tuple[str, ...], name: SubjectName) -> dict[str, Any]:
    return {"kind": subject[0], "id": subject[1], "name": name.name, "title": name.title}


@api.route(
    "POST",
    REWIND,
    "rewind.step",
    calls=service.rewind_step,
    body=RewindStepIn,
    returns=RewindStepOut,
    errors=ERRORS,
)
def step(call: Call) -> Answer:
    """Undo the next 50 changes, the newest first, in one transaction.

    Send `beyond` and `until` of the response with the next step until `beyond` is null. You
    can start over safely: what was reverted stays reverted.
    """
    require(Lane.POOL)
    given = dict(call.body)
    beyond = given.pop("beyond")
    scope = _scope(call, given)
    log = others.resumed(scope, beyond)
    taken = service.rewind_step(call.actor, scope, beyond=beyond, log=log)
    if taken.beyond is not None:
        others.keep(scope, log)
    summary = RewindSummary(max_listed=0)
    summary.add(taken)
    return Answer(
        {
            "until": iso(scope.until),
            "event_count": summary.events,
            "put_back_count": summary.back,
            "kept_count": summary.kept_count,
            "beyond": taken.beyond,
        }
    )


@api.route(
    "GET",
    f"{REWIND}/kept",
    "rewind.kept.list",
    calls=previewing.list_kept,
    query=KeptQuery,
    returns=KeptValueOut,
    paginated=True,
    own_transactions=True,
    errors=ERRORS,
)
def list_kept(call: Call) -> Answer:
    """List the values that a rewind keeps because others have changed them, newest change first.

    A page looks at 20,000 changes, so it can have fewer rows than `limit` although `has_more` is
    true.
    """
    require(Lane.LONG)
    given = dict(call.query)
    page = {name: given.pop(name) for name in ("limit", "cursor")}
    with reading():
        scope = _scope(call, given)
    found = previewing.list_kept(call.actor, scope, **page)
    return Answer(found.collection | {"data": [_kept_json(line) for line in found.data]})


def _kept_json(line: KeptLine) -> dict[str, Any]:
    return {
        "event_id": line.event_id,
        "name": line.name,
        "subject": _subject_json(line.key, line.subject),
        "field": line.field,
        "now": line.now,
        "before": line.back,
        "reason": line.why,
        "changed_by_event_id": line.by_event_id,
    }


@api.route(
    "POST",
    f"{REWIND}/put-back",
    "rewind.put_back",
    calls=service.put_back_anyway,
    body=RewoundValueIn,
    status=204,
    errors=ERRORS,
)
def put_back(call: Call) -> Answer:
    """Revert one value that a rewind kept, even though others have changed it since."""
    given = dict(call.body)
    event_id, name = given.pop("event_id"), given.pop("name")
    service.put_back_anyway(call.actor, _scope(call, given), event_id, name)
    return NO_CONTENT
