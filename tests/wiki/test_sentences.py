"""The sentence around a link, as the linked page shows it."""

import pytest

from app.database.session import reading
from app.wiki.links import READ_LENGTH, SIDE_LENGTH, around, sentence


@pytest.mark.parametrize(
    ("text", "before", "link", "after"),
    [
        ("See [[set-up]].", "See ", "set-up", "."),
        ("First. Then see [[set-up|how]] it goes. Last.", "Then see ", "how", " it goes."),
        ("Another\n\nOne line\nand [[set-up]]\nmore\n\nlast", "One line and ", "set-up", " more"),
        ("- one\n- [ ] read [[set-up]]\n- three", "read ", "set-up", ""),
        ("## About [[set-up]]\ntext", "About ", "set-up", " text"),
        ("| a | [[set-up]] |\n| - | - |", "a ", "set-up", " "),
        (r"| a | [[set-up\|the *start*]] |", "a ", "the start", " "),
        (
            "**Bold** `code` [text](https://example.org/) [[other|the other]] [[set-up]] _x_",
            "Bold code text the other ",
            "set-up",
            " x",
        ),
        ("[[set-up-2]] and snake_case [[set-up]]", "set-up-2 and snake_case ", "set-up", ""),
        ("See [[set-up|`make` **it**]]", "See ", "make it", ""),
        ("[[set-up]] then [[set-up|again]]", "", "set-up", " then again"),
    ],
)
def test_the_sentence_is_found_and_reads_as_text(text, before, link, after):
    found = sentence(text, "set-up")
    assert (found.before, found.link, found.after) == (before, link, after)


def test_a_long_sentence_is_cut_at_words():
    found = sentence("word " * 100 + "[[set-up]]" + " more" * 100, "set-up")
    assert found.before.startswith("… word ")
    assert found.after.endswith(" more …")
    assert len(found.before) <= SIDE_LENGTH + 2 >= len(found.after)
    # An excerpt of the body can begin anywhere.
    assert sentence("f a word [[set-up]]", "set-up", is_cut=True).before == "… a word "
    assert sentence("f. A word [[set-up]]", "set-up", is_cut=True).before == "A word "
    assert sentence("no link", "set-up") is None


@pytest.mark.parametrize("end", ["]]", "|shown]]", r"\|shown]]"])
def test_the_sentence_is_read_out_of_the_middle_of_a_long_body(app, cast, end):
    def write(title, body):
        return cast.ada.post("/wiki/pages", {"title": title, "body": body}).json["id"]

    write("Set up", "")
    far = "Ünïcode täxt. " * READ_LENGTH
    identifier = write("Far", f"{far}Here is [[set-up{end} at last. {far}[[set-up]] [[set-up|x]]")
    none = write("None", "`[[set-up-2]]`")
    with app.app_context(), reading():
        found = around([identifier, none], "set-up")
        assert around([], "set-up") == {}
    assert list(found) == [identifier]
    assert (found[identifier].before, found[identifier].after) == ("Here is ", " at last.")
