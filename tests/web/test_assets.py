"""Style sheets, scripts, colors: versioned addresses, and a start that fails without them."""

import re

import pytest

from app.web import assets
from app.web.assets import AssetMissing, color_sheet, find_htmx, read_all

pytestmark = pytest.mark.one_database


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
        for name in re.findall(r'"([\w-]+)" \| icon ', path.read_text())
    }
    assert used
    assert used <= drawn


def test_an_old_address_answers_and_is_not_kept(ada):
    answer = ada.get("/assets/of-yesterday/app.css")
    assert answer.status_code == 200
    assert answer.headers["Cache-Control"] == "no-cache"
    assert ada.get("/assets/any/secrets.txt").status_code == 404


OWN_SCRIPT = 19_549


def test_own_script_is_small():
    sizes = {name: len(one.gzipped) for name, one in read_all().items() if name.endswith(".js")}
    sources = {
        path: path.read_text() for path in (assets.STATIC.parent / "templates").rglob("*.html")
    }
    used = {
        path: set(re.findall(r"asset\('([\w.-]+\.js)'\)", text)) for path, text in sources.items()
    }
    everywhere = used.pop(assets.STATIC.parent / "templates" / "base.html") - {"htmx.js"}
    assert everywhere == {"app.js", "more.js"}
    for path, names in used.items():
        # A page can leave out the script that only pages with editors need.
        left_out = {"more.js"} if "{% block more %}{% endblock %}" in sources[path] else set()
        on_page = (everywhere | names) - left_out
        assert sum(sizes[name] for name in on_page) <= OWN_SCRIPT, (path, on_page)
    # Every script is loaded by some page.
    assert everywhere.union(*used.values()) == sizes.keys() - {"htmx.js"}


def test_the_start_fails_without_htmx(monkeypatch, tmp_path):
    monkeypatch.setattr(assets, "CARRIER", "no_such_package")
    with pytest.raises(AssetMissing, match="htmx is not installed"):
        find_htmx()


def test_the_start_fails_without_style_sheets(tmp_path):
    with pytest.raises(AssetMissing):
        read_all(tmp_path)


def test_each_style_sheet_is_in_the_layer_of_its_folder():
    folder = assets.STATIC / "css"
    named = re.findall(r"^@layer ([\w, ]+);", (folder / "layers.css").read_text(), re.MULTILINE)
    layers = named[0].split(", ")
    assert layers == ["tokens", "base", "layout", "components", "pages", "utilities"]
    for path in folder.rglob("*.css"):
        if path.name == "layers.css":
            continue
        # Everything except comments is in one block.
        text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.DOTALL).strip()
        assert path.parent.name in layers, path
        assert re.fullmatch(rf"@layer {path.parent.name} \{{\n(?:  .*\n|\n)*\}}", text), path
        assert not re.search(r"\d", path.stem), path
        assert len(path.read_text().splitlines()) <= 400, path


def test_colors_are_classes_of_a_sheet(ada, ticket):
    text = ada.get("/tickets/OPEN-1").text
    address = re.search(r'href="(/assets/colors/[^"]+)"', text).group(1)
    assert ada.get(address).text == ".c-d1242f{--c:#d1242f}"
    assert 'class="label c-d1242f"' in text
    assert ada.get("/assets/colors/red;}.css").status_code == 404


def test_many_colors_make_several_sheets():
    colors = [{"color": f"#{number:06x}"} for number in range(250)]
    assert str(color_sheet(colors)).count("<link") == 3
    assert str(color_sheet([])) == ""
