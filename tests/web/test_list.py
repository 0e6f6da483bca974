"""The lists without a browser: order, pages, trees, one change to many, files."""

import csv
import io
import re
import time

import pytest

from app.web import downloads
from tests.support.story import ok


def rows(text: str) -> list[str]:
    """The display ids of the rows of a list, in order."""
    return re.findall(r'aria-label="Select ([A-Z]+-\d+)"', text)


def link(text: str, words: str) -> str:
    """The address of the link with these words."""
    return re.search(rf'href="([^"]+)"[^>]*>{words}<', text).group(1).replace("&amp;", "&")


def test_cells_without_a_value_are_empty(ada, make):
    """A phone hides them only if they have no content; a blank would already take room."""
    make("Due never, and nobody's")
    text = ada.get("/projects/OPEN/tickets").text
    assert '<td class="due-cell"></td>' in text
    assert '<td class="assignee-cell"></td>' in text


# Filters.


@pytest.mark.parametrize("place", ["tickets", "board"])
def test_filters_keep_a_person_who_is_not_offered(ada, cast, make, place):
    """A deactivated person and a bot that no longer sees the project may still hold tickets."""
    make("Held", assignee_user_id=cast.bo.user_id)
    ok(cast.ada.patch(f"/users/{cast.bo.user_id}", {"is_active": False}))
    apart = cast.ada.post("/projects", {"key": "APART", "name": "Apart"}).json["id"]
    ok(cast.ada.patch(f"/bots/{cast.smith.user_id}", {"project_ids": [apart]}))
    path = f"/projects/OPEN/{place}"
    assert cast.bo.user_id not in ada.get(path).text
    query = "&".join(f"assignee_user_id={one.user_id}" for one in (cast.bo, cast.smith))
    text = ada.get(f"{path}?{query}").text
    assert "unknown" not in text
    for person, name in ((cast.bo, "Bo (deactivated)"), (cast.smith, "Smith (bot)")):
        # As a chip, and as an option of the menu that the next choice sends again.
        chip = rf'data-unfilter="assignee_user_id"\s+data-value="{person.user_id}"[^>]*>(.*?)</a>'
        assert f"Assignee: {name}" in re.search(chip, text, re.DOTALL)[1]
        option = rf'value="{person.user_id}" checked>\s*<span>{re.escape(name)}</span>'
        assert re.search(option, text)


# Order and pages.


def test_pages_lead_forth_and_back(ada, make, monkeypatch):
    monkeypatch.setattr("app.tickets.pages.listing.ROWS", 3)
    for number in range(8):
        make(f"No. {number}")
    first = ada.get("/projects/OPEN/tickets").text
    assert rows(first) == ["OPEN-8", "OPEN-7", "OPEN-6"]
    assert "Previous" not in first
    second = ada.get(link(first, "Next")).text
    assert rows(second) == ["OPEN-5", "OPEN-4", "OPEN-3"]
    last = ada.get(link(second, "Next")).text
    assert rows(last) == ["OPEN-2", "OPEN-1"]
    assert ">Next<" not in last
    back = ada.get(link(last, "Previous")).text
    assert rows(back) == rows(second)
    assert rows(ada.get(link(back, "Previous")).text) == rows(first)
    assert rows(ada.get(link(back, "First")).text) == rows(first)


def test_load_more_brings_rows_alone(ada, make, monkeypatch):
    monkeypatch.setattr("app.tickets.pages.listing.ROWS", 3)
    for number in range(5):
        make(f"No. {number}")
    first = ada.get("/projects/OPEN/tickets").text
    address = link(first, "Load more")
    more = ada.get(address, htmx=True, **{"HX-Target": "more-x"}).text
    assert more.lstrip().startswith("<tr")
    assert rows(more) == ["OPEN-2", "OPEN-1"]


def test_orders_that_an_index_gives(ada, cast, make):
    for number in range(3):
        make(f"No. {number}")
    cast.ada.patch("/tickets/OPEN-1", {"priority": "high"})
    assert rows(ada.get("/projects/OPEN/tickets?sort=oldest").text) == [
        "OPEN-1",
        "OPEN-2",
        "OPEN-3",
    ]
    text = ada.get("/projects/OPEN/tickets?sort=updated").text
    assert rows(text) == ["OPEN-1", "OPEN-3", "OPEN-2"]
    assert 'aria-sort="descending"' in text
    assert rows(ada.get("/projects/OPEN/tickets?sort=stale").text)[-1] == "OPEN-1"
    assert rows(ada.get("/tickets?sort=updated").text) == ["OPEN-1", "OPEN-3", "OPEN-2"]


def test_a_cursor_of_another_order_starts_at_the_top(ada, make, monkeypatch):
    monkeypatch.setattr("app.tickets.pages.listing.ROWS", 1)
    make("One")
    make("Two")
    address = link(ada.get("/projects/OPEN/tickets").text, "Next")
    answer = ada.get(address.replace("?", "?sort=updated&"))
    assert answer.location == "/projects/OPEN/tickets?sort=updated"


def test_the_list_of_all_leaves_deleted_projects_out(ada, cast, make):
    make("Here")
    cast.ada.post(f"/projects/{cast.fenced_project}/tickets", {"title": "There"})
    assert rows(ada.get("/tickets").text) == ["FENCED-1", "OPEN-1"]
    assert rows(ada.get("/tickets?state_category=done").text) == []
    assert rows(ada.get(f"/tickets?project_id={cast.open_project}").text) == ["OPEN-1"]
    cast.ada.delete(f"/projects/{cast.fenced_project}")
    assert rows(ada.get("/tickets").text) == ["OPEN-1"]


# Trees.


@pytest.fixture
def family(make, states):
    """An epic with a story that has two subtasks, and a story without an epic."""
    epic = make("The epic", type="epic")
    story = make("A story", parent_ticket_id=epic["id"], priority="low")
    make("Part one", type="subtask", parent_ticket_id=story["id"], priority="high")
    make("Part two", type="subtask", parent_ticket_id=story["id"], state_id=states["Done"])
    make("Alone")


def test_a_tree_has_levels_and_progress(ada, family):
    text = ada.get("/projects/OPEN/tickets?view=tree&show=all").text
    assert rows(text) == ["OPEN-5", "OPEN-1", "OPEN-2", "OPEN-3", "OPEN-4"]
    assert re.findall(r'aria-level="(\d)"', text) == ["1", "1", "2", "3", "3"]
    assert "1/2" in text
    assert 'role="treegrid"' in text


def test_a_filtered_tree_keeps_what_leads_to_a_hit(ada, family):
    text = ada.get("/projects/OPEN/tickets?view=tree&priority=high").text
    assert rows(text) == ["OPEN-1", "OPEN-2", "OPEN-3"]
    assert text.count("ticket-row faded") == 2


def test_a_tree_takes_few_statements(ada, family):
    with ada.statements() as seen:
        ada.get("/projects/OPEN/tickets?view=tree&priority=high")
    assert len([one for one in seen if one.startswith(("SELECT", "WITH"))]) <= 14, seen


def test_the_filtered_list_as_a_file(ada, cast, make, label, monkeypatch):
    monkeypatch.setattr("app.tickets.pages.listing.BATCH", 2)
    bug = label("bug")
    for number in range(5):
        make(f"No. {number}", priority="high", label_ids=[bug])
    make("=1+1", priority="high", assignee_user_id=cast.ada.user_id, due_date="2030-01-01")
    make("Not this one")
    answer = ada.get("/projects/OPEN/tickets.csv?priority=high")
    assert answer.mimetype == "text/csv"
    assert "open-tickets.csv" in answer.headers["Content-Disposition"]
    read = list(csv.DictReader(io.StringIO(answer.text)))
    assert [one["display_id"] for one in read] == [f"OPEN-{number}" for number in range(6, 0, -1)]
    assert read[0]["title"] == "'=1+1"
    assert (read[0]["assignee"], read[0]["due_date"]) == ("ada", "2030-01-01")
    assert read[1]["labels"] == "bug"
    as_json = ada.get("/projects/OPEN/tickets.json?priority=high").json
    assert [one["title"] for one in as_json][:2] == ["=1+1", "No. 4"]
    assert as_json[1]["labels"] == ["bug"]
    assert len(ada.get("/tickets.json").json) == 7
    assert ada.get("/projects/OPEN/tickets.json?priority=urgent").json == []
    assert ada.get("/projects/OPEN/tickets.xls").status_code == 404
    assert ada.get("/projects/NOPE/tickets.csv").status_code == 404


@pytest.mark.parametrize(("kind", "pieces"), [("csv", [3, 2, 1]), ("json", [2, 2, 1, 2])])
def test_a_file_is_sent_in_pieces(ada, make, monkeypatch, kind, pieces):
    monkeypatch.setattr("app.tickets.pages.listing.BATCH", 2)
    for number in range(5):
        make(f"No. {number}")
    answer = ada.get(f"/tickets.{kind}")
    assert [piece.count(b"\n") for piece in answer.iter_encoded()] == pieces


@pytest.mark.parametrize("ended", ["deactivated", "logged out", "too late"])
def test_a_file_ends_with_the_session_of_its_reader(app, ada, cast, make, monkeypatch, ended):
    monkeypatch.setattr("app.tickets.pages.listing.BATCH", 2)
    for number in range(9):
        make(f"No. {number}")
    pieces = ada.get("/tickets.csv").iter_encoded()
    assert b"No. 8" in next(pieces)
    make("Written after")
    if ended == "deactivated":
        ok(cast.bo.patch(f"/users/{cast.ada.user_id}", {"is_active": False}))
    elif ended == "logged out":
        ada.post("/logout")
    else:
        monkeypatch.setattr(downloads, "DEADLINE_SECONDS", 0)
        later = time.monotonic() + 3600
        monkeypatch.setattr(downloads.time, "monotonic", lambda: later)
    with pytest.raises(downloads.Ended):
        list(pieces)


def test_files_are_for_people(stranger):
    assert stranger.get("/tickets.csv").location.startswith("/login")
