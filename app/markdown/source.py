"""Reading a text: its links, and the source that the Markdown library gets.

In that source each paragraph is one line, lists are nested by four spaces, and everything inline is
a mark. So the library sees neither code nor links nor raw HTML, and its patterns for them, some of
which take quadratic time, never apply.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from app.markdown.layout import lay_out
from app.markdown.marks import (
    LINE,
    Block,
    PageLink,
    PlainText,
    TicketLink,
    Token,
    UserMention,
    clean,
    mark,
)
from app.markdown.pieces import RULE, Piece, PieceKind
from app.markdown.spans import MAX_LINKS, Spans, marked, mentions
from app.markdown.values import Links, Profile

# Rows are filled up to the length of the first one, so a short text could make millions of cells.
MAX_COLUMNS = 64
MAX_CELLS = 10_000

_DELIMITER = re.compile(r"(?=.*\|)\|?[ \t]*+:?-++:?[ \t]*+(?:\|[ \t]*+:?-++:?[ \t]*+)*\|?[ \t]*+$")


def table_start(lines: list[str]) -> int | None:
    """The line where a table starts, if one does."""
    for at in range(1, len(lines)):
        line = lines[at]
        if line[0] in "|:-" and "|" in lines[at - 1] and _DELIMITER.match(line):
            return at - 1
    return None


def columns(row: str) -> int:
    """The number of cells of a row whose bars are all separators."""
    row = row.strip()
    return row.count("|") + 1 - row.startswith("|") - (row.endswith("|") and len(row) > 1)


def is_table(rows: list[str], cells_before: int) -> bool:
    """Whether these rows make a table of acceptable size."""
    width = columns(rows[0])
    return (
        width == columns(rows[1])
        and width <= MAX_COLUMNS
        and cells_before + width * len(rows) <= MAX_CELLS
    )


# Texts up to SAFE_LENGTH are always rendered, those up to MAX_LENGTH if they have at most
# MAX_PARTS, and all others are shown as their source. So the most hostile text takes under a
# second, and long real pages are rendered.
SAFE_LENGTH = 65_536
MAX_LENGTH = 262_144
MAX_PARTS = 24_000

# A line that starts with this would be a block to the library.
_BLOCK_START = re.compile(r"[#>]|[-+*](?=\s|$)|[0-9]+[.)](?=\s|$)")
_FENCES = re.compile(r"^[ \t]*+(`{3,}+(?=[^`\n]*$)|~{3,}+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class MarkdownSource:
    """The text for the library, with the tokens of its marks."""

    text: str
    tokens: list[Token]
    # Lines, marks, and characters of emphasis and cells: they determine the rendering time.
    parts: int


@dataclass(frozen=True, slots=True)
class Long:
    """A text that is not rendered, with its links and their positions."""

    text: str
    mentions: tuple[tuple[int, int, Token], ...] = ()


def parse(text: str) -> Links:
    """The pages and tickets that a body links to: exactly those that ``render`` shows as links.

    Links are ``[[slug]]``, ``[[slug|shown text]]``, ``[[ticket:OPS-12]]`` and a bare ``OPS-12``,
    except in code, addresses and the text of other links. Takes linear time; at most
    ``spans.MAX_LINKS`` links of a body count.
    """
    return links_of(read_any(clean(text), Profile.FULL))


def links_of(reading: MarkdownSource | Long) -> Links:
    """The links of a text, each once, in the order of their first mention."""
    tokens: Iterable[Token]
    if isinstance(reading, Long):
        tokens = (token for _, _, token in reading.mentions)
    else:
        tokens = reading.tokens
    slugs: dict[str, None] = {}
    tickets: dict[str, None] = {}
    users: dict[str, None] = {}
    for token in tokens:
        if isinstance(token, PageLink):
            slugs[token.slug] = None
        elif isinstance(token, TicketLink):
            tickets[token.display_id] = None
        elif isinstance(token, UserMention):
            users[token.username] = None
    return Links(tuple(slugs), tuple(tickets), tuple(users))


def read_any(text: str, profile: Profile) -> MarkdownSource | Long:
    """Read a cleaned text, for rendering or for showing its source."""
    if len(text) <= MAX_LENGTH:
        source = read(text, profile)
        if len(text) <= SAFE_LENGTH or source.parts <= MAX_PARTS:
            return source
    if profile is Profile.RESTRICTED:
        return Long(text)
    found: list[tuple[int, int, Token]] = []
    for begin, prose in _outside_fences(text):
        for start, end, token in mentions(prose, MAX_LINKS - len(found)):
            found.append((begin + start, begin + end, token))
    return Long(text, tuple(found))


def read(text: str, profile: Profile) -> MarkdownSource:
    """Read a cleaned text for rendering."""
    layout = lay_out(text)
    writer = _Writer(Spans(layout.definitions, is_restricted=profile is Profile.RESTRICTED))
    for piece in layout.pieces:
        writer.write(piece)
    source = "\n".join(writer.lines)
    runs = sum(source.count(char) for char in "*_~|")
    return MarkdownSource(
        source, writer.spans.tokens, len(writer.lines) + len(writer.spans.tokens) + runs
    )


def _outside_fences(text: str) -> Iterator[tuple[int, str]]:
    at = 0
    while found := _FENCES.search(text, at):
        yield at, text[at : found.start()]
        opening = found.group(1)
        # A quantifier instead of the opening itself, which can be as long as the text.
        fence = f"{opening[0]}{{{len(opening)},}}+"
        closing = re.compile(rf"^[ \t]*+{fence}[ \t]*$", re.MULTILINE)
        closed = closing.search(text, found.end())
        at = closed.end() if closed else len(text)
    yield at, text[at:]


@dataclass(slots=True)
class _Writer:
    spans: Spans
    lines: list[str] = field(default_factory=list)
    # Cells of tables so far.
    cells: int = 0

    def write(self, piece: Piece) -> None:
        match piece.kind:
            case PieceKind.GAP:
                self.lines.append(piece.prefix.rstrip())
            case PieceKind.RULE:
                self.lines.append(f"{piece.prefix}---")
            case PieceKind.CODE:
                code = "".join(f"{line}\n" for line in piece.lines)
                self._line(piece.prefix, mark(self.spans.tokens, Block(code, piece.language)))
            case PieceKind.HEADING:
                words = self._words("\n".join(piece.lines))
                # The library drops a # at the end.
                end = self._literal("") if words.endswith("#") else ""
                self._line(f"{piece.prefix}{'#' * piece.level} ", words + end)
            case PieceKind.TEXT:
                self._paragraph(piece)

    def _line(self, prefix: str, words: str) -> None:
        self.lines.append(prefix + words)

    def _literal(self, words: str) -> str:
        return mark(self.spans.tokens, PlainText(words))

    def _words(self, text: str, *, in_row: bool = False) -> str:
        return marked(self.spans, text.strip(), in_row=in_row) or self._literal("")

    def _paragraph(self, piece: Piece) -> None:
        at = None if self.spans.is_restricted else table_start(piece.lines)
        if at is None:
            self._text(piece.prefix, self._words("\n".join(piece.lines)))
            return
        before = self._words("\n".join(piece.lines[:at])) if at else ""
        known, links = len(self.spans.tokens), self.spans.links
        rows = [self._words(line, in_row=True) for line in piece.lines[at:]]
        if not is_table(rows, self.cells):
            if any("\\|" in line for line in piece.lines[at:]):
                # A backslash before a bar means something else outside of a table: read again.
                del self.spans.tokens[known:]
                self.spans.links = links
                rows = [self._words(line) for line in piece.lines[at:]]
            self._text(piece.prefix, LINE.join([before, *rows] if before else rows))
            return
        self.cells += columns(rows[0]) * len(rows)
        if before or piece.inner:
            self._text(piece.prefix, before or self._literal(""))
        inner = piece.inner or piece.prefix
        self.lines.append(inner.rstrip())
        for row in rows:
            self._text(inner, row)
        self.lines.append(inner.rstrip())

    def _text(self, prefix: str, words: str) -> None:
        words = words.strip(" \t")
        found = RULE.match(words) or _BLOCK_START.match(words)
        if found:
            words = self._literal(found.group()) + words[found.end() :]
        self._line(prefix, words)
