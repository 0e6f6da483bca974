"""An answer that is held back goes out once, when it is made and all else is done."""

from itertools import permutations

import pytest

from app.core.held import Held


@pytest.mark.parametrize("order", [*permutations(["made", "done", "done"])])
def test_it_goes_out_with_the_last_of_what_it_waits_for(order):
    held, sent = Held(), []
    held.wait_for_another()
    held.wait_for_another()
    for number, step in enumerate(order):
        assert sent == []
        if step == "made":
            held.made(lambda: sent.append("sent"))
        else:
            held.done()
        assert sent == (["sent"] if number == 2 else [])


def test_what_is_never_made_is_never_sent():
    held = Held()
    held.wait_for_another()
    held.done()
