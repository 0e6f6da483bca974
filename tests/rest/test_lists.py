"""Lists: limits, cursors, and walks that return every row once."""

from dataclasses import replace

import pytest

from app.database.pagination import Cursor, encode
from tests.support.cases import cases
from tests.support.story import invalid, make_label, make_ticket, malformed, ok, refused, walk


def test_unknown_parameters_are_ignored(cast):
    make_ticket(cast.ada, cast.open_project)
    for query in ("?nonsense=1", "?order=title", "?q=nothing", "?%00=1", "?=&&", "?limit=1&x[]=2"):
        assert len(ok(cast.ada.get(f"/tickets{query}"))["data"]) == 1, query


@pytest.mark.one_database
@pytest.mark.parametrize(
    "limit", ["0", "201", "-1", "999999999", "9" * 18, "9" * 19, "-" + "9" * 30, "1" + "0" * 5000]
)
def test_a_limit_out_of_range_breaks_a_rule(cast, limit):
    invalid(cast.ada.get(f"/tickets?limit={limit}"), "limit", "out_of_range")


def test_a_limit_may_begin_with_zeros(cast):
    for _ in range(2):
        make_ticket(cast.ada, cast.open_project)
    assert len(ok(cast.ada.get(f"/tickets?limit={'0' * 30}1"))["data"]) == 1


@pytest.mark.one_database
@cases("limit", ["", "x", "1.0", "1e2", "+5", " 5", "0x10", "٣", "5,5", "true", "0" * 60_000 + "x"])
def test_a_limit_that_is_no_integer_breaks_the_form(cast, limit):
    malformed(
        cast.ada.get(f"/tickets?limit={limit.replace('+', '%2B')}"),
        ["query", "limit"],
        "invalid_type",
    )


def test_the_default_page_has_fifty_rows_and_the_largest_two_hundred(cast):
    for number in range(51):
        make_label(cast.ada, cast.open_project, str(number))
    path = f"/projects/{cast.open_project}/labels"
    page = ok(cast.ada.get(path))
    assert len(page["data"]) == 50
    assert page["page"]["has_more"] is True
    assert len(ok(cast.ada.get(f"{path}?limit=200"))["data"]) == 51
    rest = ok(cast.ada.get(f"{path}?cursor={page['page']['next_cursor']}"))
    assert (len(rest["data"]), rest["page"]) == (1, {"next_cursor": None, "has_more": False})


def test_a_page_that_ends_with_the_list_has_no_next(cast):
    for number in range(2):
        make_label(cast.ada, cast.open_project, str(number))
    page = ok(cast.ada.get(f"/projects/{cast.open_project}/labels?limit=2"))["page"]
    assert page == {"next_cursor": None, "has_more": False}


def test_a_walk_meets_every_row_once(cast):
    made = [make_ticket(cast.ada, cast.open_project, str(n))["id"] for n in range(7)]
    for limit in (1, 2, 3, 7):
        assert [row["id"] for row in walk(cast.ada, "/tickets", limit)] == made[::-1], limit


def test_rows_made_or_removed_during_a_walk_disturb_no_other(cast):
    made = [make_ticket(cast.ada, cast.open_project, str(n))["id"] for n in range(9)]
    seen, cursor, step = [], "", 0
    while cursor is not None:
        joint = f"&cursor={cursor}" if cursor else ""
        page = ok(cast.ada.get(f"/tickets?limit=2{joint}"))
        seen += [row["id"] for row in page["data"]]
        cursor = page["page"]["next_cursor"]
        make_ticket(cast.smith, cast.open_project, f"meanwhile {step}")
        if step == 1:
            # Delete the row that the next cursor points to.
            ok(cast.ada.delete(f"/tickets/{seen[-1]}"), 204)
        step += 1
    assert seen == made[::-1]


def test_an_ascending_walk_meets_rows_added_at_the_end(cast):
    ticket = make_ticket(cast.ada, cast.open_project)
    path = f"/tickets/{ticket['id']}/comments"
    made = [ok(cast.ada.post(path, {"body": str(n)}), 201)["id"] for n in range(3)]
    page = ok(cast.ada.get(f"{path}?limit=2"))
    made.append(ok(cast.ada.post(path, {"body": "late"}), 201)["id"])
    rest = ok(cast.ada.get(f"{path}?cursor={page['page']['next_cursor']}"))
    assert [row["id"] for row in page["data"] + rest["data"]] == made


def test_a_cursor_of_another_list_is_refused(cast):
    for number in range(2):
        make_label(cast.ada, cast.open_project, str(number))
    page = ok(cast.ada.get(f"/projects/{cast.open_project}/labels?limit=1"))
    for path in ("/tickets", "/projects", "/audit"):
        response = cast.ada.get(f"{path}?cursor={page['page']['next_cursor']}")
        refused(response, 400, "validation.invalid_field", field="cursor")


def test_lists_of_one_resource_share_their_cursors(cast):
    for number in range(3):
        make_ticket(cast.ada, cast.open_project, str(number))
    page = ok(cast.ada.get("/tickets?limit=1"))
    cursor = page["page"]["next_cursor"]
    rest = ok(cast.ada.get(f"/projects/{cast.open_project}/tickets?cursor={cursor}"))
    assert [row["title"] for row in rest["data"]] == ["1", "0"]


@cases("cursor", ["", "x", "e30", "%00", "A" * 600, "bm9uZQ==", "é", "bnVsbA"])
def test_a_malformed_cursor_is_a_bad_request(cast, cursor):
    response = cast.ada.get(f"/tickets?cursor={cursor}")
    refused(response, 400, "validation.invalid_field", field="cursor")


def test_of_a_parameter_sent_twice_the_first_counts(cast):
    for number in range(3):
        make_ticket(cast.ada, cast.open_project, str(number))
    assert len(ok(cast.ada.get("/tickets?limit=1&limit=2"))["data"]) == 1


@pytest.mark.one_database
@pytest.mark.parametrize("value", ["1", "yes", "True", "TRUE", "", "null"])
def test_include_deleted_is_true_or_false(cast, value):
    malformed(
        cast.ada.get(f"/tickets?include_deleted={value}"),
        ["query", "include_deleted"],
        "invalid_value",
    )
    ok(cast.ada.get("/tickets?include_deleted=false"))
    ok(cast.smith.get("/tickets?include_deleted=false"))


def test_a_cursor_beyond_all_positions_is_refused(cast):
    path = f"/projects/{cast.open_project}/workflow-states"
    place = Cursor("workflow_state", cast.open_project, (1 << 31) - 1)
    assert ok(cast.ada.get(f"{path}?cursor={encode(place)}"))["data"] == []
    beyond = replace(place, at=1 << 31)
    answer = cast.ada.get(f"{path}?cursor={encode(beyond)}")
    refused(answer, 400, "validation.invalid_field", field="cursor", reason="malformed")
