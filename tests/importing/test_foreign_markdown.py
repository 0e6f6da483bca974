"""Markdown from elsewhere: comments of HTML go, and code stays as it is."""

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
        # What has no end stays in sight.
        ("a <!-- b\n\nc", None),
        ("a `b\n<!-- c -->` d", "a `b\n` d"),
        ("no comment -->", None),
    ],
)
def test_comments_of_html_go_outside_of_code(text, shown):
    assert without_comments(text) == (text if shown is None else shown)


@pytest.mark.parametrize(
    "part", ["<!--", "`<!--", "``x`", "<!-- -->", "~~~`", "    <!--", "<!--`\n"]
)
def test_comments_are_found_in_time_that_grows_with_the_text(part):
    started = time.process_time()
    without_comments("<!-- -->" + part * (500_000 // len(part)))
    assert time.process_time() - started < 2
