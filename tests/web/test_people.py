"""The pages of people and bots: the newest first, with links to all of them."""

import re

import pytest

from app.accounts import people_pages as people
from app.bots import pages as bots
from tests.support.story import make_ticket, ok


def older(page) -> str | None:
    found = re.search(r'href="([^"]+\?cursor=[^"]+)"', page.text)
    return found and found[1]


def listed(page) -> list[str]:
    return re.findall(r'action="/people/([^/"]+)/active"', page.text)


def test_people_are_listed_without_bots_among_them(ada, cast, monkeypatch):
    # The bots are newer than the people.
    monkeypatch.setattr(people, "PAGE_SIZE", 1)
    first = ada.get("/people")
    assert listed(first) == [cast.bo.user_id]
    second = ada.get(older(first))
    assert listed(second) == [cast.ada.user_id]
    assert older(second) is None


def test_older_bots_are_a_page_away(ada, monkeypatch):
    monkeypatch.setattr(bots, "PAGE_SIZE", 2)
    first = ada.get("/bots")
    assert re.findall(r'id="bot-(\w+)"', first.text) == ["fenced", "smith"]
    second = ada.get(older(first))
    assert re.findall(r'id="bot-(\w+)"', second.text) == ["scout"]
    assert older(second) is None


def test_whoever_switches_someone_off_stays_on_the_page(ada, cast, monkeypatch):
    monkeypatch.setattr(people, "PAGE_SIZE", 1)
    monkeypatch.setattr(bots, "PAGE_SIZE", 2)
    ways = (
        ("/people", f"/people/{cast.bo.user_id}/active", {"is_active": "false"}),
        ("/bots", f"/bots/{cast.scout.user_id}", {"action": "deactivate"}),
    )
    for path, address, sent in ways:
        here = older(ada.get(path))
        assert f'name="back" value="{here}"' in ada.get(here).text
        assert ada.post(address, back=here, **sent).location == here


@pytest.mark.parametrize("path", ["/people", "/bots"])
def test_a_cursor_that_was_cut_off_leads_to_the_top(ada, path):
    assert ada.get(f"{path}?cursor=x").location == path


def test_the_first_steps_show_people_however_many_bots_there_are(ada, monkeypatch):
    monkeypatch.setattr("app.sample.pages.MAX_CHOICES", 2)
    shown = ada.get("/start/people").text
    assert '<span class="faint">ada</span>' in shown
    assert '<span class="faint">bo</span>' in shown


def tones(text):
    """The color of each person or bot on a page, by name."""
    found = re.findall(r'class="avatar[^"]*tone-(\d)"[^>]*>[^<]+</span>\s*<span>([^<]+)', text)
    return {name.strip(): int(number) for number, name in found}


def test_people_take_colors_in_turn(ada, cast):
    """The first eight differ, even with bots between them; the ninth starts again."""
    for number in range(10):
        ok(
            cast.ada.post("/bots", {"username": f"between-{number}", "mode": "read"}),
            201,
        )
        given = {"username": f"person-{number}", "password": "correct horse battery"}
        ok(cast.ada.post("/users", given | {"display_name": f"Person {number}"}), 201)
    shown = tones(ada.get("/people").text)
    people = [shown[f"Person {number}"] for number in range(10)]
    assert len(set(people[:8])) == 8
    assert people[8:] == people[:2]
    # The first bot and the first person differ in more than shape.
    listed_bots = ada.get("/bots").text
    smith = re.search(r'tone-(\d)"[^>]*>[^<]+</span><span><a[^>]*>Smith<', listed_bots)[1]
    assert int(smith) != shown["Ada"]
    # The colors are the same on every page.
    assert tones(ada.get("/people").text) == shown


def test_menus_have_people_and_bots_by_name_in_any_case(ada, cast):
    names = ["bert", "Carl", "Zoe"]
    for name in reversed(names):
        sent = {"username": name.lower(), "display_name": name, "password": "a long password"}
        ok(cast.ada.post("/users", sent), 201)
        bot = {"username": f"{name.lower()}-bot", "display_name": f"{name} (MCP)", "mode": "read"}
        ok(cast.ada.post("/bots", bot), 201)
    make_ticket(cast.ada, cast.open_project)
    bots = [rf"{name} \(MCP\)" for name in names]
    for path, expected in (
        ("/projects/OPEN/settings/general", names),
        ("/projects/OPEN", bots),
        ("/projects/OPEN/board", [*names, *bots]),
        ("/tickets/new?project=OPEN", [*names, *bots]),
    ):
        text = ada.get(path).text
        places = [re.search(rf">\s*{name}", text).start() for name in expected]
        assert places == sorted(places), path


def test_the_menu_of_authors_is_by_name_in_any_case(ada, cast):
    for one, name in ((cast.ada, "Zoe"), (cast.bo, "bert")):
        ok(one.patch(f"/users/{one.user_id}", {"display_name": name}))
        for body in ("A note", "Another"):
            ok(one.post(f"/projects/{cast.open_project}/sticky-notes", {"body": body}), 201)
    text = ada.get("/projects/OPEN/sticky-notes").text
    menu = text.partition('id="note-author"')[2].partition("</select>")[0]
    assert re.findall(r"<option>(\w+)", menu) == ["bert", "Zoe"]
