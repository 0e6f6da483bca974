"""The quick-add line of the board."""

import re

from tests.web.cards_on_page import shown


def test_a_line_becomes_a_ticket(ada, cast, make, label, states):
    label("needs review")
    label("bug")
    make("A story")
    line = 'Fix #123 !high @Ada #bug #needs-review ^open-1 due:2030-12-01 !urgent @who "as is"'
    given = {"project": "OPEN", "state_id": states["To do"], "title": line}
    shown_as = ada.get("/tickets/quick", htmx=True)
    assert shown_as.status_code == 404
    answer = ada.post("/tickets/quick", htmx=True, idempotency_key="a", **given)
    assert answer.status_code == 201, answer.text
    again = ada.post("/tickets/quick", htmx=True, idempotency_key="a", **given)
    assert shown(again.text) == shown(answer.text) == ["OPEN-2"]
    made = cast.ada.get("/tickets/OPEN-2").json
    assert made["title"] == 'Fix #123 @who "as is"'
    assert made["priority"] == "urgent"
    assert made["assignee"]["username"] == "ada"
    assert made["due_date"] == "2030-12-01"
    assert [one["name"] for one in made["labels"]] == ["bug", "needs review"]
    assert (made["type"], made["parent"]["display_id"]) == ("subtask", "OPEN-1")
    assert made["state"]["name"] == "To do"


def test_what_is_understood_is_shown_before(ada, label):
    label("bug")
    address = "/tickets/quick?project=OPEN&title=Mend+it+%23bug+!low+%23nothing+due:2030-13-01"
    text = re.sub(r"<[^>]+>", "|", ada.get(address, htmx=True).text)
    assert "bug" in text
    assert "Low" in text
    assert "nothing" not in text
    assert "2030" not in text


def test_a_line_without_a_title_says_so(ada, states):
    given = {"project": "OPEN", "state_id": states["To do"]}
    for title in ("", "   ", "!high", "x" * 501):
        answer = ada.post("/tickets/quick", htmx=True, title=title, **given)
        assert answer.status_code == 422, title
