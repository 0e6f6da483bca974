"""The lines of a text: paragraphs, list items, headings, quotes and code.

People write laxer Markdown than the library reads: lists directly below a paragraph, nested by two
or three spaces, fences inside items. ``lay_out`` classifies the lines, and ``source`` writes them
in the one form that the library understands. Code is taken out here, so later steps need not know
fences. Each line is read a bounded number of times, so the time is linear.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import dropwhile

from app.markdown import pieces
from app.markdown.pieces import TAB, Piece, PieceKind

# Deeper quotes are shown as typed, deeper lists at this depth.
QUOTES = 6
LEVELS = 8


@dataclass(frozen=True, slots=True)
class Item:
    """An open list item: the columns of its marker and its text."""

    marker: int
    content: int
    is_ordered: bool


@dataclass(slots=True)
class Layout:
    """The pieces of a text, and its ``[name]: address`` definitions."""

    pieces: list[Piece] = field(default_factory=list)
    definitions: dict[str, tuple[str, str]] = field(default_factory=dict)


def lay_out(text: str) -> Layout:
    """Read the lines of a text that ``marks.clean`` returned."""
    found = Layout()
    _Container(found, text.split("\n")).read()
    return found


@dataclass(slots=True)
class _Container:
    """Reads the lines of one container: of the text itself, or of a quote."""

    layout: Layout
    lines: list[str]
    prefix: str = ""
    depth: int = 0
    at: int = 0
    items: list[Item] = field(default_factory=list)
    # The paragraph that a plain line continues.
    open: Piece | None = None

    def read(self) -> None:
        while self.at < len(self.lines):
            line = pieces.indented(self.lines[self.at])
            body = line.lstrip(" ")
            if body.strip():
                self._line(body, len(line) - len(body))
            else:
                self._gap()
                self.at += 1

    def _line(self, body: str, indent: int) -> None:
        starts = self._start_of(body, indent)
        if starts is None and self.open is not None:
            self.open.lines.append(body)
            self.at += 1
            return
        left = self._leave_items(indent)
        base = self.items[-1].content if self.items else 0
        if starts is _item:
            _item(self, body, indent, left)
            return
        if left is not None:
            self._gap()
        if self.open is None and indent - base >= TAB and (starts is None or not self.items):
            self._indented_code(base + TAB)
        else:
            (starts or _text)(self, body, indent, left)

    def _start_of(self, body: str, indent: int) -> "_Start | None":
        """What a line starts; None for plain text."""
        first = body[0]
        if indent >= TAB and not self.items:
            return None
        found: _Start | None = None
        if first in "`~":
            found = _fence if pieces.fence(body) else None
        elif first == "#":
            found = _heading if pieces.HEADING.match(body) else None
        elif first == ">":
            found = _quote if self.depth < QUOTES else None
        elif first == "[":
            found = _definition if self.open is None and pieces.definition(body) else None
        elif first in "=-_*+" or "0" <= first <= "9":
            found = self._underline_rule_or_item(body)
        return found

    def _underline_rule_or_item(self, body: str) -> "_Start | None":
        if (
            self.open is not None
            and len(self.open.lines) == 1
            and self.open.lines[0]
            and pieces.UNDERLINE.match(body)
        ):
            return _underline
        if pieces.RULE.match(body):
            return _rule
        found = pieces.ITEM.match(body)
        if found is None:
            return None
        # Inside a paragraph, only 1 and dashes with text start a list.
        in_prose = self.open is not None and not self.items
        if in_prose and (found.group(1) not in {None, "1"} or not found.group(3)):
            return None
        return _item

    def _leave_items(self, indent: int) -> Item | None:
        """Close the items that a line of this indent leaves; returns the outermost."""
        left = None
        while self.items and indent < self.items[-1].marker + 2:
            left = self.items.pop()
        return left

    def _indent(self) -> str:
        return self.prefix + " " * (TAB * min(len(self.items), LEVELS))

    def _add(self, piece: Piece) -> Piece:
        self.open = None
        self.layout.pieces.append(piece)
        return piece

    def _gap(self) -> None:
        found = self.layout.pieces
        if found and found[-1].kind is PieceKind.GAP and found[-1].prefix == self.prefix:
            self.open = None
        else:
            self._add(Piece(PieceKind.GAP, self.prefix))

    def _code(self, lines: list[str], language: str) -> None:
        # In an item, code may directly follow the text; elsewhere it needs blank lines around it.
        if not self.items:
            self._gap()
        self._add(Piece(PieceKind.CODE, self._indent(), lines, language=language))
        if not self.items:
            self._gap()

    def _indented_code(self, columns: int) -> None:
        found = []
        while self.at < len(self.lines):
            line = pieces.indented(self.lines[self.at])
            if line.strip() and not line.startswith(" " * columns):
                break
            found.append(line[columns:])
            self.at += 1
        code = list(dropwhile(lambda line: not line.strip(), reversed(found)))[::-1]
        self._code(code, "")
        if len(code) < len(found):
            self._gap()


_Start = Callable[[_Container, str, int, Item | None], None]


def _text(here: _Container, body: str, _indent: int, _left: Item | None) -> None:
    here.open = here._add(Piece(PieceKind.TEXT, here._indent(), [body]))
    here.at += 1


def _definition(here: _Container, body: str, _indent: int, _left: Item | None) -> None:
    if found := pieces.definition(body):
        here.layout.definitions.setdefault(found.name, (found.address, found.title))
    here.at += 1


def _heading(here: _Container, body: str, _indent: int, _left: Item | None) -> None:
    if found := pieces.heading(body):
        here._gap()
        here._add(Piece(PieceKind.HEADING, here._indent(), [found[1]], level=found[0]))
        here._gap()
    here.at += 1


def _underline(here: _Container, body: str, _indent: int, _left: Item | None) -> None:
    if here.open is not None:
        here.open.kind = PieceKind.HEADING
        here.open.level = 1 if body[0] == "=" else 2
    here._gap()
    here.at += 1


def _rule(here: _Container, _body: str, _indent: int, _left: Item | None) -> None:
    here._gap()
    here._add(Piece(PieceKind.RULE, here._indent()))
    here._gap()
    here.at += 1


def _fence(here: _Container, body: str, indent: int, _left: Item | None) -> None:
    opening, language = pieces.fence(body) or ("```", "")
    here.at += 1
    code = []
    while here.at < len(here.lines):
        line = here.lines[here.at]
        here.at += 1
        if pieces.closes(line, opening):
            break
        code.append(pieces.without_indent(line, indent))
    here._code(code, language)


def _quote(here: _Container, _body: str, _indent: int, _left: Item | None) -> None:
    here._gap()
    inner: list[str] = []
    while here.at < len(here.lines):
        line = pieces.indented(here.lines[here.at])
        body = line.lstrip(" ")
        if body.startswith(">"):
            inner.append(body[2:] if body.startswith("> ") else body[1:])
        elif body.strip() and inner[-1].strip() and here._start_of(body, 0) is None:
            inner.append(body)
        else:
            break
        here.at += 1
    _Container(here.layout, inner, f"{here._indent()}> ", here.depth + 1).read()
    here._gap()


def _item(here: _Container, body: str, indent: int, left: Item | None) -> None:
    found = pieces.ITEM.match(body)
    number, space, rest = found.groups() if found else (None, "", body)
    is_ordered = number is not None
    # After an item of the other kind, or below a paragraph, a new list starts.
    if (left is not None and left.is_ordered != is_ordered) or (
        left is None and not here.items and here.open is not None
    ):
        here._gap()
    marker = f"{int(number)}." if number else "-"
    piece = here._add(Piece(PieceKind.TEXT, f"{here._indent()}{marker} ", [""]))
    width = len(number or "") + 1 + (len(space) if space and len(space) <= TAB else 1)
    here.items.append(Item(indent, indent + width, is_ordered))
    piece.inner = here._indent()
    if rest and pieces.fence(rest):
        # Read the rest of the line again, as a line inside the item.
        here.lines[here.at] = " " * (indent + width) + rest
        return
    here.at += 1
    if rest and rest.strip():
        piece.lines[0] = rest
        here.open = piece
