"""What a rewind would do and keep, without writing; each function opens its own units of work."""

from collections.abc import Iterator
from typing import Any

from app.core.actor import Access, Actor, operation
from app.core.ids import next_above
from app.database.pagination import Cursor, Page, decode, encode
from app.database.session import reading
from app.rewind.others import LogReading
from app.rewind.scope import RewindScope
from app.rewind.service import Fate, RewindStep, RewoundValue, count_events, preview_step
from app.rewind.wording import RewindSummary, kept_lines

# Further events are only counted, up to ``MAX_COUNT``.
MAX_PREVIEWED_EVENTS = 20_000
MAX_COUNT = 100_000
CURSOR = "rewind-kept"


def preview_steps(
    actor: Actor, scope: RewindScope, *, beyond: str | None = None
) -> Iterator[RewindStep]:
    """All steps of a preview, the newest first, each read in its own unit of work."""
    foreseen: dict[Any, Any] = {}
    log = LogReading()
    while True:
        with reading():
            step = preview_step(actor, scope, foreseen, log, beyond=beyond)
        yield step
        beyond = step.beyond
        if beyond is None:
            return


@operation(Access.HUMAN)
def preview(actor: Actor, scope: RewindScope) -> tuple[RewindSummary, int]:
    """The fates of the newest ``MAX_PREVIEWED_EVENTS``, and the number of all events."""
    summary = RewindSummary()
    with reading():
        total = count_events(actor, scope, MAX_COUNT)
    for step in _first(preview_steps(actor, scope)):
        summary.add(step)
    return summary, total


@operation(Access.HUMAN)
def list_kept(actor: Actor, scope: RewindScope, *, limit: int, cursor: str | None) -> Page:
    """One page of the kept values, as ``KeptLine``; the newest event first.

    A page looks at ``MAX_PREVIEWED_EVENTS``, so it can have fewer rows than there are. Raises
    InvalidField for a bad cursor.
    """
    after = decode(cursor, CURSOR) if cursor is not None else None
    found: list[tuple[RewoundValue, Cursor]] = []
    goes_on: Cursor | None = None
    for step in _steps_from(actor, scope, after):
        found += _kept(step, after)
        if len(found) > limit:
            goes_on = found[limit - 1][1]
            break
        goes_on = None if step.beyond is None else Cursor(CURSOR, step.beyond, _WHOLE)
    with reading():
        lines = kept_lines([value for value, _ in found[:limit]])
    return Page(lines, encode(goes_on) if goes_on else None)


# As the place in a cursor: after all values of the event.
_WHOLE = 1 << 40


def _kept(step: RewindStep, after: Cursor | None) -> Iterator[tuple[RewoundValue, Cursor]]:
    """The kept values after the cursor, each with its own cursor: its place in its event."""
    event_id, place = "", 0
    for value in step.values:
        place = place + 1 if value.event_id == event_id else 0
        event_id = value.event_id
        if value.fate is Fate.KEPT and _is_behind(event_id, place, after):
            yield value, Cursor(CURSOR, event_id, place)


def _is_behind(event_id: str, place: int, after: Cursor | None) -> bool:
    """Whether a value comes later in the list; ids are in the order of events."""
    if after is None or event_id < after.id:
        return True
    return event_id == after.id and place > after.at


def _steps_from(actor: Actor, scope: RewindScope, after: Cursor | None) -> Iterator[RewindStep]:
    """The steps of a page, covering ``MAX_PREVIEWED_EVENTS``.

    The newest steps always run, for what they foresee, unless the cursor is beyond them.
    """
    is_reached = False
    for step in _first(preview_steps(actor, scope)):
        is_reached = after is None or step.beyond is None or _goes_behind(step.beyond, after)
        if is_reached:
            yield step
    if after is not None and not is_reached:
        yield from _first(preview_steps(actor, scope, beyond=next_above(after.id)))


def _goes_behind(last_event_id: str, after: Cursor) -> bool:
    """Whether the steps up to this event reach values after the cursor."""
    return (last_event_id, after.at) < (after.id, _WHOLE)


def _first(steps: Iterator[RewindStep]) -> Iterator[RewindStep]:
    looked_at = 0
    for step in steps:
        yield step
        looked_at += step.events
        if looked_at >= MAX_PREVIEWED_EVENTS:
            return
