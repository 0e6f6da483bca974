"""The inline parts of a paragraph: code spans, links, escapes, entities, line breaks.

``marked`` replaces each of them by a mark, which leaves only emphasis to read. It reads from left
to right, the first start wins, and every pattern is bounded, so it takes linear time.
"""

import html
import re
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field

from app.core import code_addresses
from app.core.ids import UUID_PATTERN
from app.markdown import addresses
from app.markdown.marks import (
    LINE,
    Break,
    Code,
    Link,
    PageLink,
    Picture,
    PlainText,
    TicketLink,
    Token,
    UserMention,
    mark,
)
from app.markdown.pieces import name_of

KEY = r"[A-Z][A-Z0-9]{1,9}-[0-9]{1,18}+"
PUNCTUATION = r"[!-/:-@\[-`{-~]"
MENTION = (
    rf"(?P<wiki>\[\[(?:ticket:(?P<ticket>{KEY})"
    r"|(?=[a-z0-9-]{1,128}+(?:\\?\||\]))(?P<slug>[a-z0-9]++(?:-[a-z0-9]++)*))"
    # In a table the bar is escaped, or it would end the cell.
    r"(?:\\?\|(?P<shown>[^\[\]\n]{1,300}+))?\]\])"
    # Not inside a word, a path or a longer number; emphasis around it is allowed.
    rf"|(?P<bare>(?<![^\W_])(?<![^\W_]_)(?<![-./\\@#&=%+]){KEY}(?![^\W_]|_[^\W_]|-|\.[0-9]))"
    # The whole name, not in the middle of a word: inbox/mentions.py reads it the same way.
    r"|(?P<user>(?<![\w@])@[A-Za-z0-9](?:[\w-]|\.(?=\w)){1,63}(?![\w-]|\.\w))"
)
URL = r"(?P<url>(?<![^\W_])https?://[^\s<>|`]++)"
STARTS = re.compile(
    rf"(?P<escape>(?:\\{PUNCTUATION})+)|(?P<slash>\\\n?)|(?P<ticks>`++)|{MENTION}"
    r"|(?P<bracket>!?\[)"
    r"|<(?P<auto>(?:https?://|mailto:)[^\s<>]{1,2000}+|[\w.+-]{1,64}+@[\w-]{1,63}+(?:\.[\w-]{1,63}+)+)>"
    rf"|{URL}|(?P<entity>&(?:\#[0-9]{{1,7}}+|\#[xX][0-9a-fA-F]{{1,6}}+|[A-Za-z][A-Za-z0-9]{{1,31}}+);)"
    r"|(?P<line>(?:(?<!\ )\ {2,}+)?\n)"
)
SIMPLE = re.compile(rf"(?P<escape>(?:\\{PUNCTUATION})+)|(?P<ticks>`++)|{URL}|{MENTION}")
BRACKETS = re.compile(rf"\\{PUNCTUATION}|(?P<ticks>`++)|(?P<bracket>[\[\]])")
TICKS = re.compile("`+")
GAP = re.compile(r"\n[ \t]*\n")
ADDRESS = re.compile(
    r"\(\s{0,10}+(?:<(?P<angle>[^<>\n]{0,2000}+)>"
    rf"|(?P<plain>(?:[^\s()\\<]++|\\{PUNCTUATION}?+|\((?:[^\s()\\]++|\\.)*\))*))"
    r"(?:\s{1,10}+(?:\"(?P<t1>(?:[^\"\\]|\\.){0,500})\"|'(?P<t2>(?:[^'\\]|\\.){0,500})'))?"
    r"\s{0,10}+\)"
)
ESCAPED = re.compile(rf"\\({PUNCTUATION})")
LABEL = re.compile(r"\[([^\[\]]{0,200}+)\]")


class Ticks:
    """The runs of backticks in a text, by length, to find the one that closes another."""

    def __init__(self, text: str) -> None:
        self.starts: dict[int, list[int]] = {}
        self.gaps = [found.start() for found in GAP.finditer(text)]
        for found in TICKS.finditer(text):
            self.starts.setdefault(found.end() - found.start(), []).append(found.start())

    def closing(self, start: int, end: int) -> int | None:
        """The start of the run that closes the code opened by this run, or None."""
        # After a backslash, the opening run is shorter than the run in the text.
        starts = self.starts.get(end - start, [])
        index = bisect_right(starts, start)
        if index == len(starts):
            return None
        closing = starts[index]
        # Code does not span an empty line.
        gap = bisect_right(self.gaps, start)
        return None if gap < len(self.gaps) and self.gaps[gap] < closing else closing


# Links of one text; further ones are shown as typed. No real text comes near.
MAX_LINKS = 10_000
# Bleach cleans a paragraph in one piece, and takes a tenth of a millisecond for each of its links.
MAX_LINKS_PER_PARAGRAPH = 2_000


@dataclass(slots=True)
class Spans:
    """The state of reading one text: its tokens, its definitions, its number of links."""

    definitions: dict[str, tuple[str, str]]
    # The restricted profile: no wiki links, only the text of pictures, line breaks as typed.
    is_restricted: bool = False
    tokens: list[Token] = field(default_factory=list)
    links: int = 0


@dataclass(slots=True)
class _Reader:
    spans: Spans
    text: str
    in_link: bool
    in_row: bool
    out: list[str] = field(default_factory=list)
    at: int = 0
    ticks: Ticks | None = None
    pairs: dict[int, int] | None = None
    links: int = 0


def marked(spans: Spans, text: str, *, in_link: bool = False, in_row: bool) -> str:
    """The text of a paragraph, heading or table row with marks for its inline parts."""
    here = _Reader(spans, text, in_link, in_row)
    while found := STARTS.search(text, here.at):
        here.out.append(text[here.at : found.start()])
        here.at = found.end()
        _READ[found.lastgroup or ""](here, found)
    here.out.append(text[here.at :])
    return "".join(here.out)


def mentions(text: str, limit: int) -> list[tuple[int, int, Token]]:
    """The links, display ids and user names of a text that is not laid out, with positions."""
    found: list[tuple[int, int, Token]] = []
    ticks = Ticks(text)
    at = 0
    while len(found) < limit and (match := SIMPLE.search(text, at)):
        at = match.end()
        if match.lastgroup == "ticks":
            closing = ticks.closing(match.start(), at)
            at = at if closing is None else closing + at - match.start()
        elif token := _mention(match):
            found.append((match.start(), at, token))
    return found


def _mention(found: re.Match[str]) -> PageLink | TicketLink | UserMention | None:
    if user := found["user"]:
        return UserMention(user[1:].lower(), user)
    if bare := found["bare"]:
        return TicketLink(bare, bare, is_bare=True)
    if ticket := found["ticket"]:
        return TicketLink(ticket, _shown(found, ticket), has_words=found["shown"] is not None)
    slug = found["slug"]
    if slug is None or UUID_PATTERN.fullmatch(slug):
        return None
    return PageLink(slug, _shown(found, slug), has_words=found["shown"] is not None)


def _shown(found: re.Match[str], otherwise: str) -> str:
    return (found["shown"] or otherwise).strip().replace("\\|", "|") or otherwise


def _put(here: _Reader, token: Token) -> None:
    here.out.append(mark(here.spans.tokens, token))


def _literal(here: _Reader, found: re.Match[str]) -> None:
    here.out.append(found.group())


def _read_escape(here: _Reader, found: re.Match[str]) -> None:
    _put(here, PlainText(ESCAPED.sub(r"\1", found.group())))


def _read_slash(here: _Reader, found: re.Match[str]) -> None:
    if found.group() == "\\":
        _put(here, PlainText("\\"))
    else:
        _put(here, Break())
        here.out.append(LINE)


def _read_line(here: _Reader, found: re.Match[str]) -> None:
    if here.spans.is_restricted or len(found.group()) > 1:
        _put(here, Break())
    here.out.append(LINE)


def _read_entity(here: _Reader, found: re.Match[str]) -> None:
    _put(here, PlainText(_readable(html.unescape(found.group()))))


def _readable(text: str) -> str:
    return "".join(one if one.isprintable() or one == "\u00a0" else "\ufffd" for one in text)


def _read_ticks(here: _Reader, found: re.Match[str]) -> None:
    if here.ticks is None:
        here.ticks = Ticks(here.text)
    closing = here.ticks.closing(found.start(), found.end())
    if closing is None:
        _put(here, PlainText(found.group()))
        return
    code = here.text[found.end() : closing].replace("\n", " ")
    if code.startswith(" ") and code.endswith(" ") and code.strip():
        code = code[1:-1]
    if here.in_row:
        # Cells are split before code is read, so a bar in code is escaped too.
        code = code.replace("\\|", "|")
    _put(here, Code(code))
    here.at = closing + len(found.group())


def _read_mention(here: _Reader, found: re.Match[str]) -> None:
    token = None if here.in_link or here.spans.is_restricted else _mention(found)
    if token is None or here.spans.links >= MAX_LINKS:
        _put(here, PlainText(found.group()))
    else:
        here.spans.links += 1
        _put(here, token)


def _read_url(here: _Reader, found: re.Match[str]) -> None:
    url = _trimmed(found.group())
    here.at = found.start() + len(url)
    code = code_addresses.read(url)
    if code is None:
        _put_link(here, url, "", url)
    else:
        _put_link(here, url, url, code.name, typed=url)


def _trimmed(url: str) -> str:
    """The address without the punctuation of the sentence around it."""
    opened, closed = url.count("("), url.count(")")
    end = len(url)
    while end:
        last = url[end - 1]
        if last == ")" and closed > opened:
            closed -= 1
        elif last not in "?!.,:;*_~'\"]":
            break
        end -= 1
    return url[:end]


def _read_auto(here: _Reader, found: re.Match[str]) -> None:
    shown = found["auto"].removeprefix("mailto:")
    address = found["auto"] if "://" in shown else f"mailto:{shown}"
    _put_link(here, address, "", shown, typed=found.group())


def _put_link(
    here: _Reader, address: str, title: str, shown: str, typed: str | None = None
) -> None:
    judged = _judged(here, address)
    if judged is None:
        _put(here, PlainText(shown if typed is None else typed))
    else:
        _put(here, Link(judged, title, mark(here.spans.tokens, PlainText(shown))))


def _judged(here: _Reader, address: str) -> str | None:
    """The address, if it may be followed and the paragraph may have one more link."""
    if here.in_link or here.links >= MAX_LINKS_PER_PARAGRAPH:
        return None
    judged = addresses.judged(address)
    here.links += judged is not None
    return judged


def _read_bracket(here: _Reader, found: re.Match[str]) -> None:
    """Read a link or picture, with an address or the name of a definition."""
    if here.pairs is None:
        here.pairs = _pairs(here)
    start = found.end()
    end = here.pairs.get(start - 1)
    target = None if end is None else _target(here, start, end)
    is_picture = found.group() == "!["
    if end is None or target is None or (here.in_link and not is_picture):
        _literal(here, found)
        return
    address, title, behind = target
    judged = _judged(here, address)
    if is_picture:
        # Pictures that are files of ours are shown. Others become links, or just their text.
        words = here.text[start:end].replace("\n", " ").strip()
        if judged is None or here.spans.is_restricted:
            _put(here, PlainText(words))
        elif addresses.is_file(judged):
            _put(here, Picture(judged, words))
        else:
            shown = mark(here.spans.tokens, PlainText(words or judged))
            _put(here, Link(judged, title, shown))
        here.at = behind
    elif judged is None:
        _literal(here, found)
    else:
        shown = marked(here.spans, here.text[start:end], in_link=True, in_row=here.in_row)
        _put(
            here,
            Link(
                judged,
                title,
                shown if shown.strip() else mark(here.spans.tokens, PlainText(judged)),
            ),
        )
        here.at = behind


def _target(here: _Reader, start: int, end: int) -> tuple[str, str, int] | None:
    """The address and title after the closing bracket, and where the link ends."""
    text = here.text
    if found := ADDRESS.match(text, end + 1):
        address = found["plain"] if found["angle"] is None else found["angle"]
        title = found["t1"] or found["t2"] or ""
        return _unescaped(address), _unescaped(title), found.end()
    if not here.spans.definitions or end - start > 200:
        return None
    label, behind = text[start:end], end + 1
    if found := LABEL.match(text, behind):
        label, behind = found.group(1) or label, found.end()
    defined = here.spans.definitions.get(name_of(label))
    if defined is None:
        return None
    return html.unescape(defined[0]), _unescaped(defined[1]), behind


def _unescaped(words: str) -> str:
    return html.unescape(ESCAPED.sub(r"\1", words))


def _pairs(here: _Reader) -> dict[int, int]:
    """For each opening bracket the one that closes it; brackets in code do not count."""
    found: dict[int, int] = {}
    if "](" not in here.text and not here.spans.definitions:
        return found
    if here.ticks is None:
        here.ticks = Ticks(here.text)
    opened: list[int] = []
    at = 0
    while match := BRACKETS.search(here.text, at):
        at = match.end()
        if match["ticks"]:
            closing = here.ticks.closing(match.start(), at)
            at = at if closing is None else closing + len(match.group())
        elif match["bracket"] == "[":
            opened.append(match.start())
        elif match["bracket"] and opened:
            found[opened.pop()] = match.start()
    return found


_READ: dict[str, Callable[[_Reader, re.Match[str]], None]] = {
    "escape": _read_escape,
    "slash": _read_slash,
    "ticks": _read_ticks,
    "wiki": _read_mention,
    "bare": _read_mention,
    "user": _read_mention,
    "bracket": _read_bracket,
    "auto": _read_auto,
    "url": _read_url,
    "entity": _read_entity,
    "line": _read_line,
}
