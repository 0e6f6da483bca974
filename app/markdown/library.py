"""The three libraries, set up: Markdown for blocks, bleach for the profile, nh3 for the last word.

None of their objects may be used by two threads at once, so each thread has its own.
"""

import threading
from xml.etree.ElementTree import Element

import nh3
from bleach.sanitizer import Cleaner
from markdown import Markdown
from markdown.blockprocessors import BlockProcessor
from markdown.extensions.sane_lists import SaneListExtension
from markdown.extensions.tables import TableExtension

from app.markdown.addresses import judged
from app.markdown.allowed import ALLOWED, INLINE, REL, SCHEMES
from app.markdown.budget import check
from app.markdown.values import Profile

_here = threading.local()

# What is read before the library sees the text (layout.py, spans.py), or must not be read at all.
_UNUSED_BLOCKS = ("code", "setextheader", "reference")


class _Clock(BlockProcessor):
    """Looks at the time before each block, and takes none."""

    def test(self, parent: Element, block: str) -> bool:
        """Never; raises TooSlow."""
        check()
        return False

    def run(self, parent: Element, blocks: list[str]) -> bool:
        """Do nothing."""
        return False


def blocks(source: str, profile: Profile) -> Element:
    """The tree of blocks that the Markdown library finds; raises what it raises."""
    parsers: dict[Profile, Markdown] = _here.__dict__.setdefault("parsers", {})
    # Taken out while it works: after an exception its state is of no use.
    parser = parsers.pop(profile, None) or _parser(profile)
    parser.parser.parseDocument(source.split("\n"))
    parser.reset()
    parsers[profile] = parser
    return parser.parser.root


def _parser(profile: Profile) -> Markdown:
    extensions = [SaneListExtension()]
    parser = Markdown(
        extensions=[*extensions, TableExtension()] if profile is Profile.FULL else extensions
    )
    for name in _UNUSED_BLOCKS:
        parser.parser.blockprocessors.deregister(name)
    # Before all others.
    parser.parser.blockprocessors.register(_Clock(parser.parser), "clock", 1000)
    return parser


def shaped(html: str) -> str:
    """Text with nothing but the tags that may stand inside a paragraph; raises what bleach raises.

    They are the same in both profiles.
    """
    cleaner: Cleaner | None = _here.__dict__.get("cleaner")
    if cleaner is None:
        cleaner = Cleaner(tags=INLINE, attributes=_keeps, protocols=SCHEMES, strip=True)
        _here.cleaner = cleaner
    return cleaner.clean(html)


def _keeps(tag: str, name: str, value: str) -> bool:
    """Whether an attribute may stay."""
    if tag != "a":
        return False
    if name == "href":
        # bleach takes "javascript:1" for a host and a port.
        return judged(value) is not None
    return name == "title" or (name == "rel" and value == REL)


def cleaned(html: str, profile: Profile) -> str:
    """The last word: what nh3 leaves of the HTML; raises what nh3 raises."""
    allowed = ALLOWED[profile]
    return nh3.clean(
        html,
        tags=set(allowed.tags),
        attributes=allowed.attributes,
        tag_attribute_values=allowed.values,
        allowed_classes=allowed.classes,
        url_schemes=set(SCHEMES),
        link_rel=None,
        clean_content_tags=set(),
        generic_attribute_prefixes=set(),
    )
