"""Every string that people and clients see: `python -m tests.house.strings` prints them to be read.

Strings stand next to the markup or the rule that they belong to. Arguments narrow the list to paths
that have one of them: `python -m tests.house.strings templates/wiki app/wiki`. Braces stand for
values. Docstrings of routes are public and in the list, as are those of commands.
"""

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape

from tests.house.counts import ROOT, modules

JINJA = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", re.DOTALL)
TAG = re.compile(r"<[^<>]*>")
INLINE = re.compile(r"</?(?:a|abbr|b|code|em|i|kbd|mark|small|span|strong|time|wbr)\b")
SPOKEN = re.compile(r'\b(?:aria-label|aria-description|title|placeholder|alt)="([^"]+)"')
QUOTED = re.compile(r""""((?:[^"\\\n]|\\.)*)"|'((?:[^'\\\n]|\\.)*)'|`((?:[^`\\]|\\.)*)`""")
LETTERS = re.compile(r"[A-Za-z]{2}")
# A sentence, or a word with a capital. Neither markup, an address nor a statement of SQL.
PROSE = re.compile(r"\w[\w’'.,:;)“”{}…-]* +[\w{“(]|^[A-Z][a-z]+(?: |[.?!…:]?$)")
OTHER = re.compile(
    r"[<=]\S*[\"/]|^[/.#\[]|::|=\$?\{|^\s*(?:SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|PRAGMA|DROP|SET)\b|&&"
)
PUBLISHING = {"route", "command"}
# What no string says: it reads as translated, or another word is used for it.
AVOIDED = re.compile(
    r"\b(?:meanwhile|chosen|ticked|tick some|tak(?:e|es|en) back|for good|go on|mend|whoever"
    r"|nobody's|to be told|sign(?:ed)? in|in vain|that is shown|as yet)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Text:
    """A string and where it stands."""

    path: str
    line: int
    text: str

    @property
    def fixed(self) -> str:
        """The text without the values in it."""
        return re.sub(r"\{[^{}]*\}", "{}", self.text)

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.text}"


def strings() -> list[Text]:
    """All of them: templates, Python, scripts."""
    return [*_of_templates(), *_of_python(), *_of_scripts()]


def _of_templates() -> Iterator[Text]:
    for path in sorted((ROOT / "templates").rglob("*.html")):
        source, name = path.read_text(), str(path.relative_to(ROOT))
        found = [
            (block.start() + one.start(), one[1] or one[2] or "")
            for block in JINJA.finditer(source)
            if not block[0].startswith("{#")
            for one in QUOTED.finditer(block[0])
        ]
        found = [(at, text) for at, text in found if _is_prose(text)]
        markup = JINJA.sub(_without_jinja, source)
        found += [
            (tag.start(), value)
            for tag in TAG.finditer(markup)
            for value in SPOKEN.findall(tag[0])
            if LETTERS.search(value.replace("{}", ""))
        ]
        plain = TAG.sub(_without_tag, markup)
        found += [(one.start(1), one[1]) for one in re.finditer(r"\s*([^\0\s][^\0]*)", plain)]
        for at, text in sorted(found):
            if LETTERS.search(text):
                yield Text(name, source.count("\n", 0, at) + 1, _plain(text))


def _without_jinja(block: re.Match[str]) -> str:
    """As long as before and with the same lines, so that places stay."""
    is_value, is_else = block[0].startswith("{{"), re.match(r"\{%-? *el", block[0])
    stands_for = "{}" if is_value else "/" if is_else else ""
    return stands_for + re.sub(r"[^\n]", " ", block[0][len(stands_for) :])


def _without_tag(tag: re.Match[str]) -> str:
    """As long as before; all but a tag within a sentence parts the texts around it."""
    return ("" if INLINE.match(tag[0]) else "\0").ljust(len(tag[0]))


def _of_python() -> Iterator[Text]:
    for path, tree in modules().items():
        skipped = {id(part) for node in ast.walk(tree) for part in _unseen(node)}
        for node in ast.walk(tree):
            text = _value(node) if id(node) not in skipped else ""
            if _is_prose(text):
                yield Text(path, node.lineno, _plain(text))  # type: ignore[attr-defined]


def _value(node: ast.AST) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if not isinstance(node, ast.JoinedStr):
        return ""
    return "".join(
        str(part.value) if isinstance(part, ast.Constant) else f"{{{ast.unparse(part.value)}}}"
        for part in node.values
        if isinstance(part, ast.Constant | ast.FormattedValue)
    )


def _unseen(node: ast.AST) -> Iterator[ast.AST]:
    """Parts of f-strings, annotations, and docstrings that no decorator publishes."""
    if isinstance(node, ast.JoinedStr):
        yield from (part for part in ast.walk(node) if part is not node)
    elif isinstance(node, ast.arg | ast.AnnAssign) and node.annotation:
        yield from ast.walk(node.annotation)
    elif isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        marks = [ast.unparse(mark) for mark in getattr(node, "decorator_list", [])]
        names = {mark.partition("(")[0].rpartition(".")[2] for mark in marks}
        if node.body and isinstance(node.body[0], ast.Expr) and not names & PUBLISHING:
            yield node.body[0].value


def _of_scripts() -> Iterator[Text]:
    for path in sorted((ROOT / "static" / "js").rglob("*.js")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            for found in QUOTED.finditer(
                "" if line.lstrip().startswith(("//", "*", "/*")) else line
            ):
                text = found[1] or found[2] or found[3] or ""
                if _is_prose(text):
                    yield Text(str(path.relative_to(ROOT)), number, _plain(text))


def _is_prose(text: str) -> bool:
    return bool(PROSE.search(text) and not OTHER.search(text))


def _plain(text: str) -> str:
    return " ".join(unescape(text).split())


if __name__ == "__main__":
    for found in strings():
        if not sys.argv[1:] or any(found.path.startswith(part) for part in sys.argv[1:]):
            print(found)
