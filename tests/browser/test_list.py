"""The list: keys, selection, the bar, undo, trees, pages, a phone."""

from urllib.parse import parse_qsl

import pytest
from playwright.sync_api import expect

from tests.support.serving import until

# The window gets the focus back, and the content that this requests has settled.
SETTLED = """() => new Promise(done => {
    document.addEventListener("htmx:afterSettle", () => done(), { once: true });
    dispatchEvent(new Event("focus"));
})"""


@pytest.fixture
def several(seeded):
    """Five tickets with titles of their own, the newest first."""
    made = [seeded.ticket(f"Listed {number}", priority="low") for number in range(5)]
    yield made[::-1]
    for reference in made:
        if (
            seeded.served.request(
                "GET", f"/api/v1/tickets/{reference}", Cookie=seeded.cookie
            ).status
            == 200
        ):
            seeded.call("DELETE", f"/tickets/{reference}")


def box(wide, reference):
    """The checkbox of a row."""
    return wide.page.get_by_label(f"Select {reference}", exact=True)


def bar(wide):
    """The bar below the list."""
    return wide.page.locator(".bulk-bar")


def field(seeded, reference, name):
    """A field of a ticket."""
    return seeded.call("GET", f"/tickets/{reference}")[name]


def test_choose_apply_and_undo_all(wide, seeded, several):
    wide.go("/projects/DEMO/tickets?q=listed")
    expect(bar(wide)).not_to_be_visible()
    box(wide, several[0]).check()
    box(wide, several[3]).click(modifiers=["Shift"])
    expect(wide.page.locator("#bulk-count")).to_have_text("4")
    bar(wide).get_by_label("Priority").select_option("urgent")
    bar(wide).get_by_label("State").select_option(label="In review")
    bar(wide).get_by_text("Apply").click()
    expect(wide.toast()).to_contain_text("4 changed")
    expect(bar(wide)).not_to_be_visible()
    expect(wide.page.locator(".ticket-row .state-cell", has_text="In review")).to_have_count(4)
    assert field(seeded, several[1], "priority") == "urgent"
    assert field(seeded, several[4], "priority") == "low"
    wide.page.click("[data-undo-all]")
    until(lambda: field(seeded, several[1], "priority") == "low")
    assert field(seeded, several[0], "state")["name"] == "Backlog"


def test_by_keys_alone(wide, seeded, several):
    wide.go("/projects/DEMO/tickets?q=listed")
    expect(wide.page.locator(".ticket-row")).to_have_count(5)
    wide.press("j", "x", "j", "x")
    expect(wide.page.locator("#bulk-count")).to_have_text("2")
    expect(box(wide, several[1])).to_be_checked()
    wide.press("x")
    expect(wide.page.locator("#bulk-count")).to_have_text("1")
    wide.press("Escape")
    expect(bar(wide)).not_to_be_visible()
    wide.press("k", "Enter")
    expect(wide.page.locator("h1")).to_have_text("Listed 4")


def test_all_that_match_is_not_the_page(wide, seeded, several):
    wide.go("/projects/DEMO/tickets?q=listed")
    box(wide, several[0]).check()
    wide.page.click("#choose-all")
    expect(wide.page.locator("#bulk-count")).to_have_text("All 5")
    bar(wide).get_by_label("Add label").select_option(label="docs")
    bar(wide).get_by_text("Apply").click()
    expect(wide.toast()).to_contain_text("5 changed")
    assert [one["name"] for one in field(seeded, several[2], "labels")] == ["docs"]


def test_all_that_match_stays_said_while_the_page_fetches_something(wide, several):
    wide.go("/projects/DEMO/tickets?q=listed")
    box(wide, several[0]).check()
    wide.page.click("#choose-all")
    expect(wide.page.locator("#bulk-count")).to_have_text("All 5")
    # When the window gets the focus back, it loads the inbox count again.
    wide.page.evaluate(SETTLED)
    expect(wide.page.locator("#bulk-count")).to_have_text("All 5")
    box(wide, several[0]).uncheck()
    expect(wide.page.locator("#bulk-count")).to_have_text("4")


@pytest.fixture
def many(wide):
    """Let the list report 600 matches; its steps get responses from a list that a test fills."""
    answers, held, asked = [], [], []

    def answer(route):
        asked.append(dict(parse_qsl(route.request.post_data)))
        if answers:
            route.fulfill(json=answers.pop(0))
        else:
            held.append(route)

    wide.intercept("**/tickets/matching?*", lambda route: route.fulfill(body="600"))
    wide.intercept("**/tickets/bulk/step", answer)
    yield answers, held, asked
    wide.page.unroute_all(behavior="ignoreErrors")


def select_all(wide, reference):
    wide.go("/projects/DEMO/tickets?q=listed")
    box(wide, reference).check()
    wide.page.click("#choose-all")
    expect(wide.page.locator("#bulk-count")).to_have_text("All 600")
    bar(wide).get_by_label("Priority").select_option("urgent")


def panel(wide):
    return wide.page.get_by_role("region", name="Bulk change")


NEXT = "01900000-0000-7000-8000-000000000000"
BESIDE = "01900000-0000-7000-8000-000000000001"
RUN = {"run": "a run", "request_id": "01900000-0000-7000-8000-000000000002"}
STEPPED = {"changed": 199, "skipped": {"No change.": 1}, "next": NEXT, "beside": BESIDE} | RUN


def test_more_than_a_request_takes_is_changed_in_steps(wide, seeded, several):
    """The steps reach the real server; only the number of matches is false."""
    wide.intercept("**/tickets/matching?*", lambda route: route.fulfill(body="600"))
    select_all(wide, several[0])
    wide.page.unroute_all()
    bar(wide).get_by_text("Apply").click()
    expect(panel(wide)).to_contain_text("Done. 5 changed.")
    assert field(seeded, several[4], "priority") == "urgent"
    expect(wide.page.locator(".ticket-row [aria-label='Urgent priority']")).to_have_count(5)
    expect(bar(wide)).not_to_be_visible()
    # One undo for all steps, by keyboard: the panel has the focus, and this button is next.
    expect(panel(wide).get_by_role("button", name="Undo all 5")).to_be_visible()
    wide.press("Tab", "Enter")
    expect(panel(wide)).to_contain_text("Done. 5 undone.")
    assert field(seeded, several[4], "priority") == "low"
    expect(wide.page.locator(".ticket-row [aria-label='Low priority']")).to_have_count(5)
    panel(wide).get_by_role("button", name="Close").click()
    expect(panel(wide)).not_to_be_visible()


def test_all_that_match_go_to_an_end_in_steps(wide, seeded, several):
    in_order = sorted(several, key=lambda one: int(one[5:]))
    for way, place in (("top", slice(5)), ("bottom", slice(-5, None))):
        wide.intercept("**/tickets/matching?*", lambda route: route.fulfill(body="600"))
        select_all(wide, several[0])
        bar(wide).get_by_label("Priority").select_option("")
        wide.page.unroute_all()
        bar(wide).get_by_text("More").click()
        bar(wide).get_by_role("button", name=f"Move to {way}").click()
        expect(panel(wide)).to_contain_text("Done. 5 moved.")
        found = seeded.call("GET", f"/projects/{seeded.ids['project']}/tickets?sort=rank&limit=200")
        assert [one["display_id"] for one in found["data"]][place] == in_order


def test_steps_are_stopped_and_gone_on_with(wide, seeded, several, many):
    answers, held, asked = many
    answers.append(STEPPED)
    select_all(wide, several[0])
    bar(wide).get_by_text("Apply").click()
    until(lambda: wide.page.evaluate("1") and len(asked) == 2)
    expect(panel(wide)).to_contain_text("200 of 600 tickets")
    assert wide.page.locator(".steps progress").evaluate("one => one.value / one.max") == 1 / 3
    # By keyboard: the panel has the focus, and its first button is next.
    wide.press("Tab", "Enter")
    expect(panel(wide)).to_contain_text("Stopping")
    # The running step is completed and counts; no other one begins.
    held.pop().fulfill(json=STEPPED)
    expect(panel(wide)).to_contain_text("Stopped. 398 changed, 2 skipped (No change: 2).")
    expect(panel(wide).get_by_role("button", name="Undo all 398")).to_be_visible()
    wide.page.wait_for_timeout(300)
    assert len(asked) == 2
    answers.append({"changed": 200, "skipped": {}, "next": None, "beside": None} | RUN)
    panel(wide).get_by_role("button", name="Continue").click()
    expect(panel(wide)).to_contain_text("Done. 598 changed, 2 skipped (No change: 2).")
    assert [one.get("next") for one in asked] == [None, NEXT, NEXT]
    assert [one.get("beside") for one in asked] == [None, BESIDE, BESIDE]
    assert [one.get("run") for one in asked] == [None, "a run", "a run"]
    assert len({one["idempotency_key"] for one in asked}) == 3
    assert {one["priority"] for one in asked} == {"urgent"}


def test_steps_go_on_after_a_line_that_broke(wide, seeded, several, many):
    answers, held, asked = many
    select_all(wide, several[0])
    bar(wide).get_by_text("Apply").click()
    until(lambda: wide.page.evaluate("1") and len(held) == 1)
    held.pop().abort()
    expect(panel(wide)).to_contain_text("No connection. 0 changed.")
    answers.append({"changed": 5, "skipped": {}, "next": None, "beside": None} | RUN)
    panel(wide).get_by_role("button", name="Continue").click()
    expect(panel(wide)).to_contain_text("Done. 5 changed.")
    # The step may have been done: the retry is identical, so that the server recognizes it.
    assert asked[0] == asked[1]


def test_leaving_the_page_between_steps_says_nothing(wide, seeded, several, many):
    _answers, held, _asked = many
    select_all(wide, several[0])
    bar(wide).get_by_text("Apply").click()
    until(lambda: wide.page.evaluate("1") and len(held) == 1)
    # Any message in the console fails the test.
    wide.go("/projects/DEMO/board")
    expect(wide.page.locator(".column").first).to_be_visible()


def test_all_that_match_are_deleted_in_steps(wide, seeded, several, many):
    answers, _held, asked = many
    select_all(wide, several[0])
    sheet = (
        '<h2 id="dialog-title">Delete?</h2><form method="post" action="/tickets/bulk"'
        ' hx-post="/tickets/bulk" data-steps="600"><input type="hidden" name="action"'
        ' value="delete"><button class="button danger">Delete</button></form>'
    )
    head = {"HX-Retarget": "#dialog-body", "HX-Trigger-After-Swap": "docket:sheet"}
    wide.intercept("**/tickets/bulk", lambda route: route.fulfill(body=sheet, headers=head))
    bar(wide).get_by_text("Delete…").click()
    answers.append({"changed": 600, "skipped": {}, "next": None, "beside": None})
    wide.page.click("#dialog .button.danger")
    expect(panel(wide)).to_contain_text("Done. 600 deleted.")
    expect(wide.page.locator("#dialog")).not_to_be_visible()
    assert [one["action"] for one in asked] == ["delete"]


def test_deleting_asks_with_the_number(wide, seeded, several):
    wide.go("/projects/DEMO/tickets?q=listed")
    for reference in several[:2]:
        box(wide, reference).check()
    bar(wide).get_by_text("Delete…").click()
    expect(wide.page.locator("#dialog-title")).to_have_text("Delete 2 tickets?")
    wide.press("Escape")
    expect(wide.page.locator("#dialog")).not_to_be_visible()
    expect(wide.page.locator("#bulk-count")).to_have_text("2")
    bar(wide).get_by_text("Delete…").click()
    wide.page.click("#dialog .button.danger")
    expect(wide.toast()).to_contain_text("2 deleted")
    expect(wide.page.locator(".ticket-row")).to_have_count(3)
    wide.page.click("[data-undo-all]")
    until(
        lambda: (
            seeded.served.request(
                "GET", f"/api/v1/tickets/{several[0]}", Cookie=seeded.cookie
            ).status
            == 200
        )
    )


def test_what_was_chosen_survives_other_rows(wide, seeded, several):
    wide.go("/projects/DEMO/tickets?q=listed")
    box(wide, several[0]).check()
    wide.page.fill("#filter-q", "plain")
    expect(wide.page.locator(".ticket-row")).to_have_count(1)
    expect(wide.page.locator("#bulk-count")).to_have_text("1")
    bar(wide).get_by_label("Priority").select_option("high")
    bar(wide).get_by_text("Apply").click()
    expect(wide.toast()).to_contain_text("1 changed")
    assert field(seeded, several[0], "priority") == "high"
    assert field(seeded, "DEMO-6", "priority") == "medium"


def test_what_is_wrong_keeps_the_choice(wide, seeded, several):
    wide.go("/projects/DEMO/tickets?q=listed")
    box(wide, several[0]).check()
    bar(wide).get_by_text("Apply").click()
    expect(wide.toast()).to_contain_text("Select what to change")
    expect(wide.page.locator("#bulk-count")).to_have_text("1")


def test_sorting_and_more_rows(wide, seeded, several):
    wide.go("/projects/DEMO/tickets")
    wide.page.click(".sort:has-text('Updated')")
    expect(wide.page).to_have_url(f"{wide.base}/projects/DEMO/tickets?sort=updated")
    expect(wide.page.locator("th[aria-sort=descending] .sort.descending")).to_contain_text(
        "Updated"
    )
    wide.page.go_back()
    expect(wide.page.locator("th[aria-sort=descending] .sort.descending")).to_contain_text(
        "Created"
    )
    wide.page.click(".sort:has-text('Created')")
    expect(wide.page.locator("th[aria-sort=ascending] .sort.ascending")).to_contain_text("Created")
    for number in range(50):
        seeded.ticket(f"Many {number}")
    wide.go("/projects/DEMO/tickets")
    expect(wide.page.locator(".ticket-row")).to_have_count(50)
    wide.page.click(".more-row a")
    until(lambda: wide.page.locator(".ticket-row").count() > 50)


def test_a_tree_folds(wide, seeded):
    wide.go("/projects/DEMO/tickets?view=tree&sort=oldest&show=all")
    rows = wide.page.locator(".ticket-row:visible")
    before = rows.count()
    epic = wide.page.locator(".ticket-row", has_text="The epic above")
    epic.get_by_role("button", name="Collapse").click()
    expect(rows).to_have_count(before - 3)
    expect(epic).to_have_attribute("aria-expanded", "false")
    epic.locator(".stretched").focus()
    wide.press("ArrowRight")
    expect(rows).to_have_count(before)
    story = wide.page.locator(".ticket-row", has_text="A rich ticket")
    story.locator(".stretched").focus()
    wide.press("ArrowLeft")
    expect(rows).to_have_count(before - 2)
    # Rows that were folded inside stay folded.
    epic.locator(".stretched").focus()
    wide.press("ArrowLeft", "ArrowRight")
    expect(rows).to_have_count(before - 2)


def test_on_a_phone_rows_are_cards(phone, seeded, several):
    phone.go("/projects/DEMO/tickets?q=listed")
    assert phone.overflow() <= 0
    box(phone, several[0]).check()
    expect(bar(phone)).to_be_in_viewport(ratio=0.9)
    assert phone.overflow() <= 0
    bar(phone).get_by_label("Priority").select_option("high")
    bar(phone).get_by_text("Apply").tap()
    expect(phone.toast()).to_contain_text("1 changed")
    expect(phone.page.locator(".ticket-row [aria-label='High priority']")).to_have_count(1)
    expect(bar(phone)).not_to_be_visible()
    # The bar does not clip the menu that opens from it.
    box(phone, several[0]).check()
    bar(phone).get_by_text("More", exact=True).tap()
    to_top = bar(phone).get_by_role("button", name="Move to top")
    expect(to_top).to_be_in_viewport(ratio=1)
    to_top.tap()
    expect(phone.toast().filter(has_text="1 moved")).to_be_visible()


def test_without_a_script(plain, seeded, several):
    plain.go("/projects/DEMO/tickets?q=listed")
    box(plain, several[0]).check()
    box(plain, several[1]).check()
    bar(plain).get_by_label("Priority").select_option("urgent")
    bar(plain).get_by_text("Apply").click()
    expect(plain.page.locator("h1")).to_have_text("2 changed")
    plain.page.click("text=Undo all")
    until(lambda: field(seeded, several[0], "priority") == "low")
    plain.go("/projects/DEMO/tickets?view=tree&sort=oldest")
    expect(plain.page.locator("[aria-level='2']").first).to_be_visible()


def test_order_groups_and_numbers_follow_each_other(wide, seeded, several):
    wide.go("/projects/DEMO/tickets?q=listed")
    expect(wide.page.locator("#list-counts [aria-current]")).to_have_text("5 open")
    wide.page.click("#sort-title")
    expect(wide.page.locator(".ticket-row").first).to_contain_text("Listed 0")
    # The menu shows the order that a column head chose, and so keeps it.
    expect(wide.page.locator("#sort")).to_have_value("title")
    wide.page.locator("#group").focus()
    wide.page.select_option("#group", "priority")
    expect(wide.page.locator(".group-row")).to_have_text(["Low 5"], use_inner_text=True)
    expect(wide.page.locator("#group")).to_be_focused()
    assert "sort=title" in wide.page.url
    wide.page.get_by_role("link", name="0 done").click()
    expect(wide.page.locator("#results")).to_contain_text("No tickets match these filters.")
    assert "group=priority" in wide.page.url


def test_rows_are_36_pixels_below_a_head_that_stays(wide, seeded, several):
    wide.go("/projects/DEMO/tickets?show=all")
    heights = wide.page.evaluate(
        "[...document.querySelectorAll('.ticket-row')].map(one => one.offsetHeight)"
    )
    assert set(heights) <= {36, 37}
    wide.page.evaluate("scrollTo(0, 400)")
    expect(wide.page.locator("#sort-title")).to_be_in_viewport()


def test_to_the_top_and_back(wide, seeded, several):
    wide.go("/projects/DEMO/tickets?q=listed&sort=rank")
    first = wide.page.locator(".ticket-row .ticket-id").first
    expect(first).to_have_text(several[4])
    box(wide, several[0]).check()
    bar(wide).get_by_text("More", exact=True).click()
    bar(wide).get_by_text("Move to top").click()
    expect(wide.toast()).to_contain_text("1 moved")
    expect(first).to_have_text(several[0])
    wide.page.click("[data-undo-all]")
    expect(panel(wide)).to_contain_text("Done. 1 undone.")
    expect(first).to_have_text(several[4])
