"""With JavaScript off, people read, create, comment, move and edit all the same."""

from playwright.sync_api import expect

from tests.browser.seed import PASSWORD


def test_login_and_logout(plain):
    plain.page.context.clear_cookies()
    plain.go("/projects/DEMO/board")
    assert "/login?next=/projects/DEMO/board" in plain.page.url
    plain.page.fill("#username", "ada")
    plain.page.fill("#password", "not this one")
    plain.page.click("button.primary")
    expect(plain.page.locator("[role=alert]")).to_have_text("Incorrect username or password.")
    expect(plain.page.locator("#username")).to_have_value("ada")
    plain.page.fill("#password", PASSWORD)
    plain.page.click("button.primary")
    expect(plain.page).to_have_url(f"{plain.base}/projects/DEMO/board")
    plain.page.click(".header .face")
    plain.page.click("text=Log out")
    expect(plain.page.locator("h1")).to_have_text("Log in")


def test_a_ticket_is_created_commented_moved_and_edited(plain):
    plain.go("/projects/DEMO/board")
    plain.page.click('.column[data-name="To do"] [data-add]')
    plain.page.fill("#title", "Made without a script")
    plain.page.click("text=Create ticket")
    expect(plain.page.locator("h1")).to_have_text("Made without a script")
    expect(plain.page.locator("#edit-state")).to_contain_text("To do")
    reference = plain.page.url.rpartition("/")[2]

    plain.page.fill("#comment-body", "Plainly said")
    plain.page.click("#composer button[type=submit]")
    expect(plain.page.locator(".comment-text")).to_have_text("Plainly said")

    plain.page.click("#edit-priority")
    plain.page.click("text=High")
    expect(plain.page.locator("#edit-priority")).to_contain_text("High")

    plain.go("/projects/DEMO/board")
    plain.card(reference).locator(".card-more").click(force=True)
    expect(plain.page.locator("h1")).to_have_text(f"Move {reference} to…")
    plain.page.click("button:has-text('In review')")
    expect(plain.page).to_have_url(f"{plain.base}/projects/DEMO/board")
    expect(plain.card_at("In review", reference)).to_have_count(1)


def test_filters_are_a_form(plain):
    plain.go("/projects/DEMO/tickets")
    plain.page.click(".filter-menu summary")
    plain.page.check("[name=priority][value=urgent]")
    plain.page.click(".filter-menu button")
    expect(plain.page.locator(".ticket-row")).to_have_count(1)


def test_a_mistake_is_shown_and_the_text_kept(plain):
    plain.go("/tickets/new?project=DEMO")
    plain.page.fill("#title", "Kept")
    plain.page.fill("#body", "\nAlso kept")
    plain.page.check("input[value=subtask]", force=True)
    plain.page.click("text=Create ticket")
    expect(plain.page.locator("#parent_ticket_id-problem")).to_contain_text("needs a story")
    expect(plain.page.locator("#title")).to_have_value("Kept")
    expect(plain.page.locator("#body")).to_have_value("\nAlso kept")


def test_states_and_labels(plain):
    plain.go("/projects/DEMO/settings/labels")
    plain.page.fill("form.add-row input[name=name]", "plainly")
    plain.page.click("text=Add label")
    expect(plain.page.locator(".label-row")).to_have_count(3)
    plain.go("/projects/DEMO/settings/states")
    plain.page.click("[aria-label='Move In review up']")
    expect(plain.page.locator(".row-name").nth(2)).to_have_text("In review")
    plain.page.get_by_role("link", name="Edit In review").click()
    plain.page.get_by_label("Limit of In review").fill("4")
    plain.page.get_by_role("button", name="Save").click()
    expect(plain.page.locator(".state-row").nth(2)).to_contain_text("limit 4")
