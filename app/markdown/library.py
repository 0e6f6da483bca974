"""The configured libraries: Markdown for blocks, bleach for inline HTML, nh3 for all of it.

Their objects are not thread-safe, so each thread has its own.
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

# Handled before the library sees the text (layout.py, spans.py), or not supported.
_UNUSED_BLOCKS = ("code", "setextheader", "reference")


class _Clock(BlockProcessor):
    """Checks the time before each block, and handles none."""

    def test(self, parent: Element, block: str) -> bool:
        check()
        return False

    def run(self, parent: Element, blocks: list[str]) -> bool:
        """Do nothing."""
        return False


def blocks(source: str, profile: Profile) -> Element:
    """The tree of blocks that the Markdown library finds; raises what the library raises."""
    parsers: dict[Profile, Markdown] = _here.__dict__.setdefault("parsers", {})
    # Removed while in use: after an exception its state is unusable.
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
    # The highest priority.
    parser.parser.blockprocessors.register(_Clock(parser.parser), "clock", 1000)
    return parser


def shaped(html: str) -> str:
    """The HTML with only inline tags, which both profiles share; raises what bleach raises."""
    cleaner: Cleaner | None = _here.__dict__.get("cleaner")
    if cleaner is None:
        cleaner = Cleaner(tags=INLINE, attributes=_keeps, protocols=SCHEMES, strip=True)
        _here.cleaner = cleaner
    return cleaner.clean(html)


def _keeps(tag: str, name: str, value: str) -> bool:
    if tag != "a":
        return False
    if name == "href":
        # bleach takes "javascript:1" for a host with a port.
        return judged(value) is not None
    return name == "title" or (name == "rel" and value == REL)


def cleaned(html: str, profile: Profile) -> str:
    """The HTML that nh3 leaves, the final sanitizing; raises what nh3 raises."""
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
