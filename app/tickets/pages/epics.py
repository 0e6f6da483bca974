"""The epics of a project with progress, a timeline of due dates, and the flow of its states."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta

from flask import Response, request

from app.database.session import reading
from app.http import current
from app.projects.loaders import visible_by_key
from app.tickets import epics, page_queries
from app.tickets.epics import Epic, Flow
from app.tickets.pages.blueprint import pages, ticket_page
from app.web.guard import actor
from app.web.render import page

# All sizes are in units of the SVG.
WIDTH, HEIGHT = 1008, 280
# Margins of the chart, for numbers, names of the bands, and days.
LEFT, RIGHT, TOP, BOTTOM = 48, 150, 12, 24
LABEL = 15
# A band with a smaller share of today's tickets has no name.
MIN_NAMED_PERCENT = 1
ROW = 28
NAMES = 176
# The span of the timeline in days; dates outside of it are drawn at its ends.
DAYS_BACK, DAYS_AHEAD = 60, 180


@dataclass(frozen=True, slots=True)
class Area:
    """One band of the flow chart: its outline, and the position of its name."""

    name: str
    category: str
    # Its number among the bands of its category.
    shade: int
    points: str
    label_y: float
    now: int
    is_named: bool


@dataclass(frozen=True, slots=True)
class Tick:
    at: float
    text: str


@dataclass(frozen=True, slots=True)
class FlowChart:
    """The bands from the bottom up, and the marks of both axes."""

    areas: list[Area]
    days: list[Tick]
    numbers: list[Tick]


def flow_chart(flow: Flow) -> FlowChart:
    """Stack the bands, with the last state at the bottom."""
    top = max([*flow.totals, 1])
    across = (WIDTH - LEFT - RIGHT) / max(1, len(flow.days) - 1)
    xs = [LEFT + across * index for index in range(len(flow.days))]

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
        now = band.counts[-1]
        is_named = now > 0 and now * 100 >= flow.totals[-1] * MIN_NAMED_PERCENT
        areas.append(
            Area(band.name, band.category, shade % 4, points, round(middle, 1), now, is_named)
        )
        base = over
    areas = _apart(areas)
    step = max(1, len(flow.days) // 6)
    return FlowChart(
        areas=areas,
        days=[
            Tick(round(xs[index], 1), short_day(flow.days[index]))
            for index in range(0, len(flow.days), step)
        ],
        numbers=[Tick(y(count), f"{count:,}") for count in sorted({0, top // 2, top})],
    )


def _apart(areas: list[Area]) -> list[Area]:
    """Move names that would overlap: up, then down again from the top of the chart."""
    named = [area for area in areas if area.is_named]
    below: float = HEIGHT - BOTTOM + LABEL
    for index, area in enumerate(named):
        below = min(area.label_y, below - LABEL)
        named[index] = replace(area, label_y=below)
    above: float = TOP - LABEL
    for index, area in reversed(list(enumerate(named))):
        above = max(area.label_y, above + LABEL)
        named[index] = replace(area, label_y=round(above, 1))
    moved = iter(named)
    return [next(moved) if area.is_named else area for area in areas]


def short_day(day: str) -> str:
    """``21 Nov``."""
    parsed = date.fromisoformat(day)
    return f"{parsed.day} {parsed:%b}"


@dataclass(frozen=True, slots=True)
class TimelineMark:
    x: float
    day: str
    is_done: bool
    is_late: bool


@dataclass(frozen=True, slots=True)
class TimelineLine:
    epic: Epic
    y: float
    marks: list[TimelineMark]
    due: TimelineMark | None


@dataclass(frozen=True, slots=True)
class Timeline:
    lines: list[TimelineLine]
    months: list[Tick]
    today: float
    height: int


def timeline(epics: Sequence[Epic], today: date) -> Timeline | None:
    """The due dates of epics and their stories; None without any date."""
    dated = [epic for epic in epics if epic.dates or epic.due_date]
    if not dated:
        return None
    days = [today, *(date.fromisoformat(day) for epic in dated for day, _ in epic.dates)]
    days += [date.fromisoformat(epic.due_date) for epic in dated if epic.due_date]
    first = max(min(days), today - timedelta(DAYS_BACK)) - timedelta(3)
    last = min(max(days), today + timedelta(DAYS_AHEAD)) + timedelta(3)
    scale = (WIDTH - NAMES - 16) / (last - first).days

    def x(day: date) -> float:
        return round(NAMES + (min(max(day, first), last) - first).days * scale, 1)

    def mark(day: str, is_done: bool) -> TimelineMark:
        on = date.fromisoformat(day)
        return TimelineMark(x(on), day, is_done, not is_done and on < today)

    lines = [
        TimelineLine(
            epic=epic,
            y=ROW * index + ROW / 2,
            marks=[mark(day, is_done) for day, is_done in epic.dates],
            due=mark(epic.due_date, epic.category == "done") if epic.due_date else None,
        )
        for index, epic in enumerate(dated)
    ]
    height = ROW * len(dated) + LABEL
    return Timeline(lines, _months(first, last, x(first), scale), x(today), height)


def _months(first: date, last: date, start: float, scale: float) -> list[Tick]:
    """The first days of the months, thinned out to eight marks at most."""
    ticks: list[Tick] = []
    day = first.replace(day=1)
    while day <= last:
        if day >= first:
            ticks.append(Tick(round(start + (day - first).days * scale, 1), f"{day:%b %Y}"))
        day = (day + timedelta(32)).replace(day=1)
    step = max(1, -(-len(ticks) // 8))
    return ticks[::step]


SPANS = {"30": 30, "90": 90}
# The most rows of the table below the chart.
ROWS = 10


@pages.get("/projects/<key>/epics")
def show_epics(key: str) -> Response:
    days = SPANS.get(request.args.get("days", ""), 30)
    with reading():
        project = visible_by_key(actor(), key)
        shown, has_more = epics.of_project(project.id)
        # The first epic is expanded; the others load their children on demand.
        shown.sort(key=lambda epic: epic.category == "done")
        first = page_queries.children(shown[0].id) if shown else []
        flowed = epics.flow(project.id, days)
    step = max(1, -(-len(flowed.days) // ROWS))
    return page(
        "tickets/epics.html",
        project=project,
        epics=[epic for epic in shown if epic.category != "done"],
        done=[epic for epic in shown if epic.category == "done"],
        first=first,
        has_more=has_more,
        timeline=timeline(shown, current.today()),
        chart=flow_chart(flowed) if any(flowed.totals) else None,
        flow=flowed,
        at=list(range(len(flowed.days)))[::-step],
        days=days,
        spans=list(SPANS.values()),
        size={"WIDTH": WIDTH, "HEIGHT": HEIGHT, "LEFT": LEFT, "RIGHT": RIGHT},
    )


@pages.get("/tickets/<reference>/parts")
def show_parts(reference: str) -> Response:
    with reading():
        subject = page_queries.subject(actor(), reference)
        children = page_queries.children(subject.ticket["id"])
    return ticket_page("tickets/parts.html", subject, block="parts", children=children)
