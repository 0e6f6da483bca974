"""Emphasis: ``*em*``, ``**strong**``, ``~~struck~~`` in text with marks, in linear time.

The rules are CommonMark's: the characters around a run decide whether it can open or close, and a
closing run pairs with the nearest opening one.
"""

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, field

from app.markdown.budget import check

# Deeper emphasis is shown as typed: browsers and sanitizers take quadratic time for it.
MAX_DEPTH = 12
# Pairs in one paragraph; further runs are shown as typed. Bleach takes quadratic time for many
# adjacent elements, and no real text comes near.
MAX_PAIRS = 2_000

_RUNS = re.compile(r"\*++|_++|(?<!~)~~(?!~)")


@dataclass(slots=True)
class _Run:
    char: str
    length: int
    can_open: bool
    can_close: bool
    # Characters that are not yet part of a pair.
    left: int
    # Pairs that begin (innermost last) and end (innermost first) here: number and tag.
    opens: list[tuple[int, str]] = field(default_factory=list)
    closes: list[tuple[int, str]] = field(default_factory=list)
    before: int = -1
    after: int = -1


def emphasized(text: str, plain: Callable[[str], str]) -> str:
    """The text as HTML; ``plain`` converts the text between the runs."""
    texts: list[str] = []
    runs: list[_Run] = []
    at = 0
    for found in _RUNS.finditer(text):
        check()
        texts.append(text[at : found.start()])
        runs.append(_run(text, found))
        at = found.end()
    if not runs:
        return plain(text)
    _pair(runs)
    return _written([*map(plain, texts)], runs) + plain(text[at:])


def _run(text: str, found: re.Match[str]) -> _Run:
    before = text[found.start() - 1] if found.start() else " "
    after = text[found.end()] if found.end() < len(text) else " "
    left = not _is_space(after) and (
        not _is_punctuation(after) or _is_space(before) or _is_punctuation(before)
    )
    right = not _is_space(before) and (
        not _is_punctuation(before) or _is_space(after) or _is_punctuation(after)
    )
    char, length = found.group()[0], len(found.group())
    if char == "_":
        # Not inside words, as in snake_case.
        can_open = left and (not right or _is_punctuation(before))
        can_close = right and (not left or _is_punctuation(after))
    else:
        can_open, can_close = left, right
    return _Run(char, length, can_open, can_close, length)


def _is_space(char: str) -> bool:
    return char.isspace() or char == "\ufdd2"


def _is_punctuation(char: str) -> bool:
    return unicodedata.category(char)[0] in "PS"


def _pair(runs: list[_Run]) -> None:
    """Pair the runs, in a linked list from which matched and useless runs are removed."""
    for index, run in enumerate(runs):
        run.before, run.after = index - 1, index + 1
    # For each kind of closing run, the position below which no opening run is left.
    bottoms: dict[tuple[str, bool, int], int] = {}
    pairs = 0
    at = 0
    while at < len(runs) and pairs < MAX_PAIRS:
        closer = runs[at]
        if not closer.can_close or not closer.left:
            at = closer.after
            continue
        kind = (closer.char, closer.can_open, closer.length % 3)
        opener_at = _opener(runs, at, bottoms.get(kind, -1))
        if opener_at < 0:
            bottoms[kind] = closer.before
            if not closer.can_open:
                _unlink(runs, at)
            at = closer.after
            continue
        opener = runs[opener_at]
        size = 2 if opener.left >= 2 and closer.left >= 2 else 1
        tag = "del" if closer.char == "~" else "strong" if size == 2 else "em"
        opener.opens.append((pairs, tag))
        closer.closes.append((pairs, tag))
        pairs += 1
        opener.left -= size
        closer.left -= size
        # Runs between them can no longer pair with runs outside.
        opener.after, closer.before = at, opener_at
        if not opener.left:
            _unlink(runs, opener_at)
        if not closer.left:
            _unlink(runs, at)
            at = closer.after


def _opener(runs: list[_Run], closer_at: int, bottom: int) -> int:
    closer = runs[closer_at]
    at = closer.before
    while at > bottom:
        run = runs[at]
        if run.char == closer.char and run.can_open and run.left and not _odd(run, closer):
            return at
        at = run.before
    return -1


def _odd(opener: _Run, closer: _Run) -> bool:
    """CommonMark's rule of three, which keeps ``*foo**bar*`` whole."""
    return (
        (opener.can_close or closer.can_open)
        and (opener.length + closer.length) % 3 == 0
        and (opener.length % 3 != 0 or closer.length % 3 != 0)
    )


def _unlink(runs: list[_Run], at: int) -> None:
    run = runs[at]
    if run.before >= 0:
        runs[run.before].after = run.after
    if run.after < len(runs):
        runs[run.after].before = run.before


def _written(texts: list[str], runs: list[_Run]) -> str:
    out: list[str] = []
    depth = 0
    dropped: set[int] = set()
    for text, run in zip(texts, runs, strict=True):
        out.append(text)
        for pair, tag in run.closes:
            if pair in dropped:
                out.append(_typed(tag, run.char))
            else:
                out.append(f"</{tag}>")
                depth -= 1
        out.append(run.char * run.left)
        for pair, tag in reversed(run.opens):
            if depth >= MAX_DEPTH:
                dropped.add(pair)
                out.append(_typed(tag, run.char))
            else:
                out.append(f"<{tag}>")
                depth += 1
    return "".join(out)


def _typed(tag: str, char: str) -> str:
    return char if tag == "em" else char * 2
