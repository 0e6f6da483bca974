"""The manual order of cards: by mouse, by keys and by the card's menu; and the other orders."""

import pytest

STATE = "In review"


@pytest.fixture
def three(seeded) -> list[str]:
    """Three tickets of one state, in this order."""
    return [
        seeded.ticket(f"Ranked {name}", state_id=seeded.ids[STATE])
        for name in ("one", "two", "three")
    ]


ORDER = """([name, wanted]) => {
  const cards = document.querySelectorAll(`.column[data-name="${name}"] li[data-ref]`);
  const found = [...cards].map((card) => card.dataset.ref).filter((one) => wanted.includes(one));
  return found.join() === wanted.join();
}"""


def in_order(wide, *references: str) -> None:
    """Wait until these cards are in this order in their column."""
    wide.page.wait_for_function(ORDER, arg=[STATE, list(references)])


def move(wide, keys: str) -> None:
    """Press these keys, and wait for the server's response."""
    with wide.page.expect_response("**/move"):
        wide.press(keys)


def kept_in_order(wide, *references: str) -> None:
    """Wait until the cards are in this order, and check that it survives a reload."""
    in_order(wide, *references)
    wide.page.reload()
    in_order(wide, *references)


def test_a_card_stays_where_it_is_dropped(wide, three):
    one, two, last = three
    wide.go("/projects/DEMO/board")
    start, end = wide.card(last).bounding_box(), wide.card(one).bounding_box()
    mouse = wide.page.mouse
    mouse.move(start["x"] + 40, start["y"] + 20)
    mouse.down()
    mouse.move(end["x"] + 40, end["y"] + 4, steps=8)
    with wide.page.expect_response("**/move"):
        mouse.up()
    kept_in_order(wide, last, one, two)


def test_a_drop_is_undone(wide, three):
    one, two, last = three
    wide.go("/projects/DEMO/board")
    wide.card(last).locator("[data-title]").focus()
    move(wide, "Alt+Shift+ArrowUp")
    in_order(wide, last, one, two)
    with wide.page.expect_response("**/move"):
        wide.page.click(f"[data-undo][data-ref={last}]")
    kept_in_order(wide, one, two, last)


def test_keys_move_a_card_up_and_down(wide, three):
    one, two, last = three
    wide.go("/projects/DEMO/board")
    wide.card(one).locator("[data-title]").focus()
    move(wide, "Alt+ArrowDown")
    in_order(wide, two, one, last)
    move(wide, "Alt+Shift+ArrowDown")
    in_order(wide, two, last, one)
    move(wide, "Alt+Shift+ArrowUp")
    kept_in_order(wide, one, two, last)


def test_the_menu_of_a_card_puts_it_to_the_top(wide, three):
    one, two, last = three
    wide.go("/projects/DEMO/board")
    wide.card(last).locator("[data-more]").click()
    with wide.page.expect_response("**/move"):
        wide.page.click("dialog button:has-text('Move to top')")
    kept_in_order(wide, last, one, two)


def test_another_order_is_chosen_in_the_head_and_kept_in_the_address(wide, seeded, three):
    late = seeded.ticket("Late", state_id=seeded.ids[STATE], due_date="2020-01-01")
    wide.go("/projects/DEMO/board")
    in_order(wide, *three, late)
    wide.page.select_option("#sort", "due")
    in_order(wide, late, *three)
    assert "sort=due" in wide.page.url
    wide.card(late).locator("[data-title]").focus()
    wide.press("Alt+ArrowDown")
    in_order(wide, late, *three)
