"""The page of a ticket: its stream, what others do meanwhile, undo, and editing that loses none."""

import re
from datetime import UTC, datetime

import pytest

from app.core import clock

REF = "/tickets/OPEN-1"


@pytest.fixture
def path(ticket):
    return f"/tickets/{ticket['id']}"


def events(cast, kind):
    found = cast.ada.get("/audit?limit=200").json["data"]
    return [one for one in found if one["event_type"] == kind]


def stream(page) -> str:
    """The text of the stream, on one line."""
    inside = page.text.split('id="thread"')[1].split('id="live"')[0]
    return " ".join(re.sub(r"<[^>]+>", " ", inside).split())


def test_a_line_says_from_what_to_what_in_words(ada, cast, path):
    cast.ada.patch(path, {"assignee_user_id": cast.bo.user_id})
    cast.smith.patch(path, {"assignee_user_id": cast.smith.user_id, "due_date": "2031-02-03"})
    cast.ada.patch(path, {"assignee_user_id": None, "title": "Another <b>title</b>"})
    text = stream(ada.get(REF))
    assert "changed the assignee from Bo to Smith" in text
    assert "set the due date to 3 Feb 2031" in text
    assert "removed the assignee Smith" in text
    assert "Another &lt;b&gt;title&lt;/b&gt;" in text
    # History shows names, never ids.
    assert not re.search(r"[0-9a-f]{8}-[0-9a-f]{4}-7", text)


def test_changes_by_one_actor_within_minutes_are_one_line(ada, cast, path):
    for fields in ({"priority": "low"}, {"due_date": "2031-02-03"}, {"body": "New."}):
        cast.smith.patch(path, fields)
    page = ada.get(REF)
    assert "Smith bot changed priority, due date, description · 3 changes" in stream(page)
    assert page.text.count('class="run"') == 1
    # What somebody else does in between ends the run.
    cast.bo.patch(path, {"title": "Between"})
    cast.smith.patch(path, {"priority": "high"})
    assert ada.get(REF).text.count('class="run"') == 1


def test_changes_far_apart_stay_lines_of_their_own(ada, cast, path, monkeypatch):
    # Ids never go back; later tests shall not find themselves in the future.
    monkeypatch.setattr("app.core.ids._last_ms", 0)
    start = clock.now_ms()
    for minutes in (0, 6, 12):
        moment = start + minutes * clock.MINUTE_MS
        monkeypatch.setattr("app.core.ids.now_ms", lambda moment=moment: moment)
        cast.smith.patch(path, {"priority": "low" if minutes != 6 else "high"})
    assert 'class="run"' not in ada.get(REF).text


@pytest.mark.parametrize(
    ("show", "there", "away"),
    [
        ("comments", ["Said.", "By the bot."], ["created this ticket", "priority"]),
        ("changes", ["created this ticket", "priority"], ["Said.", "By the bot."]),
        ("bots", ["By the bot.", "priority"], ["Said.", "created this ticket"]),
        ("nonsense", ["Said.", "By the bot.", "created this ticket", "priority"], []),
    ],
)
def test_the_stream_is_filtered_by_its_address(ada, cast, path, show, there, away):
    cast.smith.post(f"{path}/comments", {"body": "By the bot."})
    cast.smith.patch(path, {"priority": "low"})
    for page in (ada.get(f"{REF}?show={show}"), ada.get(f"{REF}?show={show}", htmx=True)):
        text = stream(page)
        assert [one for one in there if one not in text] == []
        assert [one for one in away if one in text] == []


def test_what_a_tool_did_leads_to_its_call(ada, cast, path):
    answer = call_tool(cast, "update_ticket", {"ticket_id": "OPEN-1", "priority": "urgent"})
    assert not answer["isError"], answer
    page = ada.get(REF).text
    (link,) = set(re.findall(r'href="(/audit/tools\?request_id=[^"]+)"', page))
    assert "update_ticket" in ada.get(link.replace("&amp;", "&")).text


def call_tool(cast, name, arguments):
    """Call a tool as smith over MCP."""
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": name, "arguments": arguments},
    }
    headers = {"Accept": "application/json, text/event-stream"}
    address = f"//mcp/bot/{cast.smith.token}/mcp"
    answer = cast.nobody.call("POST", address, json=body, headers=headers)
    return answer.json["result"]


def test_a_changed_description_is_compared_word_by_word(ada, cast, path):
    cast.ada.patch(path, {"body": "The quick fox jumps."})
    cast.smith.patch(path, {"body": "The slow fox jumps."})
    event = events(cast, "ticket.updated")[0]["id"]
    assert f"{REF}/changes/{event}" in ada.get(REF).text
    for htmx in (True, False):
        page = ada.get(f"{REF}/changes/{event}", htmx=htmx).text
        assert "<del>quick</del>" in page
        assert "<ins>slow</ins>" in page
        assert ("<html" in page) != htmx


@pytest.mark.parametrize("event", ["none", "00000000-0000-7000-8000-000000000009"])
def test_there_is_no_change_where_none_was(ada, ticket, cast, event):
    assert ada.get(f"{REF}/changes/{event}").status_code == 404
    other = events(cast, "ticket.relation_added")[0]["id"]
    assert ada.get(f"{REF}/changes/{other}").status_code == 404


def test_an_edited_comment_shows_what_it_said(ada, cast, path):
    made = cast.ada.post(f"{path}/comments", {"body": "First words."}).json["id"]
    for body in ("Second words.", "Third words."):
        cast.ada.patch(f"/comments/{made}", {"body": body})
    assert "edited 2 times" in ada.get(REF).text
    page = ada.get(f"/comments/{made}/history").text
    assert page.index("<ins>Third</ins>") < page.index("<ins>Second</ins>")


def test_a_deleted_comment_leaves_a_line_with_the_way_back(ada, cast, path):
    made = cast.ada.post(f"{path}/comments", {"body": "Regretted."}).json["id"]
    cast.bo.delete(f"/comments/{made}")
    page = ada.get(REF)
    assert "A comment by Ada was deleted by Bo" in stream(page)
    assert "Regretted." not in stream(page)
    event = events(cast, "comment.deleted")[0]["id"]
    assert ada.post(f"/audit/events/{event}/undo", back=REF).location == REF
    assert "Regretted." in stream(ada.get(REF))


def undo(ada, event, *, htmx=True, **form):
    return ada.post(f"/audit/events/{event}/undo", htmx=htmx, back=REF, **form)


def test_undo_takes_one_click_and_marks_both_lines(ada, cast, path):
    cast.smith.patch(path, {"priority": "low"})
    event = events(cast, "ticket.updated")[0]["id"]
    assert f'action="/audit/events/{event}/undo"' in ada.get(REF).text
    answer = undo(ada, event)
    assert answer.status_code == 200
    assert answer.headers["HX-Trigger-After-Settle"] == "app:poll"
    assert cast.ada.get(path).json["priority"] == "medium"
    page = ada.get(REF).text
    assert f'action="/audit/events/{event}/undo"' not in page
    assert f'href="#event-{event}">takes back</a>' in page
    # The undo has a way back too; taken, the first line can be undone again.
    second = events(cast, "ticket.updated")[0]["id"]
    undo(ada, second)
    assert f'action="/audit/events/{event}/undo"' in ada.get(REF).text


@pytest.mark.parametrize("htmx", [True, False])
def test_undo_asks_where_someone_changed_the_same_since(ada, cast, path, htmx):
    cast.smith.patch(path, {"priority": "low", "assignee_user_id": cast.smith.user_id})
    event = events(cast, "ticket.assigned")[0]["id"]
    cast.bo.patch(path, {"assignee_user_id": cast.bo.user_id})
    answer = undo(ada, event, htmx=htmx)
    assert answer.status_code == 409
    text = " ".join(re.sub(r"<[^>]+>", " ", answer.text).split())
    assert "Assignee now Bo" in text
    assert "Undo puts back nothing" in text
    assert ("HX-Retarget" in answer.headers) == htmx
    assert cast.ada.get(path).json["assignee"]["username"] == "bo"
    undo(ada, event, htmx=htmx, force="yes")
    assert cast.ada.get(path).json["assignee"] is None


@pytest.mark.parametrize(
    ("field", "values", "shown"),
    [
        ("body", ("one two", "three four"), "<ins>"),
        ("due_date", ("2031-02-03", "2031-02-04"), "4 Feb 2031"),
        ("title", ("By the bot", "By <Bo>"), "By &lt;Bo&gt;"),
        ("priority", ("low", "urgent"), "urgent"),
    ],
)
def test_the_question_shows_values_of_every_kind(ada, cast, path, field, values, shown):
    cast.ada.patch(path, {"body": "one five", "due_date": "2031-02-01"})
    cast.smith.patch(path, {field: values[0]})
    event = events(cast, "ticket.updated")[0]["id"]
    cast.bo.patch(path, {field: values[1]})
    answer = undo(ada, event)
    assert answer.status_code == 409
    assert shown in answer.text


def test_undo_of_a_state_says_its_name(ada, cast, path):
    states = cast.ada.get(f"/projects/{cast.open_project}/workflow-states").json["data"]
    known = {one["name"]: one["id"] for one in states}
    cast.smith.post(f"{path}/transition", {"state_id": known["Done"]})
    event = events(cast, "ticket.state_changed")[0]["id"]
    cast.bo.post(f"{path}/transition", {"state_id": known["In review"]})
    text = re.sub(r"<[^>]+>", " ", undo(ada, event).text)
    assert "In review" in text
    assert "Backlog" in text


@pytest.mark.parametrize("htmx", [True, False])
def test_an_undo_that_a_rule_forbids_says_why(ada, cast, path, htmx):
    made = cast.smith.post(f"{path}/comments", {"body": "By the bot."}).json["id"]
    cast.smith.patch(f"/comments/{made}", {"body": "Still by the bot."})
    event = events(cast, "comment.updated")[0]["id"]
    answer = undo(ada, event, htmx=htmx)
    assert answer.status_code == 409
    assert "Only its author may edit a comment" in answer.text
    assert undo(ada, events(cast, "project.created")[0]["id"], htmx=htmx).status_code == 409
    assert undo(ada, "none", htmx=htmx).status_code == 404


def test_a_whole_request_is_undone_and_what_was_left_is_said(ada, cast, path):
    answer = cast.smith.patch(path, {"priority": "low", "assignee_user_id": cast.smith.user_id})
    request = answer.headers["X-Request-Id"]
    cast.bo.patch(path, {"priority": "high"})
    page = ada.post(f"/audit/requests/{request}/undo", back=REF)
    assert page.status_code == 200
    assert "1 undone, 1 left as it is" in page.text
    assert "Someone changed it since." in page.text
    ticket = cast.ada.get(path).json
    assert (ticket["assignee"], ticket["priority"]) == (None, "high")
    assert ada.post(f"/audit/requests/{ticket['id']}/undo").status_code == 404


def test_addresses_of_undo_lead_nowhere_else(ada, cast, path):
    cast.smith.patch(path, {"priority": "low"})
    event = events(cast, "ticket.updated")[0]["id"]
    answer = ada.post(f"/audit/events/{event}/undo", back="https://example.org/")
    assert answer.location == "/"


def live(ada):
    """The address that the page asks for news."""
    found = re.search(r'id="live" hx-get="([^"]+)"', ada.get(REF).text)
    return found[1].replace("&amp;", "&")


def test_nothing_new_costs_one_look(ada, ticket):
    address = live(ada)
    ada.get(address, htmx=True)
    with ada.statements() as seen:
        assert ada.get(address, htmx=True).status_code == 204
    reads = [one for one in seen if one.lstrip().upper().startswith(("SELECT", "WITH"))]
    # One for the session, one for the news.
    assert len(reads) <= 2, reads


def test_what_others_did_comes_with_the_fields_that_changed(ada, cast, path):
    address = live(ada)
    cast.smith.patch(path, {"priority": "urgent"})
    cast.bo.post(f"{path}/comments", {"body": "From Bo."})
    page = ada.get(address, htmx=True)
    assert page.status_code == 200
    assert "changed the priority from medium to urgent" in page.text
    assert "From Bo." in page.text
    assert 'id="fact-priority" hx-swap-oob="true" data-by="Smith"' in page.text
    assert 'id="fact-title"' not in page.text
    # The description was not touched, so it is not sent.
    assert 'id="fact-body"' not in page.text
    following = re.search(r'id="live" hx-get="([^"]+)"', page.text)[1].replace("&amp;", "&")
    assert ada.get(following, htmx=True).status_code == 204


def test_the_news_keep_to_the_part_that_is_shown(ada, cast, path):
    address = live(ada).replace("show=all", "show=comments")
    cast.smith.patch(path, {"priority": "urgent"})
    page = ada.get(address, htmx=True)
    assert "changed the priority" not in page.text
    assert 'id="fact-priority"' in page.text


def test_an_event_that_was_committed_late_is_not_missed(ada, cast, path):
    """On PostgreSQL an event with a smaller id may commit after one with a greater id was seen."""
    address = live(ada)
    assert ada.get(address, htmx=True).status_code == 204
    known = int(re.search(r"&n=(\d+)", address)[1])
    fewer = address.replace(f"&n={known}", f"&n={known - 1}")
    assert ada.get(fewer, htmx=True).status_code == 200


def test_relations_watchers_and_edited_comments_come_too(ada, cast, path):
    made = cast.bo.post(f"{path}/comments", {"body": "Before."}).json["id"]
    address = live(ada)
    other = cast.ada.post(f"/projects/{cast.open_project}/tickets", {"title": "Other"}).json
    cast.smith.post(f"{path}/relations", {"type": "duplicates", "target_ticket_id": other["id"]})
    cast.smith.post(f"{path}/watchers")
    cast.bo.patch(f"/comments/{made}", {"body": "After."})
    page = ada.get(address, htmx=True).text
    assert 'id="relations" hx-swap-oob="true"' in page
    assert 'id="watchers" hx-swap-oob="true"' in page
    assert re.search(rf'id="comment-{made}" data-again', page)
    assert "After." in page


def test_the_line_that_was_undone_comes_again_without_its_button(ada, cast, path):
    cast.smith.patch(path, {"priority": "low"})
    event = events(cast, "ticket.updated")[0]["id"]
    address = live(ada)
    undo(ada, event)
    page = ada.get(address, htmx=True).text
    assert re.search(rf'class="event undone" id="event-{event}" data-again', page)
    assert f'action="/audit/events/{event}/undo"' not in page


def test_a_deleted_ticket_ends_the_questions(ada, cast, path):
    address = live(ada)
    cast.smith.delete(path)
    page = ada.get(address, htmx=True)
    assert page.status_code == 200
    assert "OPEN-1 was deleted meanwhile" in page.text
    assert "hx-trigger" not in page.text


@pytest.mark.parametrize("query", ["", "since=x", "since=&n=5", "n=-1", "since=0&show=what"])
def test_odd_questions_are_answered(ada, ticket, query):
    assert ada.get(f"{REF}/live?{query}", htmx=True).status_code in (200, 204)
    assert ada.get(f"/tickets/OPEN-99/live?{query}", htmx=True).status_code == 404


def test_a_deleted_ticket_shows_who_and_brings_it_back(ada, cast, path):
    cast.smith.delete(path)
    page = ada.get(REF)
    assert page.status_code == 410
    text = " ".join(re.sub(r"<[^>]+>", " ", page.text).split())
    assert "OPEN-1 was deleted" in text
    assert "Smith bot deleted it" in text
    # Its subtask was not deleted with it.
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
    assert "do not touch each other" in page.text
    theirs = re.search(r'name="seen" value="([^"]*)"', page.text)[1]
    assert ada.post(f"{REF}/fields/body", htmx=True, seen=theirs, value=merged).status_code == 200
    assert cast.ada.get(path).json["body"] == merged


def test_a_place_that_both_changed_keeps_both(ada, cast, path):
    cast.ada.patch(path, {"body": "One line"})
    cast.smith.patch(path, {"body": "Their line"})
    page = ada.post(f"{REF}/fields/body", htmx=True, seen="One line", value="My line")
    assert page.status_code == 409
    assert "1 place was changed by both of you" in page.text
    for text in ("Their line", "My line"):
        assert text in page.text.split('id="value"')[1].split("</textarea>")[0]
    again = {"seen": "Their line", "value": "whatever", "mine": "My line", "take": "mine"}
    assert ada.post(f"{REF}/fields/body", htmx=True, **again).status_code == 200
    assert cast.ada.get(path).json["body"] == "My line"


def test_labels_of_two_people_are_added_up(ada, cast, ticket, path):
    project = f"/projects/{cast.open_project}"
    made = [
        cast.ada.post(f"{project}/labels", {"name": name}).json["id"] for name in ("one", "two")
    ]
    bug = ticket["labels"][0]["id"]
    cast.smith.patch(path, {"label_ids": [bug, made[0]]})
    # Ada still sees only the bug; she takes it off and adds another.
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
    assert 'id="fact-state" hx-swap-oob="true"' in answer.text
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


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("of=people&q=", ["@bo", "@ada"]),
        ("of=people&q=SMI", ["@smith"]),
        ("of=people&q=fen", []),
        ("of=people&q=%25", []),
        ("q=OPEN-1", ["OPEN-1"]),
        ("q=part", ["OPEN-2"]),
    ],
)
def test_names_and_numbers_are_completed(ada, ticket, query, found):
    rows = ada.get(f"/tickets/complete?project=OPEN&{query}").json
    inserted = [row["insert"] for row in rows]
    assert [one for one in found if one not in inserted] == []
    assert found or not inserted


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
