"""Whatever the input, the output is text and the few tags of the profile."""

import nh3
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.markdown import Broken, Links, Mentioned, Profile, Resolved, Targets, parse, render
from tests.markdown.hostile import corpus
from tests.markdown.judging import judged
from tests.support.sizes import IS_LONG

pytestmark = pytest.mark.slow

PROFILES = list(Profile)
SIGNS = [
    *"*_~`#>-+=|[]()!<>&\\\"':.0123456789\n\t xaé東",
    *(
        "[[a]]",
        "[[a|b]]",
        "[[ticket:OPS-1]]",
        "OPS-12",
        "@ada",
        "```",
        "~~~",
        "    ",
        "- [ ] ",
        "1. ",
    ),
    *("http://a.b/c", "<a@b.cd>", "&amp;", "&#0;", "\ufdd0", "\ufdd1", "\ufdd3", "|---|"),
    *("![a](b)", "<script>", "javascript:", "\n\n", "\r\n", "\u2028", "\ud7ff", "\x0c", "\\`"),
]
TEXTS = st.lists(st.sampled_from(SIGNS) | st.text(max_size=5), max_size=60).map("".join)


def everywhere(links: Links) -> Targets:
    """Return targets that resolve every other link, with hostile titles."""
    said = "\"'><script>alert(1)</script>"
    return Targets(
        {
            slug: Resolved(f"/wiki/{slug}", said) if index % 2 else Broken(f"/new?slug={slug}")
            for index, slug in enumerate(links.slugs)
        },
        {one: Resolved(f"/tickets/{one}", said, said, is_done=True) for one in links.tickets[::2]},
        {one: Mentioned(said, is_bot=True) for one in links.users},
    )


def test_the_corpus_is_large():
    assert len(set(corpus())) >= 300


@pytest.mark.parametrize("profile", PROFILES)
def test_no_hostile_text_becomes_more_than_text(profile):
    for text in corpus():
        for resolver in (everywhere, lambda _: Targets()):
            done = render(text, profile, resolver)
            assert not done.failed, text
            judge = judged(done.html, profile)
            assert "script" not in judge.seen


def test_all_of_it_in_one_text():
    text = "\n\n".join(corpus())
    for profile in PROFILES:
        done = render(text[:65_536], profile, everywhere)
        assert not done.failed
        judged(done.html, profile)


@settings(max_examples=5000 if IS_LONG else 200)
@given(TEXTS, st.sampled_from(PROFILES))
def test_any_text_is_laid_out_in_allowed_tags(text, profile):
    done = render(text, profile, everywhere)
    assert not done.failed, done.error
    judged(done.html, profile)


@settings(max_examples=1000 if IS_LONG else 40)
@given(TEXTS)
def test_cleaning_again_changes_nothing(text):
    html = str(render(text, Profile.FULL, everywhere).html)
    tags = {"a", "p", "em", "strong", "del", "code", "pre", "ul", "ol", "li", "blockquote", "br"}
    assert nh3.clean(html, tags=tags) == nh3.clean(nh3.clean(html, tags=tags), tags=tags)


@settings(max_examples=2500 if IS_LONG else 200)
@given(TEXTS)
def test_the_links_of_a_text_are_those_that_are_shown(text):
    asked: list[Links] = []

    def remember(links: Links) -> Targets:
        asked.append(links)
        pages = {slug: Resolved(f"/page-{slug}", "") for slug in links.slugs}
        return Targets(pages, {one: Resolved(f"/ticket-{one}", "") for one in links.tickets})

    done = render(text, Profile.FULL, remember)
    found = parse(text)
    assert done.links == found
    for links in asked:
        assert links == found
    html = str(done.html)
    for slug in found.slugs:
        assert f'href="/page-{slug}"' in html
    for display_id in found.tickets:
        assert f'href="/ticket-{display_id}"' in html
    assert html.count('href="/page-') + html.count('href="/ticket-') >= len(found.slugs) + len(
        found.tickets
    )


def test_what_a_resolver_raises_goes_through():
    def fails(_):
        raise LookupError("the database")

    with pytest.raises(LookupError):
        render("[[page]]", Profile.FULL, fails)


@pytest.mark.parametrize("text", ["\\```a``", "[a\\```](b)", "`\\``` `"])
def test_backticks_behind_a_backslash(text):
    judged(render(text).html)
    parse(text)


def test_a_library_that_fails_breaks_no_page(monkeypatch):
    from app.markdown import rendering

    def broken(*_):
        raise RecursionError

    monkeypatch.setattr(rendering.library, "blocks", broken)
    done = render("never seen before <b>bold</b>", Profile.FULL)
    assert done.failed
    assert done.error == "RecursionError"
    assert "&lt;b&gt;bold&lt;/b&gt;" in done.html
    judged(done.html)
    # The failure is not cached: the next reader gets the page once the fault is gone.
    monkeypatch.undo()
    assert not render("never seen before <b>bold</b>", Profile.FULL).failed
