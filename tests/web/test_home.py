"""Home: who waits for a person, what bots did since the last visit, and links to the rest."""

import json
import re

import pytest

from app.inbox import home
from tests.support.story import make_ticket, ok, state_ids

HERE = "/"


def text_of(page) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", page.text.split("<main")[1]).split())


def see_all(reader, page):
    """Send the form that marks what bots did as seen."""
    form = page.text.split('action="/seen"')[1]
    return reader.post("/seen", event_id=re.search(r'name="event_id" value="([^"]+)"', form)[1])


def say(caller, ticket, body):
    return ok(caller.post(f"/tickets/{ticket['id']}/comments", {"body": body}), 201)


def test_a_mention_waits_until_it_is_answered(ada, cast, ticket):
    say(cast.smith, ticket, "Which one, @ada? The first.")
    text = text_of(ada.get(HERE))
    assert "Needs you 1" in text
    assert "Smith bot mentioned you" in text
    assert "Which one, @ada ? The first." in text
    assert "Reply and hand back" not in text
    say(cast.ada, ticket, "The second.")
    assert "Needs you" not in text_of(ada.get(HERE))


def test_watching_a_ticket_answers_no_mention(ada, cast, ticket):
    say(cast.smith, ticket, "Which one, @ada?")
    for watch in ("", "no"):
        ada.post(f"/tickets/{ticket['display_id']}/watch", watch=watch)
        assert "Needs you 1" in text_of(ada.get(HERE))


def test_a_change_that_says_nothing_answers_no_mention(ada, cast, ticket):
    say(cast.smith, ticket, "Which one, @ada?")
    address = f"/tickets/{ticket['id']}"
    label = ok(cast.ada.post(f"/projects/{cast.open_project}/labels", {"name": "late"}), 201)
    for change in (
        {"priority": "low"},
        {"due_date": "2031-01-01"},
        {"label_ids": [label["id"]]},
        {"title": "Another title"},
    ):
        ok(cast.ada.patch(address, change))
        assert "Needs you 1" in text_of(ada.get(HERE)), change


@pytest.mark.parametrize("answer", ["comment", "state", "assignee", "reaction"])
def test_an_answer_to_a_mention_settles_it(ada, cast, ticket, answer):
    address = f"/tickets/{ticket['id']}"
    earlier = say(cast.bo, ticket, "Look, @ada")
    asked = say(cast.smith, ticket, "Which one, @ada?")
    # A reaction to another comment says nothing about this one.
    ok(cast.ada.call("PUT", f"/comments/{earlier['id']}/reactions/thumbs_up"))
    assert "Needs you 1" in text_of(ada.get(HERE))
    if answer == "comment":
        say(cast.ada, ticket, "The second.")
    elif answer == "state":
        states = ok(cast.ada.get(f"/projects/{cast.open_project}/workflow-states"))["data"]
        ok(cast.ada.post(f"{address}/transition", {"state_id": states[2]["id"]}))
    elif answer == "assignee":
        ok(cast.ada.patch(address, {"assignee_user_id": cast.smith.user_id}))
    else:
        ok(cast.ada.call("PUT", f"/comments/{asked['id']}/reactions/thumbs_up"))
    assert "Needs you" not in text_of(ada.get(HERE))


def test_neither_a_change_nor_a_reaction_answers_a_hand_over(ada, cast, ticket):
    address = f"/tickets/{ticket['id']}"
    ok(cast.smith.patch(address, {"assignee_user_id": cast.ada.user_id}))
    asked = say(cast.smith, ticket, "Which one, @ada?")
    ok(cast.ada.patch(address, {"priority": "low"}))
    ok(cast.ada.call("PUT", f"/comments/{asked['id']}/reactions/eyes"))
    assert "Reply and hand back" in text_of(ada.get(HERE))
    say(cast.ada, ticket, "The second.")
    assert "Needs you" not in text_of(ada.get(HERE))


def test_more_needs_than_are_shown_are_not_counted_as_all(ada, cast, ticket, monkeypatch):
    monkeypatch.setattr(home, "NEEDS_SHOWN", 2)
    for number in range(3):
        say(cast.bo, make_ticket(cast.bo, cast.open_project, f"No. {number}"), "@ada?")
        count = "2+" if number == 2 else number + 1
        page = ada.get(HERE)
        assert f"Needs you {count} " in text_of(page)
        assert page.text.count('class="row need"') == min(number + 1, 2)


def test_mentions_on_tickets_in_review_are_not_counted_twice(ada, cast, monkeypatch):
    monkeypatch.setattr(home, "NEEDS_SHOWN", 2)
    states = state_ids(cast.ada, cast.open_project)
    review = {"sign_off": True, "review_state_id": states[3]}
    ok(cast.ada.patch(f"/projects/{cast.open_project}", review))
    for number in range(4):
        made = make_ticket(cast.bo, cast.open_project, f"No. {number}")
        say(cast.smith, made, "@ada?")
    ok(cast.smith.post(f"/tickets/{made['id']}/transition", {"state_id": states[3]}))
    # One to sign off, and two of three mentions.
    assert "Needs you 3+ " in text_of(ada.get(HERE))


def test_a_mention_is_replied_to_in_place(ada, cast, ticket):
    reference = ticket["display_id"]
    for asker in (cast.smith, cast.bo):
        say(asker, ticket, "Which one, @ada?")
        page = ada.get(HERE)
        assert f'action="/tickets/{reference}/reply"' in page.text
        assert "bot_id" not in page.text
        assert ada.post(f"/tickets/{reference}/reply", body="The *second*.").location == HERE
        said = cast.ada.get(f"/tickets/{ticket['id']}/comments").json["data"][-1]
        assert (said["body"], said["author"]["username"]) == ("The *second*.", "ada")
        assert "Needs you" not in text_of(ada.get(HERE))
    # It assigns nobody.
    assert cast.ada.get(f"/tickets/{ticket['id']}").json["assignee"] is None


def test_a_reply_that_is_refused_is_kept(ada, cast, ticket):
    reference = ticket["display_id"]
    say(cast.smith, ticket, "Which one, @ada?")
    # Others can stand above it.
    message = '<p class="problem" role="alert" tabindex="-1" autofocus>'
    refused = ada.post(f"/tickets/{reference}/reply", body=" ")
    assert refused.status_code == 422
    assert refused.text.count('role="alert"') == refused.text.count(message) == 1
    assert "Write a comment first." in refused.text
    assert "must not be blank" not in refused.text
    cast.smith.delete(f"/tickets/{ticket['id']}")
    for gone, status in ((reference, 410), ("OPEN-99", 404)):
        refused = ada.post(f"/tickets/{gone}/reply", body="The <second>.")
        assert refused.status_code == status
        assert "The &lt;second&gt;.</textarea>" in refused.text
        assert refused.text.count(message) == 1


def test_only_the_name_itself_is_a_mention(ada, cast, ticket):
    for body in ("@adam", "x@ada", "ada@ada.example", "@ada-bot", "@ada.b", "@@ada"):
        say(cast.smith, ticket, body)
    assert "Needs you" not in text_of(ada.get(HERE))
    say(cast.bo, ticket, "Thanks, @Ada.")
    assert "Bo mentioned you" in text_of(ada.get(HERE))


@pytest.mark.parametrize(
    "body",
    [
        "It says `@ada` there",
        "```\n@ada\n```",
        "    @ada",
        "\\@ada",
        "https://example.org/@ada",
        "[a page of @ada](https://example.org/)",
    ],
)
def test_what_is_not_shown_as_a_mention_is_none(ada, cast, ticket, body):
    say(cast.smith, ticket, body)
    assert "Needs you" not in text_of(ada.get(HERE))
    assert "mentioned you" not in ada.get("/inbox").text
    say(cast.smith, ticket, f"{body}\n\nand **@Ada**")
    assert "Smith bot mentioned you" in text_of(ada.get(HERE))
    assert "Smith bot mentioned you" in text_of(ada.get("/inbox"))


def test_only_a_new_comment_mentions_somebody(ada, cast, ticket):
    """As docs/user-guide.md says."""
    named = make_ticket(cast.bo, cast.open_project, "Named", body="@ada")
    ok(cast.bo.patch("/tickets/OPEN-2", {"body": "Look, @ada"}))
    edited = say(cast.bo, named, "Look")
    ok(cast.bo.patch(f"/comments/{edited['id']}", {"body": "Look, @ada"}))
    ok(cast.bo.post("/wiki/pages", {"title": "Named", "body": "@ada"}), 201)
    assert "Needs you" not in text_of(ada.get(HERE))
    assert "Named" not in ada.get("/inbox").text
    # The comment of a state change is a new comment, too.
    states = ok(cast.ada.get(f"/projects/{cast.open_project}/workflow-states"))["data"]
    moved = {"state_id": states[1]["id"], "comment": "@ada?"}
    ok(cast.bo.post("/tickets/OPEN-2/transition", moved))
    assert "Bo mentioned you" in text_of(ada.get(HERE))
    assert "Bo mentioned you" in text_of(ada.get("/inbox"))


def test_a_comment_that_was_deleted_asks_nobody(ada, cast, ticket):
    earlier = say(cast.bo, ticket, "Which one, @ada?")
    later = say(cast.smith, ticket, "The secret one, @ada?")
    ok(cast.smith.delete(f"/comments/{later['id']}"), 204)
    page = ada.get(HERE)
    assert "secret" not in page.text
    assert "Bo mentioned you" in text_of(page)
    ok(cast.bo.delete(f"/comments/{earlier['id']}"), 204)
    assert "Needs you" not in text_of(ada.get(HERE))


def test_a_comment_that_was_edited_asks_as_it_is_now(ada, cast, ticket):
    said = say(cast.bo, ticket, "The secret one, @ada?")
    ok(cast.bo.patch(f"/comments/{said['id']}", {"body": "The *first*, @ada?"}))
    page = ada.get(HERE)
    assert "secret" not in page.text
    assert "<em>first</em>" in page.text
    ok(cast.bo.patch(f"/comments/{said['id']}", {"body": "Never mind"}))
    assert "Needs you" not in text_of(ada.get(HERE))


def test_many_mentions_take_no_more_statements(ada, cast, ticket):
    say(cast.bo, ticket, "@ada?")
    with ada.statements() as before:
        ada.get(HERE)
    for number in range(5):
        say(cast.bo, make_ticket(cast.bo, cast.open_project, f"No. {number}"), "@ada?")
        say(cast.bo, ticket, f"@ada, {number}?")
    with ada.statements() as after:
        assert "Needs you 6" in text_of(ada.get(HERE))
    assert len(after) == len(before)


def test_what_is_done_or_deleted_waits_no_more(ada, cast, ticket):
    say(cast.smith, ticket, "@ada?")
    cast.smith.delete(f"/tickets/{ticket['id']}")
    assert "Needs you" not in text_of(ada.get(HERE))


def test_a_mention_on_a_ticket_that_is_done_needs_an_answer(ada, cast, ticket):
    say(cast.smith, ticket, "@ada, is it right?")
    states = ok(cast.ada.get(f"/projects/{cast.open_project}/workflow-states"))["data"]
    done = next(one["id"] for one in states if one["category"] == "done")
    ok(cast.bo.post(f"/tickets/{ticket['id']}/transition", {"state_id": done}))
    assert "Needs you" not in text_of(ada.get(HERE))
    say(cast.smith, ticket, "It broke again, @ada.")
    assert "It broke again" in text_of(ada.get(HERE))


def test_a_ticket_handed_over_is_answered_and_handed_back(ada, cast, ticket):
    address = f"/tickets/{ticket['id']}"
    cast.smith.patch(address, {"assignee_user_id": cast.ada.user_id})
    text = text_of(ada.get(HERE))
    assert "Smith bot handed this over to you" in text
    answer = {"bot_id": cast.smith.user_id, "body": "Take the second."}
    back = ada.post(f"/tickets/{ticket['display_id']}/hand-back", **answer)
    assert back.location == HERE
    assert cast.ada.get(address).json["assignee"]["username"] == "smith"
    said = cast.ada.get(f"{address}/comments").json["data"][-1]
    assert (said["body"], said["author"]["username"]) == ("Take the second.", "ada")
    assert "Needs you" not in text_of(ada.get(HERE))
    # The second time it is refused: the ticket is not ada's any more.
    assert ada.post(f"/tickets/{ticket['display_id']}/hand-back", **answer).status_code == 409
    assert cast.ada.get(f"{address}/comments").json["data"][-1] == said


def test_a_hand_over_shows_the_question(ada, cast, ticket):
    address = f"/tickets/{ticket['id']}"
    say(cast.smith, ticket, "First thoughts")
    say(cast.bo, ticket, "No question")
    say(cast.smith, ticket, "Which **one**?" + "\n\nMore" * 20)
    cast.smith.patch(address, {"assignee_user_id": cast.ada.user_id})
    say(cast.smith, ticket, "Said later")
    page = ada.get(HERE)
    shown = page.text.split('class="question')[1].split("</div>")[0]
    assert "<strong>one</strong>" in shown
    text = text_of(page)
    for other in ("First thoughts", "No question", "Said later"):
        assert other not in text
    assert "Show all" in text
    # A later mention becomes the question; the ticket can be handed back all the same.
    say(cast.smith, ticket, "@ada, the <i>second</i>?")
    text = text_of(ada.get(HERE))
    assert "@ada , the &lt;i&gt;second&lt;/i&gt;?" in text
    assert "Smith bot handed this over to you" in text
    assert "Reply and hand back" in text
    assert "Show all" not in text
    # A person's comment does not hide what the bot waits for.
    say(cast.bo, ticket, "@ada, look")
    text = text_of(ada.get(HERE))
    assert "Reply and hand back OPEN-1 to Smith" in text


def test_a_hand_over_without_a_question_is_shown(ada, cast, ticket):
    cast.smith.patch(f"/tickets/{ticket['id']}", {"assignee_user_id": cast.ada.user_id})
    page = ada.get(HERE)
    assert "Reply and hand back" in text_of(page)
    assert 'class="question' not in page.text


def test_an_answer_that_is_refused_is_kept(ada, cast, ticket):
    cast.smith.patch(f"/tickets/{ticket['id']}", {"assignee_user_id": cast.ada.user_id})
    cast.ada.patch(f"/bots/{cast.smith.user_id}", {"is_active": False})
    answer = {"bot_id": cast.smith.user_id, "body": "Take <the> second."}
    refused = ada.post(f"/tickets/{ticket['display_id']}/hand-back", **answer)
    assert refused.status_code == 422
    assert "Take &lt;the&gt; second." in refused.text
    assert cast.ada.get(f"/tickets/{ticket['id']}").json["assignee"]["username"] == "ada"


def test_an_answer_is_kept_where_the_ticket_is_with_somebody_else(ada, cast, ticket):
    reference, address = ticket["display_id"], f"/tickets/{ticket['id']}"
    cast.smith.patch(address, {"assignee_user_id": cast.bo.user_id})
    answer = {"bot_id": cast.smith.user_id, "body": "Take <the> second."}
    refused = ada.post(f"/tickets/{reference}/hand-back", **answer)
    assert refused.status_code == 409
    assert f"{reference} can no longer be handed back. It is assigned to Bo." in refused.text
    assert "Take &lt;the&gt; second.</textarea>" in refused.text
    assert f'action="/tickets/{reference}/comments"' in refused.text
    cast.bo.patch(address, {"assignee_user_id": None})
    refused = ada.post(f"/tickets/{reference}/hand-back", **answer)
    assert "It is unassigned." in refused.text


def test_an_answer_is_kept_where_the_ticket_is_gone(ada, cast, ticket):
    answer = {"bot_id": cast.smith.user_id, "body": "Take <the> second."}
    cast.smith.delete(f"/tickets/{ticket['id']}")
    for reference, status in ((ticket["display_id"], 410), ("OPEN-99", 404)):
        refused = ada.post(f"/tickets/{reference}/hand-back", **answer)
        assert refused.status_code == status
        assert "Take &lt;the&gt; second.</textarea>" in refused.text
        assert "Comment on" not in refused.text


def test_what_bots_did_is_counted_until_it_was_seen(ada, cast, ticket):
    say(cast.smith, ticket, "One")
    say(cast.smith, ticket, "Two")
    cast.smith.patch(f"/tickets/{ticket['id']}", {"priority": "low"})
    cast.scout.patch(f"/tickets/{ticket['id']}", {"priority": "high"})
    text = text_of(ada.get(HERE))
    assert "Smith · 2 comments · 1 changed" in text
    assert "Scout · 1 denied" in text
    assert see_all(ada, ada.get(HERE)).location == HERE
    page = ada.get(HERE)
    assert "Since your last visit" not in text_of(page)
    say(cast.smith, ticket, "Three")
    page = ada.get(HERE)
    assert re.search(r"Smith · 1 comment(?!\w)", text_of(page))
    # What a page does not count, its form does not mark.
    cast.smith.patch(f"/tickets/{ticket['id']}", {"priority": "urgent"})
    see_all(ada, page)
    assert re.search(r"Smith · 1 changed(?!\w)", text_of(ada.get(HERE)))
    for wrong in ("", "x", "ffffffff-ffff-7fff-bfff-ffffffffffff"):
        assert ada.post("/seen", event_id=wrong).status_code == 422


def test_what_bots_made_is_no_change(ada, cast, ticket):
    made = cast.smith.post(f"/projects/{cast.open_project}/tickets", {"title": "Found"}).json
    cast.smith.post("/wiki/pages", {"title": "Why", "project_id": cast.open_project})
    cast.smith.patch(f"/tickets/{ticket['id']}", {"assignee_user_id": cast.smith.user_id})
    cast.smith.delete(f"/tickets/{made['id']}")
    assert "Smith · 1 assigned · 2 created · 1 deleted" in text_of(ada.get(HERE))


def test_what_bots_did_leads_to_a_list_of_just_that(ada, cast, ticket):
    made = cast.smith.post(f"/projects/{cast.open_project}/tickets", {"title": "Found"}).json
    cast.smith.post("/wiki/pages", {"title": "Why", "project_id": cast.open_project})
    cast.smith.patch(f"/tickets/{ticket['id']}", {"priority": "low"})
    say(cast.smith, ticket, "One")
    cast.smith.delete(f"/tickets/{made['id']}")
    cast.scout.patch(f"/tickets/{ticket['id']}", {"priority": "high"})
    page = ada.get(HERE)
    for words, chosen, shown in (
        ("2 created", "2 types of events", {"ticket.created", "wiki.created"}),
        ("1 deleted", "Tickets: deleted", {"ticket.deleted"}),
        ("1 changed", "Tickets: updated", {"ticket.updated"}),
        ("1 comment", "Comments: created", {"comment.created"}),
        (
            "1 denied",
            "Logins and tokens: bot write attempt in read mode",
            {"auth.bot.write_attempt_in_read_mode"},
        ),
    ):
        address = re.search(rf'href="([^"]+)">{words}</a>', page.text)[1].replace("&amp;", "&")
        assert f"Event: {chosen} Any event" in text_of(ada.get(address))
        rows = ada.get(address.replace("/audit", "/audit/export")).text.splitlines()
        assert len(rows) == int(words[0]), words
        assert {json.loads(row)["event_type"] for row in rows} == shown


def test_watched_tickets_pages_and_projects_lead_on(ada, cast, ticket):
    cast.ada.post(f"/tickets/{ticket['id']}/watchers", {"user_id": cast.ada.user_id})
    cast.ada.post("/wiki/pages", {"title": "All of us", "body": "x"})
    cast.ada.post("/wiki/pages", {"title": "Ours", "body": "x", "project_id": cast.open_project})
    text = ada.get(HERE).text
    assert f'href="/tickets/{ticket["display_id"]}"' in text.split("Watched")[1]
    assert 'href="/wiki/all-of-us"' in text
    assert 'href="/projects/OPEN/wiki/ours"' in text
    assert 'href="/projects/OPEN/board"' in text


def test_old_events_are_lost_from_sight(ada, cast, ticket, monkeypatch):
    say(cast.smith, ticket, "@ada?")
    later = home.now_ms() + (home.DAYS + 1) * home.DAY_MS
    monkeypatch.setattr(home, "now_ms", lambda: later)
    text = text_of(ada.get(HERE))
    assert "Needs you" not in text
    assert "Since your last visit" not in text
