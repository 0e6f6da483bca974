"""Style sheets, scripts, colours: versioned addresses, and a start that fails without them."""

import re
from pathlib import Path

import pytest

from app.web import assets
from app.web.assets import AssetMissing, color_sheet, find_htmx, read_all


def test_pages_name_assets_that_exist_for_ever(ada):
    text = ada.get("/projects").text
    named = set(re.findall(r'(?:src|href)="(/assets/[^"#]+)', text))
    assert len(named) >= 4
    for address in named:
        answer = ada.get(address)
        assert answer.status_code == 200
        assert "immutable" in answer.headers["Cache-Control"]


def test_scripts_find_each_other(ada):
    text = ada.get("/projects/OPEN/board").text
    address = re.search(r'src="(/assets/\w+/)app\.js', text).group(1)
    seen, left = set(), set(re.findall(r'type="module" src="/assets/\w+/([\w.-]+)"', text))
    assert "app.js" in left
    while left:
        name = left.pop()
        seen.add(name)
        answer = ada.get(address + name)
        assert answer.status_code == 200, name
        assert answer.mimetype == "text/javascript"
        left |= set(re.findall(r'from "\./([\w.]+)"', answer.text)) - seen
    assert "board.js" in seen


def test_icons_that_templates_use_are_drawn(ada, app):
    sprite = ada.get("/assets/any/icons.svg").text
    drawn = set(re.findall(r'id="([\w-]+)"', sprite))
    root = assets.STATIC.parent / "templates"
    used = {
        name
        for path in root.rglob("*.html")
        for name in re.findall(r'icon\("([\w-]+)"\)', path.read_text())
    }
    assert used
    assert used <= drawn


def test_an_old_address_answers_and_is_not_kept(ada):
    answer = ada.get("/assets/of-yesterday/app.css")
    assert answer.status_code == 200
    assert answer.headers["Cache-Control"] == "no-cache"
    assert ada.get("/assets/any/secrets.txt").status_code == 404


def loaded(entry: str) -> set[str]:
    """The scripts that an entry brings along, itself among them."""
    scripts = read_all()
    found: set[str] = set()
    waiting = [entry]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += re.findall(r'from "\./([\w.-]+)"', scripts[name].content.decode())
    return found


def test_own_script_is_small():
    sizes = {name: len(one.packed) for name, one in read_all().items() if name.endswith(".js")}
    everywhere = loaded("app.js")
    assert sum(sizes[name] for name in everywhere) < 12 * 1024
    # Some pages have an entry of their own beside it.
    root = Path(__file__).parents[2] / "templates"
    entries = {
        name
        for path in root.rglob("*.html")
        for name in re.findall(r"asset\('([\w.-]+\.js)'\)", path.read_text())
    } - {"htmx.js"}
    assert "app.js" in entries
    for entry in entries:
        assert sum(sizes[name] for name in everywhere | loaded(entry)) < 15 * 1024, entry
    # Nothing lies about that no page loads.
    assert set().union(*map(loaded, entries)) == sizes.keys() - {"htmx.js"}


def test_the_start_fails_without_htmx(monkeypatch, tmp_path):
    monkeypatch.setattr(assets, "CARRIER", "no_such_package")
    with pytest.raises(AssetMissing, match="htmx is not installed"):
        find_htmx()


def test_the_start_fails_without_style_sheets(tmp_path):
    with pytest.raises(AssetMissing):
        read_all(tmp_path)


def test_colours_are_classes_of_a_sheet(ada, ticket):
    text = ada.get("/tickets/OPEN-1").text
    address = re.search(r'href="(/assets/colors/[^"]+)"', text).group(1)
    assert ada.get(address).text == ".c-d1242f{--c:#d1242f}"
    assert 'class="label c-d1242f"' in text
    assert ada.get("/assets/colors/red;}.css").status_code == 404


def test_many_colours_make_several_sheets():
    colours = [{"color": f"#{number:06x}"} for number in range(250)]
    assert str(color_sheet(colours)).count("<link") == 3
    assert str(color_sheet([])) == ""
