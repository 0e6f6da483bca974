"""A project's settings by mouse and finger; test_keyboard_only.py uses them by keyboard."""

import re

import pytest
from playwright.sync_api import expect

SETTINGS = "/projects/DEMO/settings"
NOT_NOW = '<div class="toast error" data-toast role="alert">Not now</div>'
STATES = ["Backlog", "To do", "In progress", "In review", "Done"]


def names(wide):
    return wide.page.locator("#states .state-row:not(.ghost) .row-name").all_text_contents()


def stored(seeded):
    path = f"/projects/{seeded.ids['project']}/workflow-states"
    return [one["name"] for one in seeded.call("GET", path)["data"]]


@pytest.fixture
def in_order(seeded):
    """Restore the initial order of the states, whatever other tests did."""
    path = f"/projects/{seeded.ids['project']}/workflow-states/reorder"
    seeded.call("POST", path, {"state_ids": [seeded.ids[name] for name in STATES]})


def grip(wide, name):
    """The center of the grip in a state's row."""
    row = wide.page.locator(".state-row").nth(names(wide).index(name))
    box = row.locator(".grip").bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


@pytest.mark.usefixtures("in_order")
def test_states_are_dragged_to_another_place_and_back_by_undo(wide, seeded):
    wide.go(f"{SETTINGS}/states")
    x, y = grip(wide, "In review")
    _, target = grip(wide, "To do")
    wide.page.mouse.move(x, y)
    wide.page.mouse.down()
    wide.page.mouse.move(x, y - 10)
    expect(wide.page.locator(".state-row.ghost")).to_be_visible()
    wide.page.mouse.move(x, target - 16, steps=4)
    expect(wide.page.locator("#states ol > .drop-mark")).to_have_count(1)
    wide.page.mouse.up()
    expect(wide.toast()).to_contain_text("State moved")
    expect(wide.page.locator("#announcements")).to_have_text("In review is now state 2 of 5")
    assert names(wide) == stored(seeded) == [STATES[0], STATES[3], *STATES[1:3], STATES[4]]
    wide.toast().get_by_role("button", name="Undo").click()
    expect(wide.page.locator("#states .row-name").nth(1)).to_have_text("To do")
    assert stored(seeded) == STATES


@pytest.mark.usefixtures("in_order")
def test_a_drag_that_is_given_up_or_refused_leaves_the_order(wide, seeded):
    moves = []

    def refuse(route):
        moves.append(route.request.url)
        route.fulfill(status=503, body=NOT_NOW)

    wide.intercept("**/move", refuse)
    wide.go(f"{SETTINGS}/states")
    for ending in ("Escape", "refused"):
        x, y = grip(wide, "Backlog")
        _, target = grip(wide, "Done")
        wide.page.mouse.move(x, y)
        wide.page.mouse.down()
        wide.page.mouse.move(x, target + 12, steps=4)
        expect(wide.page.locator(".ghost")).to_have_count(1)
        if ending == "Escape":
            wide.press("Escape")
            expect(wide.page.locator(".ghost")).to_have_count(0)
        wide.page.mouse.up()
    expect(wide.toast()).to_have_text("Not now")
    assert len(moves) == 1
    assert names(wide) == stored(seeded) == STATES


@pytest.mark.usefixtures("in_order")
def test_a_finger_drags_a_state_by_its_grip(phone, seeded):
    phone.go(f"{SETTINGS}/states")
    finger = phone.page.context.new_cdp_session(phone.page)

    def touch(kind, *at):
        points = [{"x": at[0], "y": at[1]}] if at else []
        finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    x, y = grip(phone, "Backlog")
    _, target = grip(phone, "To do")
    touch("touchStart", x, y)
    touch("touchMove", x, y + 20)
    expect(phone.page.locator(".state-row.ghost")).to_be_visible()
    touch("touchMove", x, target + 30)
    touch("touchEnd")
    expect(phone.page.locator("#announcements")).to_have_text("Backlog is now state 2 of 5")
    assert names(phone) == stored(seeded) == ["To do", "Backlog", *STATES[2:]]
    # Tapping the buttons does the same.
    phone.page.get_by_role("button", name="Move Backlog up").tap()
    expect(phone.page.locator("#states .row-name").nth(0)).to_have_text("Backlog")
    assert stored(seeded) == STATES


def test_a_color_is_seen_in_both_themes_while_it_is_chosen(wide):
    wide.go(f"{SETTINGS}/labels")
    form = wide.page.locator("form.add-row", has=wide.page.get_by_label("New label"))
    told = form.locator(".color-told")
    expect(form.locator(".color-preview")).to_be_hidden()
    form.get_by_label("Color").fill("#ffe9a8")
    expect(told).to_have_text(re.compile(r"^1\.2:1 in light, low contrast; 14\.\d:1 in dark$"))
    form.get_by_label("New label").fill("pale")
    expect(form.locator("[data-theme] .label")).to_have_text(["pale", "pale"])
    form.get_by_label("Color").fill("#0b7f8e")
    expect(told).not_to_contain_text("low contrast")
    # The same for an existing label, in its row.
    row = wide.page.locator(".label-row").first
    row.get_by_role("link", name="Edit").click()
    row.get_by_label("Color of").fill("#101414")
    expect(row.locator(".color-told")).to_contain_text("in dark, low contrast")
    grounds = row.locator("[data-theme] .label").evaluate_all(
        "all => all.map(one => getComputedStyle(one).backgroundColor)"
    )
    assert len(set(grounds)) == 2


def test_labels_are_merged_by_choosing_two(wide, seeded):
    path = f"/projects/{seeded.ids['project']}/labels"
    made = [seeded.call("POST", path, {"name": name})["id"] for name in ("dup", "kept")]
    reference = seeded.ticket("Carries it", label_ids=made[:1])
    wide.go(f"{SETTINGS}/labels")
    wide.page.get_by_label("Merge", exact=True).select_option("dup")
    wide.page.get_by_label("Into", exact=True).select_option("kept")
    wide.page.get_by_role("button", name="Merge labels").click()
    expect(wide.toast()).to_contain_text("Labels merged")
    expect(wide.page.get_by_role("link", name="Edit dup")).to_have_count(0)
    labels = seeded.call("GET", f"/tickets/{reference}")["labels"]
    assert [one["name"] for one in labels] == ["kept"]
    wide.toast().get_by_role("button", name="Undo").click()
    expect(wide.page.get_by_role("link", name="Edit dup")).to_be_visible()
    labels = seeded.call("GET", f"/tickets/{reference}")["labels"]
    assert [one["name"] for one in labels] == ["dup"]


def test_name_owner_and_description_are_saved_and_a_key_confirms_the_end(phone, seeded):
    seeded.call("POST", "/projects", {"key": "ENDED", "name": "To be ended"})
    phone.go("/projects/ENDED/settings/general")
    phone.page.get_by_label("Name", exact=True).fill("Renamed")
    phone.page.get_by_label("Description").fill("Why it is *there*")
    phone.page.get_by_role("button", name="Save changes").tap()
    expect(phone.page.get_by_text("Saved", exact=True)).to_be_visible()
    phone.page.locator(".switcher summary").tap()
    phone.page.get_by_role("link", name="Overview of ENDED").tap()
    expect(phone.page.locator("h1")).to_have_text("Renamed")
    expect(phone.page.locator(".overview-text em")).to_have_text("there")
    phone.go("/projects/ENDED/settings/general")
    confirm, end = phone.page.get_by_label("Type ENDED"), "Delete project"
    confirm.fill("DEMO")
    phone.page.get_by_role("button", name=end).tap()
    expect(phone.page.locator(".problem")).to_contain_text("Type ENDED")
    confirm.fill("ENDED")
    phone.page.get_by_role("button", name=end).tap()
    expect(phone.page).to_have_url(f"{phone.base}/projects")
    expect(phone.page.locator(".project-card", has_text="Renamed")).to_have_count(0)


def test_a_bot_is_let_in_and_taken_out_without_a_script(plain, seeded):
    made = seeded.call("POST", "/projects", {"key": "BOTS", "name": "With a bot"})
    plain.go("/projects/BOTS")
    plain.page.get_by_role("link", name="Add one").click()
    plain.page.get_by_label("Add a bot").select_option("bot-dev-1 (bot-dev-1)")
    plain.page.get_by_role("button", name="Add bot").click()
    row = plain.page.locator(".bot-row")
    expect(row).to_contain_text("One of its 2 projects")
    assert made["id"] in seeded.call("GET", f"/bots/{seeded.ids['bot']}")["project_ids"]
    row.get_by_role("button", name="Remove").click()
    expect(plain.page.get_by_text("No bots have access to this project.")).to_be_visible()


MATRIX = "https://matrix.example.org/_matrix/client/v3/rooms/!a:example.org/send/m.room.message"


@pytest.mark.parametrize("kind", ["phone", "plain"])
def test_a_refused_form_has_the_focus_where_it_is_wrong(request, kind, seeded):
    shown = request.getfixturevalue(kind)

    def refused(path, texts, button, wrong, meanwhile=()):
        shown.go(path)
        for selector, text in texts.items():
            shown.page.fill(selector, text)
        for theirs in meanwhile:
            seeded.call("PATCH", *theirs)
        shown.page.get_by_role("button", name=button, exact=True).click()
        expect(shown.page.locator(".problem")).to_be_visible()
        expect(shown.page.locator(wrong)).to_be_focused()
        expect(shown.page.locator(wrong)).to_be_in_viewport(ratio=1)

    given = {"url": MATRIX, "event_types": ["*"], "secret": "x" * 16, "form": "matrix"}
    hook = f"/webhooks/{seeded.call('POST', '/webhooks', given)['id']}"
    moved = {"#url": MATRIX.replace("matrix.", "other.")}
    refused(f"{hook}/edit", moved, "Save changes", "#secret")
    # Several boxes are wrong together, so the message has the focus.
    theirs = (hook, {"event_types": ["ticket.created"]})
    refused(f"{hook}/edit", {}, "Save changes", "#event_types-problem", [theirs])
    seeded.call("DELETE", hook)
    name = f"bot-of-{kind}"
    bot = seeded.call("POST", "/bots", {"username": name, "mode": "write", "project_ids": []})
    theirs = (f"/bots/{bot['bot']['id']}", {"mode": "read"})
    refused(f"/bots/{name}", {}, "Save", "#mode-problem", [theirs])
    # The first field would have the focus of a new form.
    texts = {"#title": "Lost", "#parent_ticket_id": "DEMO-99999"}
    refused("/tickets/new?project=DEMO", texts, "Create ticket", "#parent_ticket_id")
