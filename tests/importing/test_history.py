"""What happened in another tracker: one comment, folded on the ticket's page."""

import pytest

from app.importing.trackers.history import LONGEST_LINE, MOST_LINES, PastChange, as_comment
from app.tickets.importing import history_of
from tests.support.story import make_ticket, ok

DAY = 86_400_000


def test_the_newest_changes_are_a_list_and_all_are_counted():
    changes = [PastChange(number * DAY, "eve", f"set it to *{number}*") for number in range(250)]
    comment = as_comment("GitHub", reversed(changes))
    title, text = history_of(comment.text)
    assert title == "History in GitHub: 250 changes, 1970-01-01 to 1970-09-07"
    lines = text.split("\n")
    assert (lines[0], len(lines)) == ("- 50 earlier changes", MOST_LINES + 1)
    assert lines[-1] == "- 1970-09-07 00:00 eve set it to \\*249\\*"
    assert comment.written_at == 249 * DAY
    assert as_comment("GitHub", []) is None


def test_a_change_is_one_short_line():
    comment = as_comment("Jira", [PastChange(0, "", "a\n- b\n" + "x" * 900)])
    title, text = history_of(comment.text)
    assert title == "History in Jira: 1 change, 1970-01-01"
    assert text.startswith("- 1970-01-01 00:00 someone a - b x")
    assert len(text) == len("- 1970-01-01 00:00 ") + LONGEST_LINE


@pytest.mark.parametrize(
    "body",
    [
        "",
        "**History in GitHub**",
        "**History in GitHub**: 1 change\n\nnone",
        "x **History in GitHub**: 1 change\n\n- x",
        "**History in <b>**: 1\n\n- x",
    ],
)
def test_other_comments_are_no_history(body):
    assert history_of(body) is None


def test_a_history_is_folded_on_the_page(cast):
    ticket = make_ticket(cast.ada, cast.open_project)
    body = "**History in GitHub**: 1 change, 2024-03-01\n\n- 2024-03-01 eve closed it & <more>"
    ok(cast.ada.post(f"/tickets/{ticket['id']}/comments", {"body": body}), 201)
    page = cast.ada.client.get(
        f"/tickets/{ticket['display_id']}", headers={"Accept": "text/html"}
    ).text
    folded = page.partition('<details class="comment-text">')[2].partition("</details>")[0]
    assert "<summary>History in GitHub: 1 change, 2024-03-01 <span" in folded
    assert "closed it &amp; &lt;more&gt;</li>" in folded
    assert "<strong>History" not in folded
