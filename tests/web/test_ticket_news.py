"""Changes by others appear on an open page of a ticket."""

import re

from tests.support.cases import cases
from tests.web.stream_on_page import REF, events, undo


def live(ada):
    """The address that the page polls for news."""
    found = re.search(r'id="live" hx-get="([^"]+)"', ada.get(REF).text)
    return found[1].replace("&amp;", "&")


def test_nothing_new_costs_one_look(ada, ticket):
    address = live(ada)
    ada.get(address, htmx=True)
    with ada.statements() as seen:
        assert ada.get(address, htmx=True).status_code == 204
    reads = [one for one in seen if one.lstrip().upper().startswith(("SELECT", "WITH"))]
    # One statement for the session, one for the news.
    assert len(reads) <= 2, reads


def test_what_others_did_comes_with_the_fields_that_changed(ada, cast, path):
    address = live(ada)
    cast.smith.patch(path, {"priority": "urgent"})
    cast.bo.post(f"{path}/comments", {"body": "From Bo."})
    page = ada.get(address, htmx=True)
    assert page.status_code == 200
    assert "raised the priority to urgent" in page.text
    assert "From Bo." in page.text
    assert 'id="ticket-field-priority" hx-swap-oob="true" data-by="Smith"' in page.text
    assert 'id="ticket-field-title"' not in page.text
    # The description has not changed, so it is not sent.
    assert 'id="ticket-field-body"' not in page.text
    following = re.search(r'id="live" hx-get="([^"]+)"', page.text)[1].replace("&amp;", "&")
    assert ada.get(following, htmx=True).status_code == 204


def test_a_description_is_sent_once_with_a_sign_of_the_editors(ada, cast, path):
    address = live(ada)
    cast.smith.patch(path, {"body": "Lanterns\n\nat night"})
    page = ada.get(address, htmx=True).text
    assert page.count("Lanterns") == 1
    now = re.search(r'id="ticket-field-body" [^>]*data-now="(\w+)"', page)[1]
    assert f'data-digest="{now}"' in ada.get(f"{REF}/fields/body", htmx=True).text
    refused = ada.post(
        f"{REF}/fields/body", htmx=True, seen="Lanterns\r\n\r\nat night", value="x" * 70_000
    )
    assert (refused.status_code, f'data-digest="{now}"' in refused.text) == (422, True)


def test_the_news_keep_to_the_part_that_is_shown(ada, cast, path):
    address = live(ada).replace("show=all", "show=comments")
    cast.smith.patch(path, {"priority": "urgent"})
    page = ada.get(address, htmx=True)
    assert "raised the priority" not in page.text
    assert 'id="ticket-field-priority"' in page.text


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
    cast.smith.post(f"{path}/links", {"url": "https://github.com/a/b/pull/5"})
    cast.smith.post(f"{path}/watchers")
    cast.bo.patch(f"/comments/{made}", {"body": "After."})
    page = ada.get(address, htmx=True).text
    assert 'id="relations" hx-swap-oob="true"' in page
    assert 'id="watchers" hx-swap-oob="true"' in page
    assert 'id="links" hx-swap-oob="true"' in page
    assert "added the link a/b#5" in page
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
    assert "OPEN-1 was deleted" in page.text
    assert "hx-trigger" not in page.text


@cases("query", ["", "since=x", "since=&n=5", "n=-1", "since=0&show=what"])
def test_odd_questions_are_answered(ada, ticket, query):
    assert ada.get(f"{REF}/live?{query}", htmx=True).status_code in (200, 204)
    assert ada.get(f"/tickets/OPEN-99/live?{query}", htmx=True).status_code == 404
