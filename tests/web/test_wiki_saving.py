"""Creating and saving wiki pages, alone and together with others."""

import re

import pytest

from tests.web.wiki_on_page import WIKI, area, body_of, field


def test_creating_a_page(ada, cast):
    made = ada.post("/wiki/new", title="Über uns", body="a\r\nb", idempotency_key="k")
    assert (made.status_code, made.location) == (303, "/wiki/uber-uns")
    again = ada.post("/wiki/new", title="Über uns", body="a\r\nb", idempotency_key="k")
    assert again.location == made.location
    (page,) = cast.ada.get("/wiki/pages").json["data"]
    assert body_of(cast, page) == "a\nb"


def test_a_refused_page_keeps_what_was_typed(ada, cast):
    cast.ada.post("/wiki/pages", {"title": "Taken"})
    answer = ada.post("/wiki/new", title="Mine", slug="taken", body="A long text")
    assert answer.status_code == 422
    assert "The slug taken is already taken." in answer.text
    assert area(answer.text, "body").strip() == "A long text"


def test_pages_named_like_our_addresses_are_reached_by_id(ada):
    for title in ("New", "Broken links", "Preview", "Complete"):
        made = ada.post("/wiki/new", title=title, body="Text of it")
        assert re.fullmatch(r"/wiki/[0-9a-f-]{36}", made.location)
        assert title in ada.get(made.location).text
        assert f'href="{made.location}"' in ada.get("/wiki").text


def test_saving_makes_a_revision(ada, cast, guide, app):
    form = ada.get(f"{WIKI}/set-up/edit").text
    answer = ada.post(
        f"{WIKI}/set-up/edit",
        etag=field(form, "etag"),
        base=field(form, "base"),
        title="Setting up",
        body="Other text",
        summary="Rewritten",
    )
    assert (answer.status_code, answer.location) == (303, f"{WIKI}/set-up")
    assert body_of(cast, guide) == "Other text"
    assert "Rewritten" in ada.get(f"{WIKI}/set-up/history").text


def test_saving_without_a_change_makes_no_revision(ada, cast):
    made = cast.smith.post("/wiki/pages", {"title": "W", "body": "a\r\nb\r\n"})
    assert made.status_code == 403
    made = cast.ada.post("/wiki/pages", {"title": "Windows", "body": "a\r\nb\r\n"}).json
    form = ada.get("/wiki/windows/edit").text
    ada.post("/wiki/windows/edit", etag=field(form, "etag"), title="Windows", body="a\r\nb\r\n")
    assert cast.ada.get(f"/wiki/pages/{made['id']}").json["revision_number"] == 1
    assert body_of(cast, made) == "a\r\nb\r\n"


def typed(text, name):
    """The text in a visible field."""
    return re.search(rf'name="{name}" type="text" value="([^"]*)"', text).group(1)


def test_a_lone_carriage_return_is_no_change_of_a_page(ada, cast):
    made = cast.ada.post("/wiki/pages", {"title": "Old Mac", "body": "a\rb"}).json
    form = ada.get("/wiki/old-mac/edit").text
    ada.post("/wiki/old-mac/edit", etag=field(form, "etag"), title="Old Mac", body="a\r\nb")
    assert cast.ada.get(f"/wiki/pages/{made['id']}").json["revision_number"] == 1
    assert body_of(cast, made) == "a\rb"


def test_an_empty_title_is_said_at_the_field(ada, guide):
    answer = ada.post(f"{WIKI}/set-up/edit", title=" ", body="Kept text")
    assert answer.status_code == 422
    assert 'id="title-problem"' in answer.text
    assert area(answer.text, "body").strip() == "Kept text"


def overtaken(ada, cast, guide, body: str):
    """Send ada's save after Bo changed the first line."""
    form = ada.get(f"{WIKI}/set-up/edit").text
    sent = {"etag": field(form, "etag"), "base": field(form, "base")}
    cast.bo.patch(f"/wiki/pages/{guide['id']}", {"body": "First line by Bo\n\nSecond words\n"})
    return ada.post(f"{WIKI}/set-up/edit", title="Setting up", body=body, summary="Mine", **sent)


def test_two_changes_at_once_lose_nothing(ada, cast, guide):
    answer = overtaken(ada, cast, guide, "First line\n\nSecond words and more\n")
    assert answer.status_code == 409
    assert body_of(cast, guide) == "First line by Bo\n\nSecond words\n"
    assert "Bo saved revision 4" in answer.text
    assert "<ins> by Bo</ins>" in answer.text
    assert area(answer.text, "mine").strip() == "First line\n\nSecond words and more"
    both = area(answer.text, "body")
    assert both.strip() == "First line by Bo\n\nSecond words and more"
    saved = ada.post(
        f"{WIKI}/set-up/edit",
        etag=field(answer.text, "etag"),
        base=field(answer.text, "base"),
        take="merged",
        title="Setting up",
        body=both,
        mine="x",
    )
    assert saved.status_code == 303
    assert body_of(cast, guide) == both


def test_a_form_sent_twice_is_saved_once(ada, cast, guide):
    form = ada.get(f"{WIKI}/set-up/edit").text
    sent = {"etag": field(form, "etag"), "base": field(form, "base"), "title": "Setting up"}
    for _ in range(2):
        answer = ada.post(f"{WIKI}/set-up/edit", body="All new\r\ntext", **sent)
        assert (answer.status_code, answer.location) == (303, f"{WIKI}/set-up")
    assert cast.ada.get(f"/wiki/pages/{guide['id']}").json["revision_number"] == 4
    # A third one with another text offers just that.
    answer = ada.post(f"{WIKI}/set-up/edit", body="Other text", **sent)
    assert area(answer.text, "mine").strip() == "Other text"


def test_a_title_that_two_people_changed_is_said(ada, cast, guide):
    form = ada.get(f"{WIKI}/set-up/edit").text
    sent = {"etag": field(form, "etag"), "base": field(form, "base"), "body": area(form, "body")}
    cast.bo.patch(f"/wiki/pages/{guide['id']}", {"title": "Bo’s title"})
    answer = ada.post(f"{WIKI}/set-up/edit", title="Ada’s title", **sent)
    assert answer.status_code == 409
    assert "You both changed the title. Bo changed it to “Bo’s title”." in answer.text
    assert "<ins>Bo’s title</ins>" in answer.text
    assert "Your changes don’t overlap" not in answer.text
    assert typed(answer.text, "title") == "Ada’s title"


@pytest.mark.parametrize(
    "take",
    [
        {"body": "Long text"},
        {"take": "mine", "mine": "Long text", "my_title": "Mine", "body": "Merged"},
        {"take": "merged", "mine": "Long text", "merged_from": "3", "keep-1": "mine"},
    ],
)
def test_a_page_that_was_deleted_meanwhile_loses_no_text(ada, cast, guide, take):
    form = ada.get(f"{WIKI}/set-up/edit").text
    sent = {"etag": field(form, "etag"), "title": "Mine", **take}
    cast.bo.delete(f"/wiki/pages/{guide['id']}")
    answer = ada.post(f"{WIKI}/set-up/edit", **sent)
    assert answer.status_code == 410
    assert "This page was deleted while you edited it" in answer.text
    assert area(answer.text, "body").strip() == "Long text"
    again = {name: typed(answer.text, name) for name in ("title", "slug")}
    assert again == {"title": "Mine", "slug": "set-up"}
    made = ada.post(f"{WIKI}/new", body="Long text", **again)
    assert made.location == f"{WIKI}/set-up"


def test_one_s_own_text_can_be_taken(ada, cast, guide):
    mine = "All my own\n"
    answer = overtaken(ada, cast, guide, mine)
    sent = {name: field(answer.text, name) for name in ("etag", "base", "my_title")}
    saved = ada.post(
        f"{WIKI}/set-up/edit",
        take="mine",
        title="Another",
        body="Merged",
        mine=area(answer.text, "mine"),
        **sent,
    )
    assert saved.status_code == 303
    assert body_of(cast, guide) == mine
    assert "Setting up" in ada.get(f"{WIKI}/set-up").text


def test_changes_of_one_place_are_both_shown(ada, cast, guide):
    answer = overtaken(ada, cast, guide, "First line by Ada\n\nSecond words\n")
    assert "You both changed the text in 1 place." in answer.text
    # The text has no conflict markers to search for and delete.
    assert "&lt;&lt;&lt;" not in answer.text
    assert re.findall(r'name="keep-1" value="(\w+)"( checked)?', answer.text) == [
        ("mine", ""),
        ("theirs", ""),
        ("both", " checked"),
    ]
    for said in ("First line by Ada", "First line by Bo"):
        assert re.search(rf'<pre class="source"[^>]*>{said}</pre>', answer.text)


def chosen(ada, answer, **sent):
    """Submit the page of a conflict with these choices."""
    names = ("etag", "base", "my_title", "merged_from")
    fields = {name: field(answer.text, name) for name in names}
    mine = area(answer.text, "mine")
    return ada.post(f"{WIKI}/set-up/edit", title="Setting up", mine=mine, **fields | sent)


@pytest.mark.parametrize(
    ("keep", "first"),
    [
        ({"keep-1": "mine"}, "First line by Ada"),
        ({"keep-1": "theirs"}, "First line by Bo"),
        ({"keep-1": "both"}, "First line by Bo\nFirst line by Ada"),
        ({}, "First line by Bo\nFirst line by Ada"),
    ],
)
def test_each_place_is_kept_as_chosen(ada, cast, guide, keep, first):
    answer = overtaken(ada, cast, guide, "First line by Ada\n\nSecond words and more\n")
    saved = chosen(ada, answer, take="merged", **keep)
    assert saved.status_code == 303
    # Places that only one side changed are merged, whatever was chosen.
    assert body_of(cast, guide) == f"{first}\n\nSecond words and more\n"


def test_the_merged_text_can_be_edited_first(ada, cast, guide):
    answer = overtaken(ada, cast, guide, "First line by Ada\n\nSecond words\n")
    before = body_of(cast, guide)
    editor = chosen(ada, answer, take="edit", **{"keep-1": "both"})
    assert editor.status_code == 200
    assert body_of(cast, guide) == before
    merged = area(editor.text, "body")
    assert merged.strip() == "First line by Bo\nFirst line by Ada\n\nSecond words"
    sent = {name: field(editor.text, name) for name in ("etag", "base")}
    saved = ada.post(f"{WIKI}/set-up/edit", title="Setting up", body="Mended", **sent)
    assert saved.status_code == 303
    assert body_of(cast, guide) == "Mended"


def test_a_change_during_the_choice_is_met_again(ada, cast, guide):
    answer = overtaken(ada, cast, guide, "First line by Ada\n\nSecond words\n")
    cast.bo.patch(f"/wiki/pages/{guide['id']}", {"body": "First line by Bo again\n"})
    again = chosen(ada, answer, take="merged", **{"keep-1": "mine"})
    assert again.status_code == 409
    assert body_of(cast, guide) == "First line by Bo again\n"
    assert "First line by Ada" in area(again.text, "mine")


def test_a_third_change_is_met_again(ada, cast, guide):
    answer = overtaken(ada, cast, guide, "First line\n\nSecond words and more\n")
    cast.bo.patch(f"/wiki/pages/{guide['id']}", {"body": "Third\n"})
    again = ada.post(
        f"{WIKI}/set-up/edit",
        etag=field(answer.text, "etag"),
        base=field(answer.text, "base"),
        title="Setting up",
        body=area(answer.text, "body"),
    )
    assert again.status_code == 409
    assert body_of(cast, guide) == "Third\n"


def test_a_made_up_base_still_shows_both_texts(ada, cast, guide):
    for base in ("", "x", "99", "-1"):
        answer = ada.post(
            f"{WIKI}/set-up/edit", etag='W/"1-x"', base=base, title="T", body="Mine entirely"
        )
        assert answer.status_code == 409
        assert "Mine entirely" in area(answer.text, "body")
