"""Markdown from elsewhere: HTML comments are removed, and code is unchanged."""

import time

import pytest

from app.importing.foreign_markdown import without_comments


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a <!-- b --> c", "a  c"),
        ("<!--\nb\n\n```\n-->\nc", "\nc"),
        ("<!-->a<!--->b<!---->c", "abc"),
        ("<!-- a <!-- b --> c -->", " c -->"),
        ("`<!-- a -->` ``b ` <!-- c -->`` <!-- d -->", "`<!-- a -->` ``b ` <!-- c -->`` "),
        ("```html\n<!-- a -->\n```\n<!-- b -->", "```html\n<!-- a -->\n```\n"),
        ("````\n```\n<!-- a -->\n```\n````", None),
        ("~~~\n<!-- a -->", None),
        ("- a\n\n\t<!-- b -->\n    <!-- c -->", None),
        # An unclosed comment stays visible.
        ("a <!-- b\n\nc", None),
        # A comment that begins within a line must end in the same paragraph.
        ("a <!-- b\n\nc `-->` d", None),
        ("a <!-- b\n# c\n\n<!-- d\n\ne --> f", "a <!-- b\n# c\n\n f"),
        ("a <!-- b\nc --> d", "a  d"),
        ("- <!-- a\n\n  b -->c", "- c"),
        ("a `b\n<!-- c -->` d", "a `b\n` d"),
        # A code span ends with its paragraph at the latest.
        ("a `b <!-- c -->\nd` <!-- e -->", "a `b <!-- c -->\nd` "),
        ("a ```b\n`c <!-- d -->``` <!-- e -->", "a ```b\n`c <!-- d -->``` "),
        ("a `b\n \n<!-- c --> d`", "a `b\n \n d`"),
        ("- a `b\n- <!-- c --> d`", "- a `b\n-  d`"),
        ("\\<!-- a --> \\\\<!-- b --> \\`<!-- c -->`", "\\<!-- a --> \\\\ \\``"),
        # A fence begins a line, also in a list or quote, and is closed by the same characters.
        ("a ~~~ or ``` b <!-- c -->\n\n<!-- d --> ```", "a ~~~ or ``` b \n\n ```"),
        (
            "   ~~~\n<!-- a -->\n``` ~~~\n  ~~~~\n<!-- b -->",
            "   ~~~\n<!-- a -->\n``` ~~~\n  ~~~~\n",
        ),
        ("``` `\n<!-- a -->", "``` `\n"),
        ("- ```\n  <!-- a -->\n  ```\n<!-- b -->", "- ```\n  <!-- a -->\n  ```\n"),
        (
            "> 1. ~~~\n>    <!-- a -->\n>    ~~~\n<!-- b -->",
            "> 1. ~~~\n>    <!-- a -->\n>    ~~~\n",
        ),
        ("```\n    ```\n<!-- a -->\n```\r\n<!-- b -->", "```\n    ```\n<!-- a -->\n```\r\n"),
        ("no comment -->", None),
    ],
)
def test_comments_of_html_are_removed_outside_of_code(text, shown):
    assert without_comments(text) == (text if shown is None else shown)


@pytest.mark.parametrize(
    "part",
    [
        *(
            "<!--",
            "`<!--",
            "``x`",
            "<!-- -->",
            "~~~`",
            "    <!--",
            "<!--`\n",
            "- ",
            "\n> ",
            "\n~~~ a\n",
            "a <!-- b\n",
            "a <!-- b\n\n",
        ),
        pytest.param("\n" + f"{'`' * 200_000}\n{'`' * 199_999}\n", id="near matches"),
        pytest.param("x".join("`" * length for length in range(1_000)), id="spans of all lengths"),
    ],
)
def test_comments_are_found_in_time_that_grows_with_the_text(part):
    started = time.process_time()
    without_comments("<!-- -->" + part * (500_000 // len(part)))
    assert time.process_time() - started < 2
