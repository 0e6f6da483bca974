"""The meaning of Markdown in tickets, comments and wiki pages."""

import pytest

from app.markdown import Broken, Mentioned, Profile, Resolved, Targets, parse, render
from tests.conftest import REAL_DATA
from tests.markdown.judging import judged

REAL = REAL_DATA / "wiki"
FILE = "/files/01a1fa6a-612b-7e43-9d0a-4be2c9a1f670"
PILL = '<span class="mention" title="Ada &amp; Co">@ada</span>'


def html(text, targets=None, **options):
    done = render(text, Profile.FULL, lambda _: targets or Targets(), **options)
    judged(done.html)
    return str(done.html).strip()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "<p>plain</p>"),
        ("*a* **b** ~~c~~ `d`", "<p><em>a</em> <strong>b</strong> <del>c</del> <code>d</code></p>"),
        ("snake_case_name", "<p>snake_case_name</p>"),
        ("a  \nb", "<p>a<br>\nb</p>"),
        ("a\\\nb", "<p>a<br>\nb</p>"),
        ("***", "<hr>"),
        ("> quoted", "<blockquote>\n<p>quoted</p>\n</blockquote>"),
        ("&copy; &amp; <b>", "<p>© &amp; &lt;b&gt;</p>"),
        (r"\*not\*", "<p>*not*</p>"),
        (
            "<https://a.example/>",
            '<p><a href="https://a.example/" rel="nofollow noopener noreferrer">https://a.example/</a></p>',
        ),
        (
            "see https://a.example/b.",
            '<p>see <a href="https://a.example/b" rel="nofollow noopener noreferrer">https://a.example/b</a>.</p>',
        ),
        ("[a](/b)", '<p><a href="/b">a</a></p>'),
        ('[a](/b "c")', '<p><a href="/b" title="c">a</a></p>'),
        ("[a](mailto:a@b.example)", '<p><a href="mailto:a@b.example">a</a></p>'),
        ("[a][r]\n\n[r]: /b", '<p><a href="/b">a</a></p>'),
        ("![shown](/b.png)", '<p><a href="/b.png">shown</a></p>'),
        (
            f'![a "b"]({FILE} "title")',
            f'<p><img src="{FILE}" alt="a &quot;b&quot;" loading="lazy"></p>',
        ),
        (f"![]({FILE})", f'<p><img src="{FILE}" alt="" loading="lazy"></p>'),
        (f"[![a]({FILE})](/b)", '<p><a href="/b">a</a></p>'),
        (f"![a]({FILE}?x)", f'<p><a href="{FILE}?x">a</a></p>'),
        (f"![a](//evil{FILE})", "<p>a</p>"),
        ("[a](javascript:b)", "<p>[a](javascript:b)</p>"),
    ],
)
def test_spans(text, expected):
    assert html(text) == expected


def _code(address, name):
    return f'<a href="{address}" title="{address}" rel="nofollow noopener noreferrer">{name}</a>'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "see https://github.com/o/r/pull/5.",
            f"see {_code('https://github.com/o/r/pull/5', 'o/r#5')}.",
        ),
        (
            "(https://gitlab.com/a/b/c/-/merge_requests/7)",
            f"({_code('https://gitlab.com/a/b/c/-/merge_requests/7', 'a/b/c!7')})",
        ),
        (
            "**https://git.example.org/o/r/issues/1**",
            "<strong>"
            + _code("https://git.example.org/o/r/issues/1", "git.example.org/o/r#1")
            + "</strong>",
        ),
        # Left as typed: with a link text of its own, in code, with more after the number.
        (
            "[the fix](https://github.com/o/r/pull/5)",
            '<a href="https://github.com/o/r/pull/5" rel="nofollow noopener noreferrer">'
            "the fix</a>",
        ),
        ("`https://github.com/o/r/pull/5`", "<code>https://github.com/o/r/pull/5</code>"),
        (
            "https://github.com/o/r/pull/5/files",
            '<a href="https://github.com/o/r/pull/5/files" rel="nofollow noopener noreferrer">'
            "https://github.com/o/r/pull/5/files</a>",
        ),
    ],
)
def test_addresses_of_code_hosts_are_shown_by_their_names(text, expected):
    assert html(text) == f"<p>{expected}</p>"


def test_an_address_among_the_words_of_a_link_stays_as_typed():
    shown = html("[see https://github.com/o/r/pull/5](/b)")
    assert shown == '<p><a href="/b">see https://github.com/o/r/pull/5</a></p>'


def test_lists_nest_and_count():
    shown = html("3. three\n4. four\n    - below\n    - more")
    assert '<ol start="3">' in shown
    assert shown.index("<ul>") > shown.index("four")


def test_tasks_have_boxes_that_cannot_be_clicked():
    shown = html("- [ ] open\n- [x] done")
    assert shown.count('<input type="checkbox" disabled') == 2
    assert (
        'checked aria-label="Done"' in shown
        or 'aria-label="Done" checked' in shown
        or "checked" in shown
    )
    assert 'aria-label="To do"' in shown


def test_tables_align_and_scroll_by_keyboard():
    shown = html("| a | b |\n|:--|--:|\n| 1 | 2 |")
    assert '<table tabindex="0">' in shown
    assert '<th class="align-left">a</th>' in shown
    assert '<td class="align-right">2</td>' in shown


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        (r"x \| y", "x | y"),
        (r"`x \| y`", "<code>x | y</code>"),
        (r"`` `\|` ``", "<code>`|`</code>"),
        (r"[`a\|b`](/c)", '<a href="/c"><code>a|b</code></a>'),
        (
            r"[[page\|the one]]",
            '<a class="wikilink" href="/wiki/page" title="The page">the one</a>',
        ),
        (r"[[page\|a \| b]]", '<a class="wikilink" href="/wiki/page" title="The page">a | b</a>'),
        ("`x | y`", "<code>x | y</code>"),
    ],
)
def test_a_bar_with_a_backslash_is_a_bar_in_a_cell(cell, expected):
    targets = Targets({"page": Resolved("/wiki/page", "The page")})
    shown = html(f"| a | b |\n|---|---|\n| {cell} | 2 |", targets)
    assert f"<td>{expected}</td>\n<td>2</td>" in shown


def test_outside_of_a_table_code_keeps_its_backslash():
    assert html(r"`a \| b`") == r"<p><code>a \| b</code></p>"
    # Two columns above, three below: not a table.
    shown = html("a | `b \\| c` [[page]]\n--|--|--", Targets({"page": Resolved("/wiki/page", "P")}))
    assert r"<code>b \| c</code>" in shown
    assert shown.count("wikilink") == 1


def test_fenced_code_is_colored_by_classes():
    shown = html("```python\ndef a():\n    return 1\n```")
    assert '<pre tabindex="0"><code>' in shown
    assert '<span class="k">def</span>' in shown
    assert "style=" not in shown
    assert "<span" not in html("```no-such-language\nx = 1\n```")
    assert html("```\n<b>[[a]]</b>\n```").count("&lt;b&gt;[[a]]&lt;/b&gt;") == 1


def test_headings_have_anchors_of_their_own_and_become_contents():
    done = render("# One\n## Two\n## Two\n### Öl & *Gas*", Profile.FULL)
    assert [(one.level, one.text, one.anchor) for one in done.headings] == [
        (2, "One", "h-one"),
        (2, "Two", "h-two"),
        (2, "Two", "h-two-2"),
        (3, "Öl & Gas", "h-öl--gas"),
    ]
    assert '<h2 id="h-two-2">' in done.html
    assert "<h1" not in done.html
    assert 'href="#h-one"' in html("[up](#one)")
    assert '<h2 id="c1-one">' in str(render("# One", anchor_prefix="c1-").html)


def test_wiki_links():
    targets = Targets(
        {"page": Resolved("/wiki/page", "The page"), "new": Broken("/wiki/new?slug=new")}
    )
    assert html("[[page]]", targets) == (
        '<p><a class="wikilink" href="/wiki/page" title="The page">The page</a></p>'
    )
    assert ">shown</a>" in html("[[page|shown]]", targets)
    assert html("[[new]]", targets) == (
        '<p><a class="wikilink is-broken" href="/wiki/new?slug=new" '
        'title="There is no page new: create it">new</a></p>'
    )
    assert '<span class="wikilink is-broken" title="There is no page x">x</span>' in html("[[x]]")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("@ada", PILL),
        ("Ask @ada.", f"Ask {PILL}."),
        ("(@ada, @ada)", f"({PILL}, {PILL})"),
        ("**@ada**", f"<strong>{PILL}</strong>"),
        ("@bot-1.x: go", '<span class="mention is-bot" title="Bot (bot)">@bot-1.x</span>: go'),
        ("@Ada", PILL.replace("@ada", "@Ada")),
        # An unknown name, part of a word, or part of a longer name.
        ("@bob", "@bob"),
        ("me@ada", "me@ada"),
        ("@adam @ada-x @ada.x @@ada", "@adam @ada-x @ada.x @@ada"),
        (r"\@ada", "@ada"),
        ("`@ada`", "<code>@ada</code>"),
        ("[@ada](/x)", '<a href="/x">@ada</a>'),
    ],
)
def test_mentions(text, expected):
    users = {"ada": Mentioned("Ada & Co"), "bot-1.x": Mentioned("Bot", is_bot=True)}
    assert html(text, Targets(users=users)) == f"<p>{expected}</p>"


def test_a_mention_in_a_heading_is_part_of_its_anchor():
    done = render("# Ask @ada", resolver=lambda _: Targets(users={"ada": Mentioned("Ada")}))
    assert [(one.text, one.anchor) for one in done.headings] == [("Ask @ada", "h-ask-ada")]


def test_notes_show_mentions_as_typed():
    assert "mention" not in render("@ada", Profile.RESTRICTED).html
    assert parse("@Ada @ada `@bob`").users == ("ada",)


def test_ticket_links():
    targets = Targets(
        tickets={
            "OPS-1": Resolved("/tickets/OPS-1", "Mend", "To do"),
            "OPS-2": Resolved("/tickets/OPS-2", "Done", "Done", is_done=True),
        }
    )
    for text in ("[[ticket:OPS-1|OPS-1]]", "OPS-1"):
        assert (
            '<a class="ticket-link" href="/tickets/OPS-1" title="Mend · To do">OPS-1</a>'
            in html(text, targets)
        )
    # In brackets it shows the title, unless it has a link text.
    assert (
        '<a class="ticket-link is-titled" href="/tickets/OPS-1" title="Mend · To do">OPS-1 Mend</a>'
        in html("[[ticket:OPS-1]]", targets)
    )
    assert ">the lamp</a>" in html("[[ticket:OPS-1|the lamp]]", targets)
    assert 'class="ticket-link is-titled is-done"' in html("[[ticket:OPS-2]]", targets)
    assert 'class="ticket-link is-done"' in html("**OPS-2**", targets)
    # Without brackets it may be something else; in brackets it is meant as a link.
    assert html("UTF-8", targets) == "<p>UTF-8</p>"
    assert "is-broken" in html("[[ticket:OPS-9]]", targets)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "`OPS-1`",
            "```\nOPS-1\n```",
            "[OPS-1](/x)",
            "https://a.example/OPS-1",
            "xOPS-1",
            "OPS-1x",
        ),
        *("OPS-1-2", "ops-1", "OPS-", r"\[[page]]", "`[[page]]`", "a/OPS-1", "OPS-1.5", "@OPS-1"),
    ],
)
def test_what_is_no_link(text):
    links = parse(text)
    assert (links.slugs, links.tickets) == ((), ())
    assert "ticket-link" not in html(text, Targets(tickets={"OPS-1": Resolved("/t", "")}))


def test_a_text_too_long_to_lay_out_is_shown_with_its_links():
    text = "word " * 60_000 + "[[page]] <script>"
    done = render(text, Profile.FULL, lambda _: Targets({"page": Resolved("/wiki/page", "P")}))
    judged(done.html)
    assert done.is_source or "<p>" in done.html
    assert 'href="/wiki/page"' in done.html
    assert "<script>" not in done.html


@pytest.mark.real_data
def test_the_real_pages_are_laid_out():
    files = sorted(REAL.glob("*.md"))
    assert len(files) == 72
    for file in files:
        text = file.read_text()
        done = render(text)
        assert not done.failed
        assert not done.is_source
        judged(done.html)
        assert parse(text) == done.links
