"""On a phone: nothing is cut off, everything can be touched, cards are carried by holding them."""

import re

import pytest
from playwright.sync_api import expect

from tests.support.serving import until


def test_the_bar_below_leads_everywhere(phone_visitor):
    bar, page = phone_visitor.page.locator(".bottom-bar"), phone_visitor.page
    phone_visitor.go("/projects/DEMO/board")
    expect(bar.locator(".bar-item")).to_have_text(["Home", "Board", "", "Search", "Menu"])
    menu = bar.locator("summary")
    for name, title in (("Wiki", "Demo project wiki"), ("Settings of DEMO", "Project settings")):
        menu.tap()
        bar.get_by_role("link", name=name).tap()
        expect(page.locator("h1")).to_have_text(title)
        # The menu is marked as containing the current page, and the link to it is marked, too.
        expect(menu).to_have_class(re.compile("is-here"))
        expect(bar.locator(".menu-item[aria-current]")).to_have_text(name)
    menu.tap()
    page.touchscreen.tap(30, 300)
    expect(bar.locator(".menu-body")).to_be_hidden()
    bar.get_by_role("link", name="Search").tap()
    expect(page.locator("#palette [role=combobox]")).to_be_focused()
    page.keyboard.press("Escape")
    bar.get_by_role("link", name="New ticket").tap()
    expect(page).to_have_url(f"{phone_visitor.base}/tickets/new?project=DEMO")
    bar.get_by_role("link", name="Home").tap()
    expect(page).to_have_url(f"{phone_visitor.base}/")
    bar.get_by_role("link", name="Board").tap()
    expect(page).to_have_url(f"{phone_visitor.base}/board")


# No line of an element extends to the left or right of its parent.
WHOLE = """one => { const {left, right} = one.parentElement.getBoundingClientRect();
    return [...one.getClientRects()].every(line => line.left >= left && line.right <= right); }"""


@pytest.fixture(scope="module")
def endless(seeded):
    """A project, a ticket and a label whose names are single words of the maximum length."""
    body = {"key": "LONG", "name": "W" * 200}
    project = seeded.call("POST", "/projects", body)["id"]
    path = f"/projects/{project}"
    label = seeded.call("POST", f"{path}/labels", {"name": "L" * 200})["id"]
    ticket = {"title": "T" * 200, "body": "B" * 500, "label_ids": [label]}
    seeded.call("POST", f"{path}/tickets", ticket)
    yield
    seeded.call("DELETE", path)


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/projects",
        "/projects/LONG/board",
        "/projects/LONG/tickets",
        "/projects/LONG/settings/labels",
        "/tickets/LONG-1",
        "/tickets/new?project=LONG",
        "/bots",
    ],
)
@pytest.mark.usefixtures("endless")
def test_words_without_end_widen_nothing(phone_visitor, path):
    phone_visitor.go(path)
    assert phone_visitor.overflow() <= 0


UNDER_A_BAR = """() => {
  const one = document.activeElement;
  if (one === document.body || one.closest(".header, .bottom-bar, .skip")) return null;
  const edge = (bar) => document.querySelector(bar)?.getBoundingClientRect();
  const { top, bottom } = one.getBoundingClientRect();
  const first = (edge(".subject.on") ?? edge(".header")).bottom;
  const last = edge(".bottom-bar").top;
  const isTall = bottom - top > last - first;
  return top < first - 1 || (bottom > last + 1 && !isTall) ? one.outerHTML : null;
}"""


def test_what_has_the_focus_is_under_no_bar(phone_visitor):
    """Neither the header with the name of the ticket nor the bar below covers it (WCAG 2.4.11)."""
    phone_visitor.go("/tickets/DEMO-2")
    hidden = set()
    for key in ("Tab", "Shift+Tab"):
        for _ in range(45):
            phone_visitor.press(key)
            hidden.add(phone_visitor.page.evaluate(UNDER_A_BAR))
    assert hidden == {None}
    assert phone_visitor.overflow() <= 0


@pytest.mark.usefixtures("endless")
def test_the_name_of_a_project_can_be_read_where_the_header_cuts_it(phone_visitor):
    phone_visitor.go("/projects/LONG/board")
    switcher = phone_visitor.page.locator(".switcher")
    expect(switcher.locator("summary > span").first).to_have_css("text-overflow", "ellipsis")
    switcher.locator("summary").tap()
    name = switcher.locator(".menu-note strong")
    expect(name).to_have_text("W" * 200)
    assert name.evaluate(WHOLE)
    phone_visitor.page.touchscreen.tap(200, 700)


def touch(phone, kind: str, x: float = 0, y: float = 0) -> None:
    """Put down, move or lift a finger."""
    points = [] if kind == "touchEnd" else [{"x": x, "y": y}]
    phone.finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})


@pytest.fixture
def board(phone, seeded):
    """The board on a phone, with a card in sight."""
    reference = seeded.ticket("Carried", state_id=seeded.ids["Backlog"])
    phone.finger = phone.page.context.new_cdp_session(phone.page)
    phone.go("/projects/DEMO/board")
    box = phone.card(reference).bounding_box()
    return phone, reference, box["x"] + 60, box["y"] + 30


def test_a_held_card_is_carried_and_the_board_scrolls_at_its_edge(board):
    phone, reference, x, y = board
    touch(phone, "touchStart", x, y)
    expect(phone.page.locator(".ghost")).to_be_visible()
    touch(phone, "touchMove", 385, y + 60)
    expect(phone.column("To do")).to_be_in_viewport(ratio=0.5)
    # Away from the edge the board does not scroll; the finger may be between two columns.
    over = phone.page.locator(".column.over")
    for x in (200, 240):
        touch(phone, "touchMove", x, y + 60)
        phone.page.wait_for_timeout(100)
        if over.count():
            break
    target = over.get_attribute("data-name")
    touch(phone, "touchEnd")
    expect(phone.card_at(target, reference)).to_be_visible()
    assert target != "Backlog"


def test_a_swipe_scrolls_and_carries_nothing(board):
    phone, reference, x, y = board
    touch(phone, "touchStart", x, y)
    for step in range(1, 12):
        touch(phone, "touchMove", x - step * 20, y)
    touch(phone, "touchEnd")
    until(lambda: phone.page.evaluate("document.getElementById('board').scrollLeft") > 100)
    expect(phone.page.locator(".ghost")).to_have_count(0)
    expect(phone.card_at("Backlog", reference)).to_have_count(1)


def test_a_card_moves_without_dragging(board):
    phone, reference, *_ = board
    phone.card(reference).locator(".card-more").tap()
    phone.page.locator("#dialog").get_by_role("button", name="In review").tap()
    expect(phone.card_at("In review", reference)).to_have_count(1)


@pytest.mark.parametrize("path", ["/projects/DEMO/board", "/board"])
def test_the_head_of_a_board_takes_two_rows_at_most(phone, seeded, path):
    phone.go(path)
    tops = phone.page.evaluate(
        "[...document.querySelectorAll('.board-bar :is(.filter-text, .toggle, summary, select)')]"
        ".filter(one => one.offsetWidth).map(one => Math.round(one.getBoundingClientRect().top))"
    )
    assert len(set(tops)) == 2, tops
    assert phone.overflow() == 0


def test_the_search_page_holds_a_long_name_of_a_project(phone, seeded):
    name = "A project whose name goes on for much longer than any phone is wide, word after word"
    project = seeded.call("POST", "/projects", {"key": "LONGNAME", "name": name})["id"]
    phone.go("/search")
    expect(phone.page.locator(".search-narrow")).to_contain_text(name)
    assert phone.overflow() == 0
    seeded.call("DELETE", f"/projects/{project}")


def test_the_menu_of_many_labels_fits_a_phone(phone, wide, seeded):
    names = [f"label {number} of many, and its name is long" for number in range(30)]
    labels = f"/projects/{seeded.ids['project']}/labels"
    made = [seeded.call("POST", labels, {"name": name})["id"] for name in names]
    phone.go("/projects/DEMO/board")
    phone.page.locator(".filter-menu summary").tap()
    menu = phone.page.locator(".filter-groups")
    assert menu.evaluate("one => one.scrollWidth - one.clientWidth") == 0
    phone.page.fill("[data-find]", "label 13")
    expect(phone.page.locator(".filter-group.many .pick:visible")).to_have_text([names[13]])
    # In a menu that scrolls, no name overlaps the row below.
    wide.go("/projects/DEMO/board")
    wide.page.locator(".filter-menu summary").click()
    picks = wide.page.locator(".filter-group.many .pick")
    assert picks.evaluate_all("all => all.filter(one => one.scrollHeight > one.clientHeight)") == []
    for label in made:
        seeded.call("DELETE", f"{labels}/{label}")


def test_a_ticket_of_mine_takes_one_line(phone_visitor, seeded):
    seeded.ticket("Short", assignee_user_id=seeded.ids["ada"])
    phone_visitor.page.set_viewport_size({"width": 360, "height": 780})
    phone_visitor.go("/")
    row = phone_visitor.page.locator(".ticket-row", has_text="Short")
    middles = row.evaluate(
        "row => [...row.children].map(one => one.getBoundingClientRect())"
        ".filter(one => one.height).map(one => one.top + one.height / 2)"
    )
    assert max(middles) - min(middles) < 6
