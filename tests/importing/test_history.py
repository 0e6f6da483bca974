"""The history from another tracker: one comment, collapsed on the ticket's page."""

import pytest

from app.importing.issues import Issue, IssueComment
from app.importing.trackers.history import MAX_LINE_LENGTH, MAX_LINES, PastChange, as_comment
from app.tickets.importing import history_of
from tests.importing.reading import comments
from tests.support.story import make_ticket, ok

DAY = 86_400_000
HISTORY = "**History in GitHub**: 1 change, 2024-03-01\n\n- 2024-03-01 eve closed it & <more>"


def test_the_newest_changes_are_a_list_and_all_are_counted():
    changes = [PastChange(number * DAY, "eve", f"set it to *{number}*") for number in range(250)]
    comment = as_comment("GitHub", reversed(changes))
    title, text = history_of(comment.text)
    assert title == "History in GitHub: 250 changes, 1970-01-01 to 1970-09-07"
    lines = text.split("\n")
    assert (lines[0], len(lines)) == ("- 50 earlier changes", MAX_LINES + 1)
    assert lines[-1] == "- 1970-09-07 00:00 eve set it to \\*249\\*"
    assert comment.written_at == 249 * DAY
    assert as_comment("GitHub", []) is None


def test_a_change_is_one_short_line():
    comment = as_comment("Jira", [PastChange(0, "", "a\n- b\n" + "x" * 900)])
    title, text = history_of(comment.text)
    assert title == "History in Jira: 1 change, 1970-01-01"
    assert text.startswith("- 1970-01-01 00:00 someone a - b x")
    assert len(text) == len("- 1970-01-01 00:00 ") + MAX_LINE_LENGTH


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
def test_other_texts_are_no_history(body):
    assert history_of(body) is None


def page_of(cast, ticket):
    path = f"/tickets/{ticket['display_id']}"
    return cast.ada.client.get(path, headers={"Accept": "text/html"}).text


def test_a_history_is_folded_on_the_page(cast, imported, tickets):
    imported(Issue("a", "Old", comments=(IssueComment("", HISTORY, DAY),), created_at=0))
    folded = page_of(cast, tickets()["Old"]).partition('<details class="comment-text">')[2]
    folded = folded.partition("</details>")[0]
    assert "<summary>History in GitHub: 1 change, 2024-03-01 <span" in folded
    assert "closed it &amp; &lt;more&gt;</li>" in folded
    assert "<strong>History" not in folded


def test_what_people_write_in_its_form_is_shown_as_they_wrote_it(cast, imported, tickets):
    """On other tickets and on an imported one, and if they edit the imported text."""
    imported(Issue("a", "Old", comments=(IssueComment("", HISTORY, DAY),), created_at=0))
    old, new = tickets()["Old"], make_ticket(cast.ada, cast.open_project)
    (brought,) = comments(cast, old)
    edited = HISTORY.replace("eve closed", "bo closed")
    ok(cast.ada.patch(f"/comments/{brought['id']}", {"body": edited}))
    for ticket in (old, new):
        ok(cast.ada.post(f"/tickets/{ticket['id']}/comments", {"body": HISTORY}), 201)
        page = page_of(cast, ticket)
        assert "<strong>History in GitHub</strong>: 1 change" in page
        assert '<details class="comment-text">' not in page
        assert ">imported</span>" not in page
