"""The manual order of cards: by mouse, by keys and by the card's menu; and the other orders."""

import pytest

STATE = "In review"


@pytest.fixture
def three(furnished) -> list[str]:
    """Three tickets of one state, in this order."""
    return [
        furnished.ticket(f"Ranked {name}", state_id=furnished.ids[STATE])
        for name in ("one", "two", "three")
    ]


ORDER = """([name, wanted]) => {
  const cards = document.querySelectorAll(`.column[data-name="${name}"] li[data-ref]`);
  const found = [...cards].map((card) => card.dataset.ref).filter((one) => wanted.includes(one));
  return found.join() === wanted.join();
}"""


def in_order(desk, *references: str) -> None:
    """Wait until these cards stand in this order in their column."""
    desk.page.wait_for_function(ORDER, arg=[STATE, list(references)])


def move(desk, keys: str) -> None:
    """Press these keys, and wait for the server's answer."""
    with desk.page.expect_response("**/move"):
        desk.press(keys)


def kept_in_order(desk, *references: str) -> None:
    """The same, now and after the page is loaded anew."""
    in_order(desk, *references)
    desk.page.reload()
    in_order(desk, *references)


def test_a_card_stays_where_it_is_dropped(desk, three):
    one, two, last = three
    desk.go("/projects/DEMO/board")
    start, end = desk.card(last).bounding_box(), desk.card(one).bounding_box()
    mouse = desk.page.mouse
    mouse.move(start["x"] + 40, start["y"] + 20)
    mouse.down()
    mouse.move(end["x"] + 40, end["y"] + 4, steps=8)
    with desk.page.expect_response("**/move"):
        mouse.up()
    kept_in_order(desk, last, one, two)


def test_a_drop_is_undone(desk, three):
    one, two, last = three
    desk.go("/projects/DEMO/board")
    desk.card(last).locator("[data-title]").focus()
    move(desk, "Alt+Shift+ArrowUp")
    in_order(desk, last, one, two)
    with desk.page.expect_response("**/move"):
        desk.page.click(f"[data-undo][data-ref={last}]")
    kept_in_order(desk, one, two, last)


def test_keys_move_a_card_up_and_down(desk, three):
    one, two, last = three
    desk.go("/projects/DEMO/board")
    desk.card(one).locator("[data-title]").focus()
    move(desk, "Alt+ArrowDown")
    in_order(desk, two, one, last)
    move(desk, "Alt+Shift+ArrowDown")
    in_order(desk, two, last, one)
    move(desk, "Alt+Shift+ArrowUp")
    kept_in_order(desk, one, two, last)


def test_the_menu_of_a_card_puts_it_to_the_top(desk, three):
    one, two, last = three
    desk.go("/projects/DEMO/board")
    desk.card(last).locator("[data-more]").click()
    with desk.page.expect_response("**/move"):
        desk.page.click("dialog button:has-text('To the top')")
    kept_in_order(desk, last, one, two)


def test_another_order_is_chosen_in_the_head_and_kept_in_the_address(desk, furnished, three):
    late = furnished.ticket("Late", state_id=furnished.ids[STATE], due_date="2020-01-01")
    desk.go("/projects/DEMO/board")
    in_order(desk, *three, late)
    desk.page.select_option("#sort", "due")
    in_order(desk, late, *three)
    assert "sort=due" in desk.page.url
    desk.card(late).locator("[data-title]").focus()
    desk.press("Alt+ArrowDown")
    in_order(desk, late, *three)
