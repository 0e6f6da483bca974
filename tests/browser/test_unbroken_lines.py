"""Lines without a break, such as links and code, widen no editor and no page."""

import pytest

URL = "https://example.org/" + "x" * 150
CODE = "    " + "SELECT_" * 30
TABLE = "\n".join("|".join([cell] * 8) for cell in ("a" * 16, "---", "b" * 15))
TEXT = f"See {URL}\n\n```\n{CODE}\n```\n\n{TABLE}\n"


@pytest.fixture(scope="module")
def editors(seeded):
    """Where texts are written: the address, and the text field if it has to be filled."""
    ticket = seeded.ticket("With long lines", body=TEXT)
    page = {"title": "Long lines", "body": TEXT, "project_id": seeded.ids["project"]}
    slug = seeded.call("POST", "/wiki/pages", page)["slug"]
    return [
        (f"/tickets/{ticket}", "#comment-body"),
        (f"/tickets/{ticket}/fields/body", ""),
        ("/tickets/new?project=DEMO", "#body"),
        (f"/projects/DEMO/wiki/{slug}/edit", ""),
        ("/projects/DEMO/wiki/new", "#body"),
    ]


@pytest.mark.parametrize("width", [360, 1000, 1440])
def test_unbroken_lines_widen_no_editor(wide, editors, width):
    """A text field as tall as its text is also at least as wide as its longest word."""
    # The rest of a page that asks before it is left is not in the way of the next one.
    wide.page.on("dialog", lambda dialog: dialog.accept())
    wide.page.set_viewport_size({"width": width, "height": 800})
    found = {}
    for path, field in editors:
        wide.go(path)
        if field:
            wide.page.fill(field, TEXT)
        if "wiki" in path:
            # The preview arrives later.
            wide.page.locator(".preview table").wait_for()
        found[path] = wide.overflow()
    assert {path: by for path, by in found.items() if by > 0} == {}
