"""Jira's wiki markup as Markdown: what people use most; anything else stays as it is.

No pattern looks beyond where the next of its kind may begin, so each takes time in proportion
to the text, whoever wrote it.
"""

import re

_BLOCK = re.compile(r"\{(code|noformat)(?::([^{}\n]*))?\}")
_QUOTE = re.compile(r"\{quote\}(.*?)\{quote\}", re.DOTALL)
_HEADING = re.compile(r"^h([1-6])\.[ \t]+", re.MULTILINE)
_BULLET = re.compile(r"^[ \t]*([*#-]+)[ \t]+(?=\S)", re.MULTILINE)
_HEAD_ROW = re.compile(r"^\|\|(.+?)\|\|[ \t]*$", re.MULTILINE)
_INLINE = (
    (re.compile(r"\{\{([^{}\n]+)\}\}"), r"`\1`"),
    (re.compile(r"\[([^\[\]|\n]+)\|([^\[\]|\s]+)(?:\|[^\[\]\n]*)?\]"), r"[\1](\2)"),
    (re.compile(r"\[(https?://[^\[\]\s]+)\]"), r"<\1>"),
    (re.compile(r"!([^!\s|]+\.\w{2,4})(?:\|[^!\n]*)?!"), r"(\1)"),
    (re.compile(r"\[~(?:accountid:)?([^\[\]\s]+)\]"), r"@\1"),
    (re.compile(r"(?<![\w*])\*(\S(?:[^*\n]*\S)?)\*(?![\w*])"), r"**\1**"),
    (re.compile(r"(?<![\w-])-(\S(?:[^-\n]*\S)?)-(?![\w-])"), r"~~\1~~"),
    (re.compile(r"\{color(?::[^{}\n]*)?\}"), ""),
)


def as_markdown(text: str) -> str:
    """The text with its markup as Markdown; code stays as it was written."""
    text = text.replace("\r\n", "\n")
    parts, place, unended = [], 0, set()
    while opening := _BLOCK.search(text, place):
        mark = f"{{{opening.group(1)}}}"
        end = text.find(mark, opening.end()) if mark not in unended else -1
        if end < 0:
            # Neither has any later one an end.
            unended.add(mark)
            parts.append(_prose(text[place : opening.end()]))
            place = opening.end()
            continue
        content = text[opening.end() : end]
        parts += [_prose(text[place : opening.start()]), _fenced(opening.group(2), content)]
        place = end + len(mark)
    return "".join([*parts, _prose(text[place:])])


def _fenced(options: str | None, content: str) -> str:
    named = (options or "").partition("|")[0]
    language = named if re.fullmatch(r"\w+", named) else ""
    content = content.strip("\n")
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
