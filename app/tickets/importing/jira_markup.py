"""Jira's wiki markup as Markdown: what people use most; anything else stays as it is."""

import re

_BLOCK = re.compile(r"\{(code|noformat)(?::([^}]*))?\}(.*?)\{\1\}", re.DOTALL)
_QUOTE = re.compile(r"\{quote\}(.*?)\{quote\}", re.DOTALL)
_HEADING = re.compile(r"^h([1-6])\.[ \t]+", re.MULTILINE)
_BULLET = re.compile(r"^[ \t]*([*#-]+)[ \t]+(?=\S)", re.MULTILINE)
_HEAD_ROW = re.compile(r"^\|\|(.+?)\|\|[ \t]*$", re.MULTILINE)
_INLINE = (
    (re.compile(r"\{\{(.+?)\}\}"), r"`\1`"),
    (re.compile(r"\[([^\[\]|\n]+)\|([^\[\]|\s]+)(?:\|[^\]]*)?\]"), r"[\1](\2)"),
    (re.compile(r"\[(https?://[^\]\s]+)\]"), r"<\1>"),
    (re.compile(r"!([^!\s|]+\.\w{2,4})(?:\|[^!\n]*)?!"), r"(\1)"),
    (re.compile(r"\[~(?:accountid:)?([^\]\s]+)\]"), r"@\1"),
    (re.compile(r"(?<![\w*])\*(\S(?:[^*\n]*\S)?)\*(?![\w*])"), r"**\1**"),
    (re.compile(r"(?<![\w-])-(\S(?:[^-\n]*\S)?)-(?![\w-])"), r"~~\1~~"),
    (re.compile(r"\{color(?::[^}]*)?\}"), ""),
)


def as_markdown(text: str) -> str:
    """The text with its markup as Markdown; code stays as it was written."""
    text = text.replace("\r\n", "\n")
    parts, place = [], 0
    for block in _BLOCK.finditer(text):
        parts += [_prose(text[place : block.start()]), _fenced(block)]
        place = block.end()
    return "".join([*parts, _prose(text[place:])])


def _fenced(block: re.Match[str]) -> str:
    options = (block.group(2) or "").split("|")
    language = options[0] if re.fullmatch(r"\w+", options[0]) else ""
    content = block.group(3).strip("\n")
    fence = "````" if "```" in content else "```"
    return f"\n{fence}{language}\n{content}\n{fence}\n"


def _prose(text: str) -> str:
    text = _QUOTE.sub(_quoted, text)
    text = _BULLET.sub(_listed, text)
    text = _HEADING.sub(lambda found: "#" * int(found.group(1)) + " ", text)
    for pattern, replacement in _INLINE:
        text = pattern.sub(replacement, text)
    return _HEAD_ROW.sub(_head_row, text)


def _quoted(found: re.Match[str]) -> str:
    lines = found.group(1).strip().split("\n")
    return "\n".join(f"> {line}" for line in lines)


def _listed(found: re.Match[str]) -> str:
    marks = found.group(1)
    if marks.startswith("--"):  # a dash or a rule
        return found.group(0)
    kind = "1. " if marks.endswith("#") else "- "
    return "   " * (len(marks) - 1) + kind


def _head_row(found: re.Match[str]) -> str:
    cells = [cell.strip() for cell in found.group(1).split("||")]
    return f"| {' | '.join(cells)} |\n|{'---|' * len(cells)}"
