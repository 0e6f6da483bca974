"""The page of a ticket: editing that loses nothing, and what can be created from it."""

import re
from datetime import UTC, datetime

import pytest

from tests.support.cases import cases
from tests.support.story import make_ticket, ok
from tests.web.stream_on_page import REF


def test_a_deleted_ticket_shows_who_and_brings_it_back(ada, cast, path):
    cast.smith.delete(path)
    page = ada.get(REF)
    assert page.status_code == 410
    text = " ".join(re.sub(r"<[^>]+>", " ", page.text).split())
    assert "OPEN-1 was deleted" in text
    assert "Smith bot deleted it" in text
    # Its subtask is not deleted with it.
    assert "OPEN-2" in text
    assert "flask restore ticket OPEN-1" in text
    assert ada.post(f"{REF}/restore").location == REF
    assert ada.get(REF).status_code == 200
    assert ada.post(f"{REF}/restore").status_code == 409
    assert ada.post("/tickets/OPEN-99/restore").status_code == 404


def test_two_changes_of_a_description_are_put_together(ada, cast, path):
    base = "First line\n\nSecond line\n\nThird line\n"
    cast.ada.patch(path, {"body": base})
    cast.smith.patch(path, {"body": base.replace("First", "1st")})
    mine = base.replace("Third", "3rd")
    page = ada.post(f"{REF}/fields/body", htmx=True, seen=base, value=mine)
    assert page.status_code == 409
    merged = base.replace("First", "1st").replace("Third", "3rd")
    assert f"\n{merged}</textarea>" in page.text
    assert f"\n{mine}</textarea>" in page.text
    assert "don’t overlap" in page.text
    theirs = re.search(r'name="seen" value="([^"]*)"', page.text)[1]
    assert ada.post(f"{REF}/fields/body", htmx=True, seen=theirs, value=merged).status_code == 200
    assert cast.ada.get(path).json["body"] == merged


def conflict(ada, cast, path, both=2):
    """Create a conflict of two people in the same lines; return the page and its form's fields."""
    base, mine, theirs = (
        "\n\nBetween\n\n".join(f"{whose} line {number}" for number in range(both))
        for whose in ("One", "My", "Their")
    )
    cast.ada.patch(path, {"body": base})
    cast.smith.patch(path, {"body": theirs})
    page = ada.post(f"{REF}/fields/body", htmx=True, seen=base, value=mine)
    assert page.status_code == 409
    return page, {"seen": theirs, "merged_from": base, "mine": mine}


def test_each_place_that_both_changed_is_chosen(ada, cast, path):
    page, sent = conflict(ada, cast, path)
    assert "You both changed the text in 2 places." in page.text
    assert 'name="value"' not in page.text
    for text in ("Conflict 2 of 2", "My line 1", "Their line 0", "Keep both, theirs first"):
        assert text in page.text
    choices = {"keep-1": "mine", "keep-2": "both"}
    assert ada.post(f"{REF}/fields/body", htmx=True, **sent, **choices).status_code == 200
    saved = cast.ada.get(path).json["body"]
    assert saved == "My line 0\n\nBetween\n\nTheir line 1\nMy line 1"


def test_without_a_choice_both_are_kept(ada, cast, path):
    _page, sent = conflict(ada, cast, path, 1)
    assert ada.post(f"{REF}/fields/body", htmx=True, **sent).status_code == 200
    assert cast.ada.get(path).json["body"] == "Their line 0\nMy line 0"


def test_the_merged_text_is_edited_before_it_is_saved(ada, cast, path):
    _page, sent = conflict(ada, cast, path)
    choices = {"keep-1": "theirs", "keep-2": "mine", "take": "edit"}
    page = ada.post(f"{REF}/fields/body", htmx=True, **sent, **choices)
    # The response counts as not saved, so that the page keeps a draft.
    assert page.status_code == 409
    merged = "Their line 0\n\nBetween\n\nMy line 1"
    assert f"\n{merged}</textarea>" in page.text
    assert 'data-restored="yes"' in page.text
    seen = re.search(r'name="seen" value="([^"]*)"', page.text)[1]
    assert seen == sent["seen"]
    assert cast.ada.get(path).json["body"] == seen
    assert ada.post(f"{REF}/fields/body", htmx=True, seen=seen, value=merged).status_code == 200
    assert cast.ada.get(path).json["body"] == merged


def test_one_s_own_version_is_saved_after_a_conflict(ada, cast, path):
    _page, sent = conflict(ada, cast, path)
    assert ada.post(f"{REF}/fields/body", htmx=True, **sent, take="mine").status_code == 200
    assert cast.ada.get(path).json["body"] == sent["mine"]


def test_a_choice_that_somebody_overtook_is_another_conflict(ada, cast, path):
    _page, sent = conflict(ada, cast, path, 1)
    cast.smith.patch(path, {"body": "Their line, again"})
    page = ada.post(f"{REF}/fields/body", htmx=True, **sent, **{"keep-1": "mine"})
    assert page.status_code == 409
    for text in ("My line 0", "Their line, again"):
        assert text in page.text
    assert cast.ada.get(path).json["body"] == "Their line, again"


@pytest.mark.one_database
@cases("name", ["body", "title", "assignee", "due_date", "parent", "state"])
@cases("sent", [{}, {"take": "mine"}, {"take": "edit"}, {"take": "merged"}])
def test_a_form_without_its_field_empties_nothing(ada, cast, path, name, sent):
    cast.ada.patch(path, {"assignee_user_id": cast.ada.user_id, "due_date": "2030-01-01"})
    before = cast.ada.get(path).json
    assert ada.post(f"{REF}/fields/{name}", htmx=True, **sent).status_code == 422
    assert cast.ada.get(path).json == before


def test_labels_of_two_people_are_added_up(ada, cast, ticket, path):
    project = f"/projects/{cast.open_project}"
    made = [
        cast.ada.post(f"{project}/labels", {"name": name}).json["id"] for name in ("one", "two")
    ]
    bug = ticket["labels"][0]["id"]
    cast.smith.patch(path, {"label_ids": [bug, made[0]]})
    # Ada still sees only the bug label; she removes it and adds another.
    answer = ada.post(f"{REF}/fields/labels", htmx=True, seen=bug, value=[made[1]])
    assert answer.status_code == 200
    assert {one["name"] for one in cast.ada.get(path).json["labels"]} == {"one", "two"}


def test_a_comment_can_move_the_ticket(ada, cast, path):
    states = cast.ada.get(f"/projects/{cast.open_project}/workflow-states").json["data"]
    known = {one["name"]: one["id"] for one in states}
    menu = ada.get(f"{REF}/comments/states", htmx=True)
    assert menu.text.count("<button") == len(known)
    answer = ada.post(f"{REF}/comments", htmx=True, body="Done with it.", state_id=known["Done"])
    assert answer.status_code == 200
    assert "Done with it." in answer.text
    assert "to Done" in answer.text
    assert 'id="ticket-field-state" hx-swap-oob="true"' in answer.text
    assert cast.ada.get(path).json["state"]["name"] == "Done"
    wrong = ada.post(f"{REF}/comments", htmx=True, body="Kept text", state_id=cast.ada.user_id)
    assert wrong.status_code == 422
    assert "Kept text" in wrong.text


def test_a_subtask_is_added_from_its_title(ada, cast, ticket, path):
    answer = ada.post(f"{REF}/children", htmx=True, title="One more part")
    assert answer.status_code == 200
    assert "One more part" in answer.text
    assert "0/2" in answer.text
    found = cast.ada.get(f"/tickets?parent_ticket_id={ticket['id']}").json["data"]
    assert {one["type"] for one in found} == {"subtask"}
    wrong = ada.post(f"{REF}/children", htmx=True, title="  ")
    assert wrong.status_code == 422
    assert "blank" in wrong.text
    assert ada.post(f"{REF}/children", title="Plainly").location.startswith(REF)
    assert ada.post("/tickets/OPEN-2/children", title="Too deep").status_code == 422


def test_the_same_line_sent_twice_adds_one_child(ada, cast, ticket):
    for _ in range(2):
        ada.post(f"{REF}/children", htmx=True, title="Only once", idempotency_key="k")
    found = cast.ada.get(f"/tickets?parent_ticket_id={ticket['id']}").json["data"]
    assert [one["title"] for one in found].count("Only once") == 1


@cases(
    "query, found",
    [
        ("of=people&q=", ["@bo", "@ada"]),
        ("of=people&q=SMI", ["@smith"]),
        ("of=people&q=fen", []),
        ("of=people&q=%25", []),
        ("q=OPEN-1", ["OPEN-1"]),
        ("q=part", ["OPEN-2"]),
        ("of=parents&q=part", []),
        ("of=parents&q=OPEN-1", ["OPEN-1"]),
        ("of=parents&q=+", []),
        ("of=parents&q=%22", []),
    ],
)
def test_names_and_numbers_are_completed(ada, ticket, query, found):
    rows = ada.get(f"/tickets/complete?project=OPEN&{query}").json
    inserted = [row["insert"] for row in rows]
    assert [one for one in found if one not in inserted] == []
    assert found or not inserted


def test_capitals_of_any_script_are_found(ada, cast, ticket):
    named = {"username": "oemer", "display_name": "Ömer Élan", "password": "a long password"}
    ok(cast.ada.post("/users", named), 201)
    ok(cast.ada.post("/users", named | {"username": "ines", "display_name": "İnes Σ"}), 201)
    bug = make_ticket(cast.ada, cast.open_project, title="ÉCOLE fermée, Κλειστό")
    street = make_ticket(cast.ada, cast.open_project, title="ΟΔΟΣ in İstanbul", type="epic")
    for query, found in (
        ("of=people&q=Ömer", "@oemer"),
        ("of=people&q=ÉLAN", "@oemer"),
        ("q=École", bug["display_id"]),
        ("q=κλειστό", bug["display_id"]),
        ("of=people&q=İNES", "@ines"),
        ("of=people&q=Σ", "@ines"),
        ("q=ΟΔΟΣ", street["display_id"]),
    ):
        rows = ada.get(f"/tickets/complete?project=OPEN&{query}").json
        assert [row["insert"] for row in rows] == [found]
    story = make_ticket(cast.ada, cast.open_project, type="story")["display_id"]
    for typed in ("ΟΔΟΣ", "İstanbul"):
        offered = ada.get(f"/tickets/{story}/parents?value={typed}").text
        assert "ΟΔΟΣ in İstanbul" in offered


def test_a_bot_that_cannot_see_the_project_is_not_suggested(ada, cast, ticket):
    rows = ada.get("/tickets/complete?project=OPEN&of=people&q=fenced").json
    assert rows == []
    rows = ada.get("/tickets/complete?project=FENCED&of=people&q=fenced").json
    assert [row["insert"] for row in rows] == ["@fenced"]
    assert ada.get("/tickets/complete?project=NONE&q=x").status_code == 404


def test_a_preview_is_what_the_page_would_show(ada, ticket):
    shown = ada.post("/tickets/preview", htmx=True, project="OPEN", body="**OPEN-2** <script>")
    assert "<strong>" in shown.text
    assert 'href="/tickets/OPEN-2"' in shown.text
    assert "<script>" not in shown.text
    assert "Nothing to preview" in ada.post("/tickets/preview", project="OPEN", body=" ").text


def test_what_can_be_copied(ada, cast, ticket, path):
    cast.ada.patch(path, {"title": 'Über [x] & "so" — fix/it'})
    page = ada.get(REF).text
    copied = [
        one.replace("&amp;", "&").replace("&#34;", '"')
        for one in re.findall(r'class="menu-item" data-copy="([^"]*)"', page)
    ]
    assert copied[:4] == [
        "http://localhost/tickets/OPEN-1",
        "OPEN-1",
        "open-1-uber-x-so-fix-it",
        '[OPEN-1: Über \\[x\\] & "so" — fix/it](http://localhost/tickets/OPEN-1)',
    ]
    assert "ticket://OPEN-1" in copied[4]


def test_a_copy_starts_with_what_the_ticket_has(ada, cast, ticket, path):
    due = datetime.now(UTC).strftime("%Y-%m-%d")
    cast.ada.patch(path, {"priority": "urgent", "body": "Text.", "due_date": due})
    page = ada.get("/tickets/new?project=OPEN&copy=OPEN-1").text
    assert 'value="A &lt;i&gt;ticket&lt;/i&gt;"' in page
    assert "Text.</textarea>" in page
    assert f'value="{due}"' in page
    assert re.search(r'value="urgent" selected', page)
    assert re.search(rf'value="{ticket["labels"][0]["id"]}" checked', page)
    assert ada.get("/tickets/new?project=OPEN&copy=OPEN-99").status_code == 404


def test_the_page_takes_few_statements_however_much_happened(ada, cast, path):
    counts = []
    for _ in range(2):
        with ada.statements() as seen:
            ada.get(REF)
        counts.append(len(seen))
        for number in range(6):
            cast.smith.patch(path, {"assignee_user_id": cast.bo.user_id})
            cast.smith.patch(path, {"assignee_user_id": None})
            cast.bo.post(f"{path}/comments", {"body": f"No. {number}, OPEN-2."})
    assert counts[1] <= counts[0] + 2 <= 12


def test_links_are_added_and_removed_on_the_page(ada, cast, path):
    sent = {"url": "https://github.com/a/b/pull/5", "title": ""}
    page = ada.post(f"{REF}/links", htmx=True, **sent)
    assert page.status_code == 200
    assert ">a/b#5</a>" in page.text
    assert "added the link a/b#5" in page.text
    (link,) = cast.ada.get(f"{path}/links").json["data"]
    refused = ada.post(f"{REF}/links", htmx=True, url="ftp://x", title="My title")
    assert refused.status_code == 422
    assert 'value="My title"' in refused.text
    assert "The address must start with https://." in refused.text
    assert ada.post(f"{REF}/links/{link['id']}/delete").location == REF
    assert cast.ada.get(f"{path}/links").json["data"] == []


def test_a_hostile_title_is_text(ada, cast, path):
    cast.smith.post(f"{path}/links", {"url": "https://example.org", "title": '<b>"x'})
    assert ">&lt;b&gt;&#34;x</a>" in ada.get(REF).text
