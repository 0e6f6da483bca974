"""The epics of a project: a tree with progress, a timeline of due dates, the flow of its states."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from flask import Response, request

from app.database.session import reading
from app.projects.loaders import visible_by_key
from app.tickets import epics, page_queries
from app.tickets.epics import Epic, Flow
from app.tickets.pages.blueprint import pages
from app.web.filters import today
from app.web.guard import actor
from app.web.render import page

WIDTH, HEIGHT = 720, 240
# Around the chart: names of the bands at its right, days below it, numbers at its left.
LEFT, RIGHT, TOP, BOTTOM = 36, 132, 8, 24
LABEL = 14
ROW = 28
NAMES = 176
# A timeline that spans years shows nothing: what lies further off stands at its ends.
DAYS_BACK, DAYS_AHEAD = 60, 180


@dataclass(frozen=True, slots=True)
class Area:
    """One band of the flow: its outline, and where its name stands."""

    name: str
    category: str
    # Which of the bands of its category, for their shades.
    shade: int
    points: str
    label_y: float
    now: int


@dataclass(frozen=True, slots=True)
class Tick:
    """A mark on an axis."""

    at: float
    text: str


@dataclass(frozen=True, slots=True)
class FlowChart:
    """The bands from the bottom up, and the marks of both axes."""

    areas: list[Area]
    days: list[Tick]
    numbers: list[Tick]


def flow_chart(flow: Flow) -> FlowChart:
    """Bands stacked from what is done at the bottom to what is new at the top."""
    top = max([*flow.totals, 1])
    across = (WIDTH - LEFT - RIGHT) / max(1, len(flow.days) - 1)
    xs = [LEFT + across * at for at in range(len(flow.days))]

    def y(count: int) -> float:
        return round(HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * count / top, 1)

    base = [0] * len(flow.days)
    areas: list[Area] = []
    shades: dict[str, int] = {}
    for band in reversed(flow.bands):
        over = [low + count for low, count in zip(base, band.counts, strict=True)]
        upper = [f"{x:.1f},{y(count)}" for x, count in zip(xs, over, strict=True)]
        lower = [f"{x:.1f},{y(count)}" for x, count in zip(xs, base, strict=True)]
        shade = shades.get(band.category, 0)
        shades[band.category] = shade + 1
        middle = (y(over[-1]) + y(base[-1])) / 2
        points = " ".join(upper + lower[::-1])
        areas.append(
            Area(band.name, band.category, shade % 4, points, round(middle, 1), band.counts[-1])
        )
        base = over
    areas = _apart(areas)
    step = max(1, len(flow.days) // 6)
    return FlowChart(
        areas=areas,
        days=[
            Tick(round(xs[at], 1), short_day(flow.days[at]))
            for at in range(0, len(flow.days), step)
        ],
        numbers=[Tick(y(count), f"{count:,}") for count in sorted({0, top // 2, top})],
    )


def _apart(areas: list[Area]) -> list[Area]:
    """Names that would stand on each other move up; a band without tickets has none."""
    made: list[Area] = []
    below: float = HEIGHT - BOTTOM + LABEL
    for area in areas:
        at = min(area.label_y, below - LABEL) if area.now else area.label_y
        if area.now:
            below = at
        made.append(Area(area.name, area.category, area.shade, area.points, round(at, 1), area.now))
    return made


def short_day(day: str) -> str:
    """``21 Nov``."""
    on = date.fromisoformat(day)
    return f"{on.day} {on:%b}"


@dataclass(frozen=True, slots=True)
class TimelineMark:
    """Stories of one epic that are due on one day."""

    x: float
    day: str
    is_done: bool
    is_late: bool


@dataclass(frozen=True, slots=True)
class TimelineLine:
    """One epic on the timeline: its marks and its own due date."""

    epic: Epic
    y: float
    marks: list[TimelineMark]
    due: TimelineMark | None


@dataclass(frozen=True, slots=True)
class Timeline:
    """The epics that have dates, from top to bottom; the months; where today is."""

    lines: list[TimelineLine]
    months: list[Tick]
    today: float
    height: int


def timeline(epics: Sequence[Epic], today: str) -> Timeline | None:
    """The due dates of epics and their stories; None where nothing is due."""
    dated = [one for one in epics if one.dates or one.due_date]
    if not dated:
        return None
    now = date.fromisoformat(today)
    every = [date.fromisoformat(day) for one in dated for day, _ in one.dates]
    every += [date.fromisoformat(one.due_date) for one in dated if one.due_date]
    first = max(min([*every, now]), now - timedelta(DAYS_BACK)) - timedelta(3)
    last = min(max([*every, now]), now + timedelta(DAYS_AHEAD)) + timedelta(3)
    scale = (WIDTH - NAMES - 16) / (last - first).days

    def x(on: date) -> float:
        return round(NAMES + (min(max(on, first), last) - first).days * scale, 1)

    def mark(day: str, is_done: bool) -> TimelineMark:
        return TimelineMark(x(date.fromisoformat(day)), day, is_done, not is_done and day < today)

    lines = [
        TimelineLine(
            epic=one,
            y=ROW * at + ROW / 2,
            marks=[mark(day, is_done) for day, is_done in one.dates],
            due=mark(one.due_date, one.category == "done") if one.due_date else None,
        )
        for at, one in enumerate(dated)
    ]
    return Timeline(lines, _months(first, last, x(first), scale), x(now), ROW * len(dated) + LABEL)


def _months(first: date, last: date, start: float, scale: float) -> list[Tick]:
    """The first of each month between two days, with not more names than there is room for."""
    made: list[Tick] = []
    at = first.replace(day=1)
    while at <= last:
        if at >= first:
            made.append(Tick(round(start + (at - first).days * scale, 1), f"{at:%b %Y}"))
        at = (at + timedelta(32)).replace(day=1)
    step = max(1, -(-len(made) // 8))
    return made[::step]


SPANS = {"30": 30, "90": 90}
# Rows of the table that says what the chart shows.
ROWS = 10


@pages.get("/projects/<key>/epics")
def show_epics(key: str) -> Response:
    """Show the project's epics and how its work flows."""
    days = SPANS.get(request.args.get("days", ""), 30)
    with reading():
        project = visible_by_key(actor(), key)
        found, has_more = epics.of_project(project.id)
        # The first one stands open; the others ask for theirs when they are opened.
        first = page_queries.children(found[0].id) if found else []
        flowed = epics.flow(project.id, days)
    step = max(1, -(-len(flowed.days) // ROWS))
    return page(
        "tickets/epics.html",
        project=project,
        epics=found,
        first=first,
        has_more=has_more,
        timeline=timeline(found, today()),
        chart=flow_chart(flowed) if any(flowed.totals) else None,
        flow=flowed,
        at=list(range(len(flowed.days)))[::-step],
        days=days,
        spans=list(SPANS.values()),
        size={"WIDTH": WIDTH, "HEIGHT": HEIGHT, "LEFT": LEFT, "RIGHT": RIGHT},
    )


@pages.get("/tickets/<reference>/parts")
def show_parts(reference: str) -> Response:
    """What lies below an epic or a story, as a branch of the tree."""
    with reading():
        subject = page_queries.subject(actor(), reference)
        below = page_queries.children(subject.ticket["id"])
    return page(
        "tickets/parts.html",
        block="parts",
        project=subject.project,
        ticket=subject.ticket,
        children=below,
    )
