"""Every string that people and clients see: `python -m tests.conventions.strings` prints them.

Texts of pages are in their templates, those of Python code in the `messages.py` of each package.
Arguments limit the list to paths that begin with one of them: `python -m tests.conventions.strings
templates/wiki app/wiki`. `--messages` leaves only the modules of messages. Braces replace values.
Docstrings of routes and commands are public, and in the list.
"""

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import unescape

from tests.conventions.counts import ROOT, nodes

JINJA = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", re.DOTALL)
TAG = re.compile(r"<[^<>]*>")
INLINE = re.compile(r"</?(?:a|abbr|b|code|em|i|kbd|mark|small|span|strong|time|wbr)\b")
SPOKEN = re.compile(r'\b(?:aria-label|aria-description|title|placeholder|alt)="([^"]+)"')
QUOTED = re.compile(r""""((?:[^"\\\n]|\\.)*)"|'((?:[^'\\\n]|\\.)*)'|`((?:[^`\\]|\\.)*)`""")
LETTERS = re.compile(r"[A-Za-z]{2}")
# A sentence, or a capitalized word. Not markup, an address or a statement of SQL.
PROSE = re.compile(r"\w[\w’'.,:;)“”{}…-]* +[\w{“(]|^[A-Z][a-z]+(?: |[.?!…:]?$)")
OTHER = re.compile(
    r"[<=]\S*[\"/]|^[/.#\[]|::|=\$?\{|^\s*(?:SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|PRAGMA|DROP|SET)\b|&&"
)
PUBLISHING = {"route", "command"}
# Words that no string contains: they read as translated, or another word is used instead.
AVOIDED = re.compile(
    r"\b(?:meanwhile|chosen|ticked|tick some|tak(?:e|es|en) back|for good|go on|mend|whoever"
    r"|nobody's|to be told|sign(?:ed)? in|in vain|that is shown|as yet)\b",
    re.IGNORECASE,
)

MESSAGES = "messages.py"
# People or clients see the arguments of these calls, as they see all domain errors.
SAYING = {
    *("echo", "prompt", "confirm", "progressbar", "Letter", "Finding", "Problem", "Words"),
    *("refuse", "note", "fail", "impossible", "duplicate_is_conflict", "matching", "one_error"),
    *("undo_toast", "with_undo", "ClickException", "UsageError", "BadParameter"),
}
ERRORS = {
    *("DomainError", "SettingsError", "TrackerError", "ProtocolError"),
    *("AssetMissing", "FileRefused", "ProviderFailure"),
}
SAID_AS = {"message", "text", "undo_text", "action", "hint", "remedy", "toast"}
# Sample data.
OF_NO_MESSAGES = ("app/sample/", "app/help/samples.py")


@dataclass(frozen=True)
class Text:
    """A string and its place in the code."""

    path: str
    line: int
    text: str

    @property
    def fixed(self) -> str:
        """The text without its values."""
        return re.sub(r"\{[^{}]*\}", "{}", self.text)

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.text}"


def strings() -> list[Text]:
    """All strings: of templates, Python and scripts."""
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
    """A replacement with the same length and lines, so that positions stay the same."""
    is_value, is_else = block[0].startswith("{{"), re.match(r"\{%-? *el", block[0])
    stands_for = "{}" if is_value else "/" if is_else else ""
    return stands_for + re.sub(r"[^\n]", " ", block[0][len(stands_for) :])


def _without_tag(tag: re.Match[str]) -> str:
    """A replacement of the same length; any tag not within a sentence splits the text around it."""
    return ("" if INLINE.match(tag[0]) else "\0").ljust(len(tag[0]))


def _of_python() -> Iterator[Text]:
    for path, tree in nodes().items():
        skipped = {id(part) for node in tree for part in _unseen(node)}
        for node in tree:
            text = _value(node) if id(node) not in skipped else ""
            if _is_prose(text):
                yield Text(path, node.lineno, _plain(text))  # type: ignore[attr-defined]


def out_of_place() -> list[Text]:
    """Messages in Python that are outside of the modules of messages."""
    found = []
    errors = _errors()
    for path, tree in nodes().items():
        if path.endswith(f"/{MESSAGES}") or path.startswith(OF_NO_MESSAGES):
            continue
        for node in tree:
            for said in _said(node, SAYING | errors):
                text = _value(said)
                fixed = re.sub(r"\{[^{}]*\}", "", text)
                is_plain = isinstance(said, ast.Constant) and not _is_prose(text)
                if LETTERS.search(fixed) and not is_plain and not OTHER.search(fixed):
                    found.append(Text(path, said.lineno, _plain(text)))  # type: ignore[attr-defined]
    return found


def _errors() -> set[str]:
    """The names of all classes that derive from one of ERRORS."""
    derived = {
        node.name: {ast.unparse(base).rpartition(".")[2] for base in node.bases}
        for tree in nodes().values()
        for node in tree
        if isinstance(node, ast.ClassDef)
    }
    errors: set[str] = set()
    more = ERRORS
    while more:
        errors |= more
        more = {name for name, bases in derived.items() if bases & errors} - errors
    return errors


def _said(node: ast.AST, saying: set[str]) -> Iterator[ast.AST]:
    """The texts that this call or assignment shows."""
    if isinstance(node, ast.Call):
        says = ast.unparse(node.func).rpartition(".")[2] in saying
        given = [*(node.args if says else ())]
        given += [one.value for one in node.keywords if says or one.arg in SAID_AS]
        if says or given:
            yield from _texts(given)
    elif isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign) and node.value:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if any(isinstance(one, ast.Name) and one.id in SAID_AS for one in targets):
            yield from _texts([node.value])


def _texts(given: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """The texts among these expressions, in all branches."""
    for node in given:
        if isinstance(node, ast.Constant | ast.JoinedStr):
            yield node
        elif isinstance(node, ast.IfExp | ast.BoolOp | ast.BinOp | ast.Tuple | ast.List):
            yield from _texts(ast.iter_child_nodes(node))


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
    """Nodes to skip: parts of f-strings, annotations, and docstrings that are not published."""
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
    narrowed = [argument for argument in sys.argv[1:] if argument != "--messages"]
    for found in strings():
        is_asked = not narrowed or found.path.startswith(tuple(narrowed))
        if is_asked and ("--messages" not in sys.argv or found.path.endswith(f"/{MESSAGES}")):
            print(found)
