"""Converting Atlassian Document Format, which Jira Cloud uses for texts, to Markdown."""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from app.importing.trackers import messages

# Deeper content becomes plain text.
MAX_DEPTH = 40
_ESCAPED = re.compile(r"([\\`*_\[\]<>])")
_LANGUAGE = re.compile(r"\w{1,30}")
_LISTS = ("bulletList", "orderedList", "taskList", "decisionList")
_MEDIA = frozenset({"media", "mediaInline"})
_PANELS = {
    "warning": messages.WARNING,
    "error": messages.ERROR,
    "success": messages.SUCCESS,
    "note": messages.NOTE,
}

Node = Mapping[str, Any]


def as_markdown(document: Any, address_of: Callable[[str], str] = lambda _: "") -> str:
    """The document as Markdown; ``address_of`` maps the name of a file to its address."""
    if isinstance(document, str):
        return document
    if not isinstance(document, dict):
        return ""
    return _MarkdownWriter(address_of).blocks(_content(document), 0).strip("\n")


def _content(node: Node) -> list[Node]:
    found = node.get("content")
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _attributes(node: Node) -> Mapping[str, Any]:
    found = node.get("attrs")
    return found if isinstance(found, dict) else {}


def _plain(node: Node) -> str:
    """All text below a node, without recursion."""
    parts: list[str] = []
    waiting = [node]
    while waiting:
        current = waiting.pop()
        if isinstance(current.get("text"), str):
            parts.append(current["text"])
        waiting += reversed(_content(current))
    return "".join(parts)


def _indented(text: str, first: str, rest: str) -> str:
    lines = text.split("\n")
    return "\n".join([first + lines[0], *(f"{rest}{line}" if line else line for line in lines[1:])])


class _MarkdownWriter:
    def __init__(self, address_of: Callable[[str], str]) -> None:
        self._address_of = address_of
        self._blocks: dict[str, Callable[[Node, int], str]] = {
            "heading": self._heading,
            "codeBlock": self._code,
            **dict.fromkeys(_LISTS, self._list),
            **dict.fromkeys(("blockquote", "panel"), self._quote),
            "table": self._table,
            "rule": lambda _node, _depth: "---",
            **dict.fromkeys(("expand", "nestedExpand"), self._expand),
            **dict.fromkeys(("paragraph", "caption"), lambda node, _depth: self.inline(node)),
        }

    def blocks(self, nodes: list[Node], depth: int, between: str = "\n\n") -> str:
        written = [self.block(node, depth) for node in nodes]
        return between.join(part for part in written if part.strip())

    def block(self, node: Node, depth: int) -> str:
        if depth > MAX_DEPTH:
            return _plain(node)
        kind = str(node.get("type"))
        write = self._blocks.get(kind)
        if write is not None:
            return write(node, depth)
        if kind in _INLINE or kind in _MEDIA:
            return self._inline_of(node)
        # Groups of media, layouts, and unknown kinds.
        return self.blocks(_content(node), depth + 1) or _plain(node)

    def _heading(self, node: Node, _depth: int) -> str:
        level = _attributes(node).get("level")
        marks = "#" * (level if isinstance(level, int) and 1 <= level <= 6 else 3)
        return f"{marks} {self.inline(node)}"

    def _expand(self, node: Node, depth: int) -> str:
        title = str(_attributes(node).get("title") or "")
        head = f"**{_escaped(title)}**\n\n" if title else ""
        return head + self.blocks(_content(node), depth + 1)

    @staticmethod
    def _code(node: Node, _depth: int) -> str:
        text = _plain(node)
        language = str(_attributes(node).get("language") or "")
        fence = "```"
        while fence in text:
            fence += "`"
        return f"{fence}{language if _LANGUAGE.fullmatch(language) else ''}\n{text}\n{fence}"

    def _list(self, node: Node, depth: int) -> str:
        lines = []
        kind = node.get("type")
        start = _attributes(node).get("order")
        number = start if isinstance(start, int) and 0 <= start < 10**6 else 1
        for item in _content(node):
            mark = f"{number}. " if kind == "orderedList" else "- "
            number += 1
            is_done = _attributes(item).get("state") == "DONE"
            box = "" if kind != "taskList" else "[x] " if is_done else "[ ] "
            is_text = item.get("type") in ("taskItem", "decisionItem")
            inner = self.inline(item) if is_text else self.blocks(_content(item), depth + 1, "\n")
            if item.get("type") in _LISTS:
                lines.append(_indented(self.block(item, depth + 1), "  ", "  "))
            else:
                lines.append(_indented(box + inner, mark, " " * len(mark)))
        return "\n".join(lines)

    def _quote(self, node: Node, depth: int) -> str:
        inner = self.blocks(_content(node), depth + 1)
        kind = _PANELS.get(str(_attributes(node).get("panelType")))
        if kind and node.get("type") == "panel":
            inner = f"**{kind}**\n\n{inner}"
        return "\n".join(f"> {line}".rstrip() for line in inner.split("\n"))

    def _table(self, node: Node, depth: int) -> str:
        rows = [
            [
                " ".join(self.blocks(_content(cell), depth + 1, " ").split()).replace("|", "\\|")
                for cell in _content(row)
            ]
            for row in _content(node)
        ]
        rows = [row for row in rows if row]
        if not rows:
            return ""
        width = max(len(row) for row in rows)
        lines = [f"| {' | '.join([*row, *[''] * (width - len(row))])} |" for row in rows]
        return "\n".join([lines[0], f"|{'---|' * width}", *lines[1:]])

    def inline(self, node: Node) -> str:
        return "".join(self._inline_of(one) for one in _content(node))

    def _inline_of(self, node: Node) -> str:
        kind = str(node.get("type"))
        write = _INLINE.get(kind)
        if write is not None:
            return write(node)
        if kind in _MEDIA:
            return self._media(node)
        return _plain(node)

    def _media(self, node: Node) -> str:
        attributes = _attributes(node)
        name = str(attributes.get("alt") or attributes.get("fileName") or "file")
        address = str(attributes.get("url") or "") or self._address_of(name)
        return f"![{_escaped(name)}]({address})" if address else f"({_escaped(name)})"


def _escaped(text: str) -> str:
    return _ESCAPED.sub(r"\\\1", text)


def _text(node: Node) -> str:
    text = str(node.get("text") or "")
    marks = node.get("marks")
    names = {
        str(mark.get("type")): _attributes(mark)
        for mark in (marks if isinstance(marks, list) else ())
        if isinstance(mark, dict)
    }
    core = text.strip()
    if not core:
        return text
    before, after = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
    written = _code_span(core) if "code" in names else _escaped(core)
    for name, mark in (("strong", "**"), ("em", "*"), ("strike", "~~")):
        if name in names:
            written = f"{mark}{written}{mark}"
    address = str(names.get("link", {}).get("href") or "")
    if address:
        written = f"[{written}]({_address(address)})"
    return before + written + after


def _code_span(text: str) -> str:
    fence = "`"
    while fence in text:
        fence += "`"
    space = " " if text[0] == "`" or text[-1] == "`" else ""
    return f"{fence}{space}{text}{space}{fence}"


def _address(text: str) -> str:
    return text.replace(" ", "%20").replace("(", "%28").replace(")", "%29").replace("\n", "")


def _mention(node: Node) -> str:
    attributes = _attributes(node)
    name = str(attributes.get("text") or attributes.get("id") or "someone")
    return f"@{_escaped(name.removeprefix('@'))}"


def _date(node: Node) -> str:
    try:
        moment = int(str(_attributes(node).get("timestamp"))) / 1000
        return datetime.fromtimestamp(moment, UTC).date().isoformat()
    except (ValueError, OverflowError, OSError):
        return ""


def _card(node: Node) -> str:
    address = str(_attributes(node).get("url") or "")
    return f"<{address}>" if address and not re.search(r"[\s<>]", address) else _escaped(address)


def _emoji(node: Node) -> str:
    attributes = _attributes(node)
    return str(attributes.get("text") or attributes.get("shortName") or "")


_INLINE: dict[str, Callable[[Node], str]] = {
    "text": _text,
    "hardBreak": lambda _: "\\\n",
    "mention": _mention,
    "emoji": _emoji,
    "date": _date,
    "status": lambda node: f"`{str(_attributes(node).get('text') or '').replace('`', '')}`",
    "inlineCard": _card,
    "blockCard": _card,
    "embedCard": _card,
}
