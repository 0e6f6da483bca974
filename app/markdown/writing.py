"""Writing the blocks that the library found as HTML.

The tags of blocks are ours. Only inline text goes through bleach, many runs at once: bleach is slow
(a second per megabyte) and takes quadratic time for lists. Wiki links and code are ours, too, and
are filled in last. nh3 cleans the whole.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from html import escape, unescape
from xml.etree.ElementTree import Element

from app.markdown import messages
from app.markdown.addresses import is_external
from app.markdown.allowed import REL
from app.markdown.budget import TooSlow, check
from app.markdown.emphasis import emphasized
from app.markdown.marks import (
    LINE,
    MARK,
    Block,
    Break,
    Code,
    Link,
    PageLink,
    PlainText,
    TicketLink,
    Token,
    UserMention,
)
from app.markdown.values import Heading, Profile

MAX_ANCHOR_LENGTH = 100
# Characters that bleach gets at once, and the separator of runs.
BATCH = 8192
BETWEEN = "\ufdd3"
# Of one run: bleach takes 10 us for each entity, and from here on quadratic time.
MAX_ENTITIES = 10_000

_TASK = re.compile(rf"\[([ xX])\](?:[ {LINE}]+|$)")
_TAG = re.compile(r"<[^>]*>")
_NOT_IN_ANCHORS = re.compile(r"[^\w\- ]+")
_HEADINGS = {"h1", "h2", "h3", "h4", "h5", "h6"}
_ALIGNED = re.compile(r"text-align: (left|center|right);")


@dataclass(slots=True)
class HtmlPage:
    """A text while it is written."""

    profile: Profile
    tokens: list[Token]
    # Starts every anchor, so that no text takes an id that a page needs.
    anchor_prefix: str
    out: list[str] = field(default_factory=list)
    headings: list[Heading] = field(default_factory=list)
    anchors: dict[str, int] = field(default_factory=dict)
    # The positions in ``out`` of inline text with tags.
    runs: list[int] = field(default_factory=list)


def write(page: HtmlPage, root: Element, shaped: Callable[[str], str]) -> str:
    """The HTML of the blocks in ``root``, with marks for code and wiki links."""
    for child in root:
        _element(page, child)
    batch: list[int] = []
    size = 0
    for at in page.runs:
        batch.append(at)
        size += len(page.out[at])
        if size > BATCH:
            _shape(page, batch, shaped)
            batch, size = [], 0
    _shape(page, batch, shaped)
    return "".join(page.out)


def _shape(page: HtmlPage, batch: list[int], shaped: Callable[[str], str]) -> None:
    check()
    if batch:
        parts = shaped(BETWEEN.join(page.out[at] for at in batch)).split(BETWEEN)
        for at, part in zip(batch, parts, strict=True):
            page.out[at] = part


def _element(page: HtmlPage, element: Element) -> None:
    check()
    tag = element.tag
    if tag in _HEADINGS:
        _heading(page, tag, element.text or "")
    elif tag == "p":
        _flow(page, element.text or "", "p")
    elif tag == "hr":
        page.out.append("<hr>\n")
    elif tag == "li":
        _item(page, element)
    elif tag in {"td", "th"}:
        _cell(page, tag, element)
    else:
        _around(page, tag, element)
    if element.tail and element.tail.strip():
        _flow(page, element.tail.strip(), "")


def _around(page: HtmlPage, tag: str, element: Element) -> None:
    attributes = ""
    if tag == "ol":
        start = element.get("start", "1")
        attributes = "" if start == "1" else f' start="{escape(start)}"'
    elif tag == "table":
        # A scrolling element must be reachable by keyboard.
        attributes = ' tabindex="0"'
    page.out.append(f"<{tag}{attributes}>\n")
    if element.text and element.text.strip():
        _flow(page, element.text.strip(), "")
    for child in element:
        _element(page, child)
    page.out.append(f"</{tag}>\n")


def _cell(page: HtmlPage, tag: str, element: Element) -> None:
    aligned = _ALIGNED.match(element.get("style", ""))
    attributes = f' class="align-{aligned.group(1)}"' if aligned else ""
    page.out.append(f"<{tag}{attributes}>")
    _run(page, _inline(page, (element.text or "").strip()))
    page.out.append(f"</{tag}>\n")


def _item(page: HtmlPage, element: Element) -> None:
    text = (element.text or "").strip()
    first = element[0] if len(element) and not text and element[0].tag == "p" else None
    task = _TASK.match(text if first is None else (first.text or ""))
    if task is None or page.profile is Profile.RESTRICTED:
        page.out.append("<li>")
        box = ""
    else:
        done = task.group(1) != " "
        box = (
            f'<input type="checkbox" disabled{" checked" if done else ""}'
            f' aria-label="{messages.DONE if done else messages.TO_DO}">'
        )
        page.out.append('<li class="task">')
        if first is None:
            text = text[task.end() :]
        else:
            first.text = (first.text or "")[task.end() :]
    page.out.append(box)
    if text:
        _flow(page, text, "")
    for child in element:
        _element(page, child)
    page.out.append("</li>\n")


def _flow(page: HtmlPage, text: str, tag: str) -> None:
    """Text in paragraphs, or without in a tight list, with code blocks between them."""
    opening, closing = (f"<{tag}>", f"</{tag}>\n") if tag else ("", "")
    for part in _parts(page, text):
        words = part.strip(f" \n{LINE}")
        if MARK.fullmatch(words) and isinstance(_token(page, words), Block):
            page.out.append(f"{words}\n")
        elif words:
            page.out.append(opening)
            _run(page, _inline(page, words))
            page.out.append(closing)


def _parts(page: HtmlPage, text: str) -> list[str]:
    parts: list[str] = []
    at = 0
    for found in MARK.finditer(text):
        if isinstance(_token(page, found.group()), Block):
            parts += [text[at : found.start()], found.group()]
            at = found.end()
    return [*parts, text[at:]]


def _token(page: HtmlPage, mark: str) -> Token:
    return page.tokens[int(mark[1:-1])]


def _heading(page: HtmlPage, tag: str, text: str) -> None:
    # The title of the page is its only h1. In the restricted profile, only the text of h1 and h2
    # stays.
    level = max(2, int(tag[1]))
    html = _inline(page, text.strip())
    if page.profile is Profile.RESTRICTED:
        shown = f"h{level}" if level > 2 else "p"
        page.out.append(f"<{shown}>")
        _run(page, html)
        page.out.append(f"</{shown}>\n")
        return
    words = " ".join(unescape(_TAG.sub("", MARK.sub(lambda m: _words(page, m), html))).split())
    anchor = f"{page.anchor_prefix}{_anchor(page, words)}"
    page.headings.append(Heading(level, words, anchor))
    page.out.append(f'<h{level} id="{escape(anchor)}">')
    _run(page, html)
    page.out.append(f"</h{level}>\n")


def _words(page: HtmlPage, found: re.Match[str]) -> str:
    match _token(page, found.group()):
        case PageLink(_, shown) | TicketLink(_, shown) | UserMention(_, shown):
            return escape(shown)
        case Code(text):
            return escape(text)
        case Break():
            return " "
        case _:
            return ""


def _anchor(page: HtmlPage, words: str) -> str:
    """The anchor of a heading: its words, with ``-2`` if they occur again."""
    plain = _NOT_IN_ANCHORS.sub("", words.lower()).strip().replace(" ", "-")[:MAX_ANCHOR_LENGTH]
    base = plain or "section"
    number = page.anchors.get(base, 0) + 1
    name = base if number == 1 else f"{base}-{number}"
    while number > 1 and name in page.anchors:
        number += 1
        name = f"{base}-{number}"
    page.anchors[base] = number
    page.anchors.setdefault(name, 1)
    return name


def _run(page: HtmlPage, html: str) -> None:
    if "<" in html:
        if html.count("&") > MAX_ENTITIES:
            raise TooSlow
        page.runs.append(len(page.out))
    page.out.append(html)


def _inline(page: HtmlPage, text: str) -> str:
    return emphasized(text, lambda part: _plain(page, part))


def _plain(page: HtmlPage, text: str) -> str:
    check()
    html = escape(text)
    if "\ufdd0" in html:
        html = MARK.sub(lambda found: _inline_token(page, found.group()), html)
    return html.replace(LINE, "\n")


def _inline_token(page: HtmlPage, mark: str) -> str:
    match _token(page, mark):
        case PlainText(text):
            return escape(text)
        case Link(href, title, shown):
            return _link(page, href, title, _inline(page, shown))
        case _:
            return mark


def _link(page: HtmlPage, href: str, title: str, html: str) -> str:
    if href.startswith("#") and page.profile is Profile.FULL:
        href = f"#{page.anchor_prefix}{href[1:]}"
    said = f' title="{escape(title)}"' if title else ""
    rel = f' rel="{REL}"' if is_external(href) else ""
    return f'<a href="{escape(href)}"{said}{rel}>{html}</a>'
