"""The epics of a project: progress, due dates, and the number of tickets by state on each day."""

import re
from itertools import pairwise

import pytest

from app.core.clock import DAY_MS, iso, now_ms
from app.tickets import epics
from app.tickets.pages import epics as pages
from tests.support.cast import in_app

HERE = "/projects/OPEN/epics"


@pytest.fixture
def project(cast):
    return f"/projects/{cast.open_project}"


@pytest.fixture
def states(cast, project):
    found = cast.ada.get(f"{project}/workflow-states").json["data"]
    return {one["name"]: one["id"] for one in found}


@pytest.fixture
def make(cast, project):
    def work(title, caller=None, **fields):
        answer = (caller or cast.ada).post(f"{project}/tickets", {"title": title, **fields})
        assert answer.status_code == 201, answer.json
        return answer.json

    return work


@pytest.fixture
def epic(make, states):
    """An epic with a done story, an open one that has two subtasks, and a late one."""
    made = make("A large thing", type="epic", due_date="2031-01-02")
    make("Done story", parent_ticket_id=made["id"], state_id=states["Done"])
    story = make("Open story", parent_ticket_id=made["id"], due_date="2031-01-01")
    make("Late story", parent_ticket_id=made["id"], due_date="2020-01-01")
    for title, state in (("Done part", "Done"), ("Open part", "To do")):
        make(title, type="subtask", parent_ticket_id=story["id"], state_id=states[state])
    return made


def text_of(page) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", page.text.split("<main")[1]).split())


def test_the_tree_shows_how_far_everything_is(ada, epic):
    page = ada.get(HERE)
    text = text_of(page)
    assert "OPEN-1 A large thing 2 Jan 2031 1/3 stories done" in text
    assert 'max="3" value="1"' in page.text
    assert "1/2 subtasks done of OPEN-3" in text
    parts = ada.get("/tickets/OPEN-3/parts", htmx=True).text
    assert parts.index("Done part") < parts.index("Open part")
    assert "<html" not in parts
    assert "<html" in ada.get("/tickets/OPEN-3/parts").text


def test_the_page_of_an_epic_shows_its_stories_and_their_parts(ada, epic):
    text = text_of(ada.get("/tickets/OPEN-1"))
    assert "Stories 1/3" in text
    assert "1/2 subtasks done of OPEN-3" in text


def test_deleted_tickets_count_nowhere(ada, cast, epic):
    cast.ada.delete("/tickets/OPEN-2")
    cast.ada.delete("/tickets/OPEN-5")
    text = text_of(ada.get(HERE))
    assert "0/2 stories done" in text
    assert "0/1 subtasks done" in text


def test_due_dates_are_marks_and_a_table(ada, epic):
    page = ada.get(HERE)
    assert "1 Jan 2020 (overdue), 1 Jan 2031" in text_of(page)
    assert page.text.count('class="due late"') == 1
    # Dates that are years away are drawn at the edges: no mark is off the chart.
    places = [float(x) for x in re.findall(r'<circle class="due[^"]*" cx="([\d.]+)"', page.text)]
    assert len(places) == 2
    assert all(pages.NAMES <= x <= pages.WIDTH for x in places)


def test_a_project_without_epics_says_what_to_do(ada, cast):
    text = text_of(ada.get(HERE))
    assert "No epics yet" in text
    assert "Due dates" not in text
    assert "Tickets by state" not in text
    assert ada.get("/projects/NONE/epics").status_code == 404


def test_an_epic_has_a_name_of_any_kind(ada, make):
    make("<script>alert(1)</script>" + "W" * 150, type="epic", due_date="2031-01-02")
    page = ada.get(HERE).text
    assert "<script>alert" not in page


def test_only_the_first_epic_stands_open(ada, make):
    for name in ("First", "Second"):
        made = make(name, type="epic")
        make(f"Story of {name}", parent_ticket_id=made["id"])
    page = ada.get(HERE)
    assert "Story of Second" in page.text
    assert "Story of First" not in page.text
    assert 'hx-get="/tickets/OPEN-1/parts"' in page.text
    assert "Story of First" in ada.get("/tickets/OPEN-1/parts", htmx=True).text


def counts(app, cast, days=10):
    found = in_app(app, lambda: epics.flow(cast.open_project, days))
    return found, {one.name: one.counts for one in found.bands}


def test_the_flow_is_what_was_there_each_day(app, cast, make, states, monkeypatch):
    """Four days of work, recorded with the ids that they would have had."""
    start = now_ms() - 4 * DAY_MS
    day = iter(range(5))

    def tomorrow():
        moment = start + next(day) * DAY_MS
        # Ids do not go back in time unless their last time is reset.
        monkeypatch.setattr("app.core.ids._last_ms", 0)
        monkeypatch.setattr("app.core.ids.now_ms", lambda: moment)

    tomorrow()
    one, two = make("One"), make("Two")
    tomorrow()
    cast.ada.post(f"/tickets/{one['id']}/transition", {"state_id": states["In progress"]})
    make("Three")
    tomorrow()
    cast.smith.post(f"/tickets/{one['id']}/transition", {"state_id": states["Done"]})
    cast.ada.delete(f"/tickets/{two['id']}")
    monkeypatch.undo()
    found, by_state = counts(app, cast)
    assert by_state["Backlog"][-6:] == (0, 2, 2, 1, 1, 1)
    assert by_state["In progress"][-6:] == (0, 0, 1, 0, 0, 0)
    assert by_state["Done"][-6:] == (0, 0, 0, 1, 1, 1)
    assert found.totals[-6:] == [0, 2, 3, 2, 2, 2]
    assert found.days[-1] == iso(now_ms())[:10]
    # The chart begins one day before the first ticket, but shows at least a week.
    assert len(found.days) == epics.MIN_DAYS


def test_the_flow_knows_what_was_there_before_it_begins(app, cast, make, monkeypatch):
    old = now_ms() - 50 * DAY_MS
    monkeypatch.setattr("app.core.ids._last_ms", 0)
    monkeypatch.setattr("app.core.ids.now_ms", lambda: old)
    make("Old")
    monkeypatch.undo()
    _, by_state = counts(app, cast)
    assert by_state["Backlog"] == (1,) * 10


def test_the_chart_says_everything_in_a_table_too(ada, epic):
    page = ada.get(f"{HERE}?days=90")
    assert page.text.count('<polygon class="flow') == 5
    text = text_of(page)
    assert "Day Backlog To do In progress In review Done" in text
    assert re.search(r"\d+ \w{3} 3 1 0 0 2", text)
    assert ada.get(f"{HERE}?days=nonsense").status_code == 200


def test_names_at_the_chart_do_not_cover_each_other(app, cast, make, states):
    for state in states.values():
        make("One", state_id=state)
    make("Many", state_id=states["Backlog"])
    found, _ = counts(app, cast)
    chart = pages.flow_chart(found)
    at = sorted(one.label_y for one in chart.areas if one.is_named)
    assert all(after - before >= pages.LABEL - 0.2 for before, after in pairwise(at))


def test_the_page_takes_few_statements_however_many_epics(ada, make, epic):
    seen_counts = []
    for _ in range(2):
        with ada.statements() as seen:
            assert ada.get(HERE).status_code == 200
        seen_counts.append(
            len([one for one in seen if one.lstrip().startswith(("SELECT", "WITH"))])
        )
        for number in range(4):
            made = make(f"E{number}", type="epic", due_date="2031-02-03")
            make("S", parent_ticket_id=made["id"], due_date="2031-02-01")
    assert seen_counts[0] == seen_counts[1] <= 8


def test_done_epics_are_folded_away(ada, make, states, epic):
    make("Over and done", type="epic", state_id=states["Done"])
    page = ada.get(HERE).text
    tree, _, done = page.partition('<details class="done-epics">')
    assert "A large thing" in tree
    assert "Over and done" not in tree.split("<main")[1]
    assert "1 done epic<" in done
    assert "Over and done" in done


def test_small_bands_have_no_name_and_names_stay_within_the_chart():
    days = ("2026-11-24", "2026-11-25")
    sizes = {"A": 1000, **{f"S{number}": 20 for number in range(8)}, "Tiny": 3}
    bands = tuple(epics.Band(name, "active", (size, size)) for name, size in sizes.items())
    for order in (bands, bands[::-1]):
        chart = pages.flow_chart(epics.Flow(days, order))
        named = {one.name: one.label_y for one in chart.areas if one.is_named}
        assert set(named) == set(sizes) - {"Tiny"}
        at = sorted(named.values())
        assert at[0] >= pages.TOP
        assert at[-1] <= pages.HEIGHT - pages.BOTTOM + pages.LABEL
        assert all(after - before >= pages.LABEL - 0.2 for before, after in pairwise(at))
