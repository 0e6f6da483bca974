"""The exact Markdown that sticky notes may use."""

import pytest

from app.markdown import Profile, render
from tests.markdown.judging import judged


def html(text):
    def nobody(_):
        raise AssertionError("a note has no links to look up")

    done = render(text, Profile.RESTRICTED, nobody)
    judged(done.html, Profile.RESTRICTED)
    return str(done.html).strip()


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("**a**", "<strong>a</strong>"),
        ("*a*", "<em>a</em>"),
        ("~~a~~", "<del>a</del>"),
        ("`a`", "<code>a</code>"),
        ("```python\ndef a(): 1\n```", '<span class="k">def</span>'),
        ("1. a", "<ol>\n<li>a</li>\n</ol>"),
        ("- a", "<ul>\n<li>a</li>\n</ul>"),
        ("> a", "<blockquote>"),
        ("---", "<hr>"),
        ("a\nb", "a<br>\nb"),
        ("[a](https://b.example/)", '<a href="https://b.example/"'),
        ("[a](mailto:a@b.example)", '<a href="mailto:a@b.example">'),
        ("[a](/relative)", '<a href="/relative">'),
        ("### a", "<h3>a</h3>"),
    ],
)
def test_what_is_allowed(text, tags):
    assert tags in html(text)


def test_boxes_are_text():
    assert html("- [ ] a\n- [x] b") == "<ul>\n<li>[ ] a</li>\n<li>[x] b</li>\n</ul>"


def test_tables_pictures_and_great_headings_leave_their_text():
    assert html("# a\n\n## b") == "<p>a</p>\n<p>b</p>"
    assert html("![a](/b.png)") == "<p>a</p>"
    table = html("| a | b |\n|---|---|\n| 1 | 2 |")
    assert "<table" not in table
    assert "a" in table
    assert "2" in table


@pytest.mark.parametrize("text", ["[[page]]", "[[page|shown]]", "[[ticket:OPS-1]]", "OPS-1"])
def test_links_of_the_wiki_are_text(text):
    assert html(text) == f"<p>{text}</p>"
