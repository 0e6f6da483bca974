"""The walls of notes, without a browser."""

import re
from html import unescape

import pytest

from app.database.session import session
from app.sticky_notes.models import StickyNote
from tests.support.cast import in_app
from tests.web.test_statements import LIMIT

WALL = "/projects/OPEN/sticky-notes"


def write(cast, body: str, *, project: str | None = None, **fields):
    """Create a note of ada's."""
    path = f"/projects/{project}/sticky-notes" if project else "/sticky-notes"
    return cast.ada.post(path, {"body": body, **fields}).json


@pytest.fixture
def note(cast):
    """A note on the wall of OPEN."""
    return write(cast, "# Call the *bank*\n\nabout fees", project=cast.open_project)


def bodies(app) -> list[str]:
    return in_app(app, lambda: [one.body for one in session.query(StickyNote).all()])


def test_a_wall_shows_its_own_notes_alone(ada, cast, note):
    write(cast, "Mine alone")
    cast.bo.post("/sticky-notes", {"body": "The secret of Bo"})
    mine, ours = ada.get("/sticky-notes").text, ada.get(WALL).text
    assert "Mine alone" in mine
    assert "about fees" not in mine
    assert "about fees" in ours
    assert "Mine alone" not in ours
    assert "secret of Bo" not in mine + ours


def test_another_s_note_is_not_there(ada, cast):
    theirs = cast.bo.post("/sticky-notes", {"body": "The secret of Bo"}).json["id"]
    for path in ("", "/edit", "/delete", "/convert"):
        assert ada.get(f"/sticky-notes/{theirs}{path}").status_code == 404
    for path in ("/edit", "/delete", "/convert"):
        answer = ada.post(f"/sticky-notes/{theirs}{path}", body="x", title="x")
        assert answer.status_code == 404
        assert "secret" not in answer.text


def test_adding_a_note_without_a_script(ada, cast, app):
    sent = {"body": "Written\r\ndown", "color": "#facc15", "idempotency_key": "k"}
    answer = ada.post(WALL, **sent)
    assert answer.status_code == 303
    assert answer.location.startswith(f"{WALL}#note-")
    assert ada.post(WALL, **sent).location == answer.location
    assert bodies(app) == ["Written\ndown"]
    assert "c-facc15" in ada.get(WALL).text
    assert ada.post("/sticky-notes", body="Mine", color="").status_code == 303


def test_adding_a_note_puts_it_first_and_empties_the_form(ada, cast, app):
    answer = ada.post("/sticky-notes", htmx=True, body="Fresh", color="#60a5fa")
    assert answer.status_code == 200
    assert 'hx-swap-oob="afterbegin:#notes"' in answer.text
    form, _, note = answer.text.partition("hx-swap-oob")
    assert "Fresh" in note
    assert "Fresh" not in form
    assert 'value="#60a5fa" checked' in form


def test_a_refused_note_is_kept_in_the_form(ada, app):
    for htmx in (True, False):
        answer = ada.post("/sticky-notes", htmx=htmx, body="Kept", color="blue")
        assert answer.status_code == 422
        assert "Kept" in answer.text
        assert 'id="color-problem"' in answer.text
    assert ada.post("/sticky-notes", body="  ").status_code == 422
    assert bodies(app) == []


def test_editing_in_place(ada, cast, note, app):
    address = f"/sticky-notes/{note['id']}"
    editor = ada.get(f"{address}/edit", htmx=True).text
    assert editor.strip().startswith(f'<li class="note editing" id="note-{note["id"]}"')
    saved = ada.post(f"{address}/edit", htmx=True, body="Other", color="")
    assert "Other" in saved.text
    assert bodies(app) == ["Other"]
    assert (
        ada.post(f"{address}/edit", body="Third", color="").location == f"{WALL}#note-{note['id']}"
    )
    refused = ada.post(f"{address}/edit", htmx=True, body=" ", color="")
    assert refused.status_code == 422
    assert "Third" in ada.get(address, htmx=True).text


def test_saving_a_note_that_was_deleted_says_so(ada, cast, note):
    cast.ada.delete(f"/sticky-notes/{note['id']}")
    answer = ada.post(f"/sticky-notes/{note['id']}/edit", htmx=True, body="Too late")
    assert answer.status_code == 410
    assert "This note was deleted." in answer.text
    assert answer.headers["HX-Retarget"] == "#toasts"
    # Opened on a page of its own, it is missing as any other.
    assert ada.post(f"/sticky-notes/{note['id']}/edit", body="Too late").status_code == 404


def test_a_color_of_a_bot_s_choice_is_kept(ada, cast, app):
    made = write(cast, "Odd", color="#123ABC")
    editor = ada.get(f"/sticky-notes/{made['id']}/edit").text
    assert 'value="#123ABC" checked' in editor
    assert "Other color" in editor
    assert "/assets/colors/" in ada.get(f"/sticky-notes/{made['id']}", htmx=True).text


def test_deleting_asks_first(ada, cast, note, app):
    address = f"/sticky-notes/{note['id']}/delete"
    assert "You can undo this" in ada.get(address).text
    assert bodies(app)
    answer = ada.post(address, htmx=True)
    assert f'id="note-{note["id"]}" hx-swap-oob="delete"' in answer.text
    assert bodies(app) == []
    other = write(cast, "Mine")
    assert ada.post(f"/sticky-notes/{other['id']}/delete").location == "/sticky-notes"
    assert bodies(app) == []


def test_converting_proposes_the_first_line(ada, cast, note):
    address = f"/sticky-notes/{note['id']}/convert"
    sheet = ada.get(address).text
    assert 'name="title" type="text" value="Call the bank"' in sheet
    assert "In Open project (OPEN)." in sheet
    answer = ada.post(address, title="Call the bank", type="story", priority="high")
    assert answer.location == "/tickets/OPEN-1"
    ticket = cast.ada.get("/tickets/OPEN-1").json
    assert (ticket["title"], ticket["priority"]) == ("Call the bank", "high")
    assert ticket["body"] == note["body"]
    wall = ada.get(WALL).text
    assert 'Converted to <a href="/tickets/OPEN-1">OPEN-1</a>' in wall
    assert ada.get(address).location == "/tickets/OPEN-1"


def test_converting_in_the_dialog_answers_the_note_and_a_toast(ada, cast, note):
    address = f"/sticky-notes/{note['id']}/convert"
    answer = ada.post(address, htmx=True, title="Call", project_id=cast.open_project)
    assert answer.status_code == 200
    assert answer.headers["HX-Retarget"] == f"#note-{note['id']}"
    assert "OPEN-1 created" in answer.text
    assert '<a class="button quiet tiny" href="/tickets/OPEN-1">Open</a>' in answer.text
    again = ada.post(address, htmx=True, title="Call", project_id=cast.open_project)
    assert again.status_code == 204


def test_a_conversion_is_undone_out_of_its_toast(ada, cast, note):
    address = f"/sticky-notes/{note['id']}/convert"
    answer = ada.post(address, htmx=True, title="Call", project_id=cast.open_project)
    undo = re.search(r'action="(/audit/requests/[^"]+/undo)"', answer.text)[1]
    back = re.search(r'name="back" value="([^"]+)"', answer.text)[1]
    # Undoing the note's event deletes the ticket, so the ticket's own event needs no undo.
    assert ada.post(undo, back=back, straight="yes").location == back == WALL
    assert ada.get("/tickets/OPEN-1").status_code == 410
    wall = ada.get(WALL).text
    assert "Became" not in wall
    assert 'Convert<span class="said"> to ticket' in wall
    # The second time there is nothing to undo, and the page says so.
    assert "Nothing left to undo." in ada.post(undo, back=back, straight="yes").text


def test_a_personal_note_needs_a_project(ada, cast):
    made = write(cast, "Mine")
    sheet = ada.get(f"/sticky-notes/{made['id']}/convert").text
    assert "Open project (OPEN)" in sheet
    assert "Fenced project (FENCED)" in sheet
    answer = ada.post(f"/sticky-notes/{made['id']}/convert", title="To do")
    assert answer.status_code == 422
    assert 'id="project_id-problem"' in answer.text
    done = ada.post(
        f"/sticky-notes/{made['id']}/convert", title="To do", project_id=cast.fenced_project
    )
    assert done.location == "/tickets/FENCED-1"


def test_a_subtask_needs_a_story(ada, cast, note, ticket):
    address = f"/sticky-notes/{note['id']}/convert"
    lonely = ada.post(address, title="Part", type="subtask")
    assert lonely.status_code == 422
    unknown = ada.post(address, title="Part", type="subtask", parent_ticket_id="OPEN-99")
    assert "Ticket OPEN-99 not found." in unescape(unknown.text)
    made = ada.post(address, title="Part", type="subtask", parent_ticket_id="open-1")
    assert made.status_code == 303


def test_links_of_the_wiki_are_plain_text_on_notes(ada, cast, ticket):
    cast.ada.post("/wiki/pages", {"title": "Home"})
    write(cast, "See [[home]] and [[ticket:OPEN-1]]")
    text = ada.get("/sticky-notes").text
    assert "[[home]]" in text
    assert "[[ticket:OPEN-1]]" in text
    assert 'href="/wiki/home"' not in text


def test_what_is_written_is_never_markup(ada, cast):
    write(cast, "<script>alert(1)</script> <img src=x onerror=alert(1)>")
    text = ada.get("/sticky-notes").text
    assert "<script>alert" not in text
    assert "<img" not in text


def test_a_deleted_project_has_no_wall(ada, cast, note):
    cast.ada.delete(f"/projects/{cast.open_project}")
    assert ada.get(WALL).status_code == 410
    assert ada.get(f"/sticky-notes/{note['id']}/edit").status_code == 410
    assert ada.get("/projects/NOPE/sticky-notes").status_code == 404


def test_a_long_wall_has_pages(ada, cast, monkeypatch):
    monkeypatch.setattr("app.sticky_notes.pages.PAGE_SIZE", 2)
    for number in range(3):
        write(cast, f"Number {number}")
    first = ada.get("/sticky-notes").text
    assert "Number 0" not in first
    older = unescape(re.search(r'href="(/sticky-notes\?cursor=[^"]*)"', first).group(1))
    assert "Number 0" in ada.get(older).text
    assert ada.get("/sticky-notes?cursor=nonsense").location == "/sticky-notes"


def test_a_wall_takes_few_statements(ada, cast, note):
    for number in range(3):
        made = write(cast, f"Number {number}", project=cast.open_project)
        cast.ada.post(f"/sticky-notes/{made['id']}/convert-to-ticket", {"title": "T"})
        write(cast, f"Number {number}")
    own = f"/sticky-notes/{note['id']}"
    for path in ("/sticky-notes", WALL, f"{own}/edit", f"{own}/convert", f"{own}/delete"):
        with ada.statements() as seen:
            assert ada.get(path).status_code == 200, path
        assert 1 <= len([one for one in seen if one.startswith("SELECT")]) <= LIMIT, path
        assert not [one for one in seen if one.startswith(("INSERT", "UPDATE", "DELETE"))], path


def test_strangers_see_no_notes(stranger, note):
    assert stranger.get("/sticky-notes").location == "/login?next=/sticky-notes"
    assert stranger.get(f"/sticky-notes/{note['id']}").status_code == 303
