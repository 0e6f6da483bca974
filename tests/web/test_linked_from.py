"""A ticket's page shows the wiki pages that link to it, and the note that it was made from."""

import re

import pytest


def linked(reader):
    text = reader.get("/tickets/OPEN-1").text
    found = re.search(r'<ul class="panel rows linked">(.*?)</ul>', text, re.DOTALL)
    return re.findall(r'href="([^"]+)">([^<]+)</a>', found.group(1)) if found else []


@pytest.fixture
def page(cast):
    def made(title, body, **fields):
        answer = cast.ada.post("/wiki/pages", {"title": title, "body": body, **fields})
        assert answer.status_code == 201, answer.text
        return answer.json["id"]

    return made


def test_pages_that_link_here_are_named_until_they_do_not(ada, cast, ticket, page):
    assert linked(ada) == []
    page("Elsewhere", "OPEN-2 alone")
    first = page("A guide", "See OPEN-1.")
    page("Of the project", "[[ticket:OPEN-1]]", project_id=cast.open_project)
    gone = page("Deleted", "OPEN-1")
    cast.ada.delete(f"/wiki/pages/{gone}")
    assert linked(ada) == [
        ("/wiki/a-guide", "A guide"),
        ("/projects/OPEN/wiki/of-the-project", "Of the project"),
    ]
    cast.ada.patch(f"/wiki/pages/{first}", {"body": "No more."})
    assert [title for _, title in linked(ada)] == ["Of the project"]


def test_a_page_whose_slug_is_an_address_of_its_own_is_reached_by_its_id(ada, cast, ticket, page):
    named = page("Broken links", "See OPEN-1.")
    assert linked(ada) == [(f"/wiki/{named}", "Broken links")]
    assert "See OPEN-1" in re.sub(r"<[^>]+>", "", ada.get(f"/wiki/{named}").text)


def test_a_page_of_a_deleted_project_is_not_named(ada, cast, ticket, page):
    page("Fenced in", "OPEN-1", project_id=cast.fenced_project)
    assert len(linked(ada)) == 1
    assert cast.ada.delete(f"/projects/{cast.fenced_project}").status_code == 204
    assert linked(ada) == []


def test_the_note_that_it_came_from_is_shown_to_those_who_see_it(ada, app, cast):
    notes = f"/projects/{cast.open_project}/sticky-notes"
    note = cast.ada.post(notes, {"body": "# On the wall\n\nand more"}).json["id"]
    cast.ada.post(f"/sticky-notes/{note}/convert-to-ticket", {})
    assert linked(ada) == [(f"/projects/OPEN/sticky-notes#note-{note}", "# On the wall")]


def test_anothers_personal_note_is_not_named(ada, cast):
    into = {"project_id": cast.open_project}
    note = cast.bo.post("/sticky-notes", {"body": "Of Bo alone"}).json["id"]
    assert cast.bo.post(f"/sticky-notes/{note}/convert-to-ticket", into).status_code == 201
    assert linked(ada) == []
    assert linked(type(ada)(cast.bo.client, ada.app)) == [
        (f"/sticky-notes#note-{note}", "Of Bo alone")
    ]
