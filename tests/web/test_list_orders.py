"""Lists: open tickets and their counts, every order, groups."""

import re
from html import unescape

import pytest

from app.core.text import NAME_LENGTH
from app.tickets import list_orders
from tests.support.story import ok
from tests.web.test_list import link, rows

LIST = "/projects/OPEN/tickets"


def counts(text: str) -> str:
    """The counts beside the title."""
    found = re.search(r'id="list-counts".*?</p>', text, re.S).group(0)
    return " ".join(re.sub(r"<[^>]+>", " ", found.partition(">")[2]).split()).removesuffix(" All")


def heads(text: str) -> list[str]:
    """The headers of the groups, in order."""
    found = re.findall(r'<tr class="group-row">.*?</tr>', text, re.S)
    return [unescape(" ".join(re.sub(r"<[^>]+>", " ", one).split())) for one in found]


@pytest.fixture
def six(ada, cast, make, states, label):
    """Six tickets that differ in all fields."""
    epic = make("Zebra", type="epic", priority="low")
    bug, ape = label("bug"), label("ape")
    story = make("apple", parent_ticket_id=epic["id"], priority="urgent", due_date="2030-05-01")
    make("Part", type="subtask", parent_ticket_id=story["id"], label_ids=[bug, ape])
    make("Mango", assignee_user_id=cast.ada.user_id, label_ids=[bug], due_date="2030-01-01")
    make("kiwi", assignee_user_id=cast.bo.user_id, state_id=states["In review"], priority="high")
    make("Over", state_id=states["Done"])


# Open tickets, and numbers.


def test_open_tickets_come_first_and_the_others_are_a_link_away(ada, six):
    text = ada.get(LIST).text
    assert rows(text) == ["OPEN-5", "OPEN-4", "OPEN-3", "OPEN-2", "OPEN-1"]
    assert counts(text) == "5 open 1 done"
    assert 'aria-current="true">5 open' in text
    done = ada.get(link(text, "1 done")).text
    assert rows(done) == ["OPEN-6"]
    assert counts(done) == "5 open 1 done"
    assert len(rows(ada.get(link(text, "All")).text)) == 6
    assert counts(ada.get("/tickets").text) == "5 open 1 done"
    assert rows(ada.get("/tickets?show=done").text) == ["OPEN-6"]


def test_the_numbers_are_those_of_the_filter_at_hand(ada, cast, six, states):
    assert counts(ada.get(f"{LIST}?assignee_user_id=me").text) == "1 open 0 done"
    assert counts(ada.get(f"{LIST}?priority=medium").text) == "2 open 1 done"
    assert counts(ada.get(f"{LIST}?q=over").text) == "0 open 1 done"
    assert counts(ada.get(f"{LIST}?parent_ticket_id=OPEN-1").text) == "1 open 0 done"
    assert counts(ada.get(f"/tickets?project_id={cast.fenced_project}").text) == "0 open 0 done"
    # With a filter by state, no link to open or done tickets is current.
    done = ada.get(f"{LIST}?state_id={states['Done']}").text
    assert (rows(done), counts(done)) == (["OPEN-6"], "5 open 1 done")
    assert rows(ada.get(f"{LIST}?state_category=done").text) == ["OPEN-6"]
    assert "aria-current" not in re.search(r'id="list-counts".*?</p>', done, re.S).group(0)


def test_what_is_too_much_to_count_is_said_to_be_more(ada, make, cast, monkeypatch):
    monkeypatch.setattr("app.tickets.list_pages.MAX_COUNT", 3)
    monkeypatch.setattr("app.tickets.pages.listing.MAX_COUNT", 3)
    monkeypatch.setattr("app.tickets.list_pages._LIMIT", 4)
    for number in range(6):
        make(f"No. {number}", priority="low", assignee_user_id=cast.ada.user_id)
    for query in ("", "?priority=low", "?assignee_user_id=me"):
        is_said_to_be_more(ada, query)


def is_said_to_be_more(ada, query):
    text = ada.get(f"{LIST}{query}").text
    assert counts(text) == "over 3 open 0 done"
    # In an order with an index the whole list is shown; in any other it cannot be sorted.
    assert len(rows(text)) == 6
    joint = "&" if query else "?"
    for order in ("sort=title", "group=state"):
        text = ada.get(f"{LIST}{query}{joint}{order}").text
        assert "More than 3 tickets match" in text
        assert rows(text)[0] == "OPEN-6"
        assert heads(text) == []
    text = ada.get(f"{LIST}{query}{joint}sort=rank").text
    assert "Over 3" not in text
    assert rows(text)[0] == "OPEN-1"


def test_what_is_found_too_often_has_no_number(ada, make, monkeypatch):
    monkeypatch.setattr("app.tickets.list_pages.MAX_COUNT", 3)
    monkeypatch.setattr("app.tickets.list_pages._LIMIT", 4)
    for _ in range(6):
        make("Banana")
    text = ada.get(f"{LIST}?q=banana").text
    assert (counts(text), len(rows(text))) == ("Open Done", 6)


def test_an_empty_list_leads_to_all_tickets(ada, make, states):
    make("Over", state_id=states["Done"])
    text = ada.get(LIST).text
    assert "No open tickets." in text
    assert rows(ada.get(link(text, "Show all tickets")).text) == ["OPEN-1"]


# Orders.


ORDERS = {
    "priority": "2 5 3 4 1",
    "-priority": "1 4 3 5 2",
    "due": "4 2 1 3 5",
    "-due": "2 4 5 3 1",
    "state": "4 3 2 1 5",
    "-state": "5 4 3 2 1",
    "assignee": "4 5 3 2 1",
    "title": "2 5 4 3 1",
    "-title": "1 3 4 5 2",
    "parent": "2 3 5 4 1",
    "number": "1 2 3 4 5",
    "rank": "2 5 3 4 1",
    "-rank": "1 4 3 5 2",
    "oldest": "1 2 3 4 5",
    "active": "5 4 3 2 1",
    "quiet": "1 2 3 4 5",
    "nonsense": "5 4 3 2 1",
}


def test_every_order_forth_and_back(ada, six, monkeypatch):
    monkeypatch.setattr("app.tickets.pages.listing.ROWS", 3)
    for sort in ORDERS:
        walk(ada, sort)


def test_the_latest_due_date_comes_first_however_many_there_are(ada, six, monkeypatch):
    monkeypatch.setattr("app.tickets.list_pages.MAX_COUNT", 1)
    monkeypatch.setattr("app.tickets.list_pages._LIMIT", 2)
    for size in (1, 2, 3):
        monkeypatch.setattr("app.tickets.pages.listing.ROWS", size)
        walk(ada, "-due")


def walk(ada, sort):
    """Follow a list to its end and back."""
    expected = [f"OPEN-{number}" for number in ORDERS[sort].split()]
    found, text = [], ada.get(f"{LIST}?sort={sort}").text
    pages = [text]
    while True:
        found += rows(text)
        if ">Next<" not in text:
            break
        text = ada.get(link(text, "Next")).text
        pages.append(text)
    assert found == expected, sort
    for page in pages[-2::-1]:
        text = ada.get(link(text, "Previous")).text
        assert rows(text) == rows(page), sort


def test_heads_lead_to_both_orders_of_their_column(ada, six):
    text = ada.get(LIST).text
    by_priority = ada.get(link(text, "Priority")).text
    assert rows(by_priority)[0] == "OPEN-2"
    assert 'class="priority-cell" aria-sort="ascending"' in by_priority
    assert rows(ada.get(link(by_priority, "Priority")).text)[0] == "OPEN-1"
    assert len(re.findall(r'aria-sort="(?:as|des)cending"', by_priority)) == 1
    # Ranks and numbers belong to one project.
    everywhere = ada.get("/tickets?sort=rank").text
    assert rows(everywhere)[0] == "OPEN-5"
    assert 'value="rank"' not in everywhere
    assert rows(ada.get("/tickets?sort=state").text)[-1] == "OPEN-5"


def test_a_cursor_of_other_values_starts_at_the_top(ada, six, monkeypatch):
    monkeypatch.setattr("app.tickets.pages.listing.ROWS", 2)
    address = link(ada.get(f"{LIST}?sort=priority").text, "Next")
    assert ada.get(address.replace("sort=priority", "sort=due")).location == f"{LIST}?sort=due"
    for cursor in ("x", "e30", "WzFd", "bnVsbA"):
        assert ada.get(f"{LIST}?sort=due&cursor={cursor}").location == f"{LIST}?sort=due"


# Of the longest texts, each character takes six bytes: one that JSON escapes, or a casefold.
LONGEST = ("\x01" * NAME_LENGTH, "ΐ" * NAME_LENGTH)


def test_no_values_make_a_cursor_too_long():
    values = {"number": -(2**53) + 1, "text": f"0{LONGEST[0]}", "id": list_orders.LAST_ID}
    for sort in list_orders.SORTS.values():
        for grouping, groups in list_orders.GROUPS.items():
            for is_cross_project in (False, True):
                keys = (*groups, *sort.keys(is_cross_project=is_cross_project))
                sent = [values[key.type] for key in keys]
                kind = f"{sort.name}/{grouping}"
                assert list_orders.decode(list_orders.encode(kind, sent), kind, keys) == sent


def test_the_longest_names_have_a_next_page(ada, cast, make, label, monkeypatch):
    monkeypatch.setattr("app.tickets.pages.listing.ROWS", 1)
    escaped, folded = LONGEST
    ok(cast.ada.patch(f"/users/{cast.ada.user_id}", {"display_name": f"a{escaped[2:]}b"}))
    labels = [label(folded)]
    for title in ("a", "b"):
        make(f"{title}{escaped[2:]}b", assignee_user_id=cast.ada.user_id, label_ids=labels)
    for query in (
        "group=assignee&sort=assignee",
        "group=assignee&sort=title",
        "group=label&sort=title",
    ):
        text = ada.get(f"{LIST}?{query}").text
        second = ada.get(link(text, "Next"))
        assert second.status_code == 200, query
        assert {*rows(text), *rows(second.text)} == {"OPEN-1", "OPEN-2"}, query


# Groups.


GROUPS = {
    "state": ["Backlog 4", "In review 1"],
    "priority": ["Urgent 1", "High 1", "Medium 2", "Low 1"],
    "assignee": ["Ad Ada 1", "Bo Bo 1", "Nobody 3"],
    "epic": ["OPEN-1 Zebra 3", "No epic 2"],
    "label": ["ape 1", "bug 1", "No label 3"],
}


def test_groups_have_heads_with_numbers(ada, six, monkeypatch):
    for grouping, expected in GROUPS.items():
        assert heads(ada.get(f"{LIST}?group={grouping}").text) == expected
    monkeypatch.setattr("app.tickets.pages.listing.ROWS", 1)
    for grouping, expected in GROUPS.items():
        found, text = [], ada.get(f"{LIST}?group={grouping}&sort=title").text
        seen = heads(text)
        while True:
            found += rows(text)
            if "Load more" not in text:
                break
            more = {"HX-Target": "more-x"}
            text = ada.get(link(text, "Load more"), htmx=True, **more).text
            seen += heads(text)
        assert sorted(found) == [f"OPEN-{number}" for number in range(1, 6)], grouping
        # A group that continues after "Load more" has only one header.
        assert len(seen) == len(expected), grouping


def test_across_projects_states_are_grouped_by_category(ada, six):
    assert heads(ada.get("/tickets?group=state").text) == ["Backlog 4", "In review 1"]
    assert heads(ada.get("/tickets?group=label").text) == []


def test_the_order_and_the_numbers_come_along_with_a_part_of_the_page(ada, six):
    """Column headers change the order, and the filters must keep it."""
    text = ada.get(f"{LIST}?sort=due&group=state&show=all", htmx=True).text
    assert re.search(r'id="list-order" hx-swap-oob="true"', text)
    assert '<option value="due" selected>' in text
    assert '<input type="hidden" name="show" value="all">' in text
    assert re.search(r'id="list-counts" hx-swap-oob="true"', text)
    assert "tickets.csv?show=all&amp;group=state&amp;sort=due" in text


def test_files_have_the_order_of_the_list_and_ranks(ada, cast, six, monkeypatch):
    monkeypatch.setattr("app.tickets.pages.listing.BATCH", 2)
    read = ada.get(f"{LIST}.json?sort=priority").json
    assert [one["display_id"] for one in read] == [f"OPEN-{number}" for number in (2, 5, 3, 4, 1)]
    assert read[0]["rank"] == ok(cast.ada.get("/tickets/OPEN-2"))["rank"]
    assert ",rank," in ada.get(f"{LIST}.csv").text.partition("\n")[0]
    assert [one["display_id"] for one in ada.get(f"{LIST}.json?show=done").json] == ["OPEN-6"]


def test_hidden_columns_can_be_times(ada, make):
    make("There")
    ada.post("/tickets/columns", back=LIST, shown=["state", "updated"])
    text = ada.get(LIST).text
    assert "no-created" in text
    assert "no-updated" not in text


def test_a_filter_with_many_labels_has_colors_and_a_box_to_find_one(ada, make, label):
    make("There")
    for number in range(11):
        label(f"label {number}")
    assert "data-find " not in ada.get(LIST).text
    label("the twelfth")
    text = ada.get(LIST).text
    assert 'aria-label="Find in Label"' in text
    assert text.count('<span class="dot c-') == 12
