"""No text takes longer than a second, whatever its form."""

import threading

import pytest

from app.core.cache import Cache
from app.markdown import Profile, parse, render
from app.markdown.source import MAX_LENGTH
from tests.markdown.judging import judged
from tests.support.sizes import every
from tests.support.timing import processor_seconds

pytestmark = pytest.mark.slow

COMMENT = 65_536
PAGE = 1_048_576

PATTERNS = (
    *("[", "![", "[a](", "[a](<", "[a][", "[[", "[[a|", "[[a]]", "[a]: /b\n", "]", "](", "]]"),
    *(
        "<",
        "<a ",
        "<a href='",
        "</",
        "<!--",
        "<![CDATA[",
        "<?",
        "&",
        "&#",
        "&amp;",
        "<http://",
        "a@b.c ",
    ),
    *(
        "*",
        "**",
        "***a",
        "*a",
        "*a*",
        "**a** ",
        "*_",
        "_a ",
        "__",
        "~~",
        "~~a ",
        "~~a~~",
        "* *",
        "a*",
    ),
    *("`", "`` ", "` ``", "`a`", "```\n", "~~~\n", "```a\n", "`[[a]]` ", "    ", "\t", "    a\n"),
    *(
        "> ",
        ">",
        ">> a\n",
        "- ",
        "- a\n",
        "* \n",
        "+ a\n  ",
        "1. ",
        "1) a\n\n",
        "- [ ] ",
        "- a\n  - b\n",
    ),
    *("# ", "# \n", "#", "a\n===\n", "-", "---\n", "=", "\n", " \n", "\\", "\\\\", "\\\n", "a\\\n"),
    *("|", "|a", "|-|\n", "| a | b |\n|---|---|\n", "|\n", "a|b\n-|-\n", "\\|"),
    *(
        "http://a ",
        "http://",
        "www.a.b ",
        "OPS-1 ",
        "OPS-1",
        "A-1-",
        "OPS",
        "'\"",
        "(((",
        ")))",
        "[x",
    ),
    *(
        "\u00e9",
        "\u6771",
        "\u200b",
        "x\u0301",
        "\ufdd0",
        "\ufdd00\ufdd1",
        "\U0001f41e",
        "\x0c",
        "\r",
    ),
)


def repeated(pattern, size):
    return (pattern * (size // len(pattern) + 1))[:size]


@pytest.mark.parametrize("pattern", every(8, PATTERNS))
def test_a_comment_or_note_takes_under_a_second(pattern):
    for profile in Profile:

        def work(number, profile=profile):
            # A new text each time, because the cache would return a repeated one.
            done = render(repeated(pattern, COMMENT - number), profile)
            # A text that exceeds its time is shown as its source.
            assert done.error in (None, "TooSlow")

        assert processor_seconds(work, 1) < 1, profile


# A page differs from a comment only in length, and a longer text in the time it may take.
@pytest.mark.parametrize("pattern", every(22, PATTERNS))
def test_a_page_takes_under_a_second(pattern):
    for work in (
        lambda number: render(repeated(pattern, PAGE - number), Profile.FULL),
        lambda number: parse(repeated(pattern, PAGE - number)),
    ):
        assert processor_seconds(work, 1) < 1


# Each becomes a paragraph with a tag and many entities, which bleach takes one by one.
@pytest.mark.parametrize("size", [COMMENT, MAX_LENGTH])
@pytest.mark.parametrize(
    ("start", "pattern"),
    [
        ("*a* ", "&"),
        ("*a* ", "'"),
        ("*a* ", '"'),
        ("*a* ", "<"),
        ("http://a/", "&"),
        ("", "http://a/" + "&" * 190 + " "),
        ("[a](http://a/", "&"),
    ],
)
def test_a_paragraph_of_entities_takes_under_a_second(start, pattern, size):
    def work(number):
        done = render(start + repeated(pattern, size - len(start) - number), Profile.FULL)
        assert done.error in (None, "TooSlow")

    assert processor_seconds(work, 1) < 1


def test_texts_that_mix_patterns():
    for shift in every(2, range(0, len(PATTERNS), 7)):
        chosen = PATTERNS[shift:] + PATTERNS[:shift]
        mixed = "".join(pattern * 40 for pattern in chosen)

        def work(number, mixed=mixed):
            done = render(repeated(mixed, COMMENT - number), Profile.FULL)
            assert not done.failed
            judged(done.html)

        assert processor_seconds(work, 1.5) < 1.5


def test_many_threads_lay_out_the_same_and_other_texts():
    texts = [f"# Text {number}\n\n**bold** [[page-{number}]] `code`" for number in range(40)]
    expected = [str(render(text).html) for text in texts]
    wrong = []

    def work():
        for text, html in zip(texts, expected, strict=True):
            if (
                str(render(text + " ").html).strip() != html.strip()
                or str(render(text).html) != html
            ):
                wrong.append(text)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_the_cache_stays_within_its_bounds():
    cache = Cache(1000)
    for number in range(100):
        cache.put(b"%d" % number, number, 100)
    assert len(cache) == 10
    assert cache.size == 1000
    assert cache.get(b"99") == 99
    assert cache.get(b"1") is None
    cache.put(b"large", 1, 251)
    assert cache.get(b"large") is None
    cache.put(b"99", 100, 50)
    assert (cache.get(b"99"), cache.size) == (100, 950)
