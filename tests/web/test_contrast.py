"""Contrast of the tokens, computed from the style sheet (WCAG 2.2, 1.4.3 and 1.4.11)."""

import re
from collections.abc import Iterator

import pytest

from app.help.samples import TOKENS, tokens
from app.web.assets import STATIC

TEXT = 4.5
# Large text, marks, edges of controls, and the focus ring.
MARK = 3.0
SIDES = {"light": 0, "dark": 1}
SURFACES = ("--ground", "--sunken", "--surface", "--raised", "--hover")
# Colors of text on any surface.
INKS = ("--ink", "--ink-soft", "--ink-faint", "--accent", "--accent-strong", "--danger", "--warn")
# Colors of text on a background of its own.
ON_FILL = (
    ("--accent-ink", "--accent"),
    ("--accent-ink", "--accent-strong"),
    ("--ink", "--accent-soft"),
    ("--ink-faint", "--accent-soft"),
    ("--accent-strong", "--accent-soft"),
    ("--danger", "--danger-soft"),
    ("--ink", "--danger-soft"),
    ("--warn", "--warn-soft"),
    ("--ink", "--warn-soft"),
    ("--good", "--good-soft"),
    ("--good", "--surface"),
    ("--ink", "--good-soft"),
    ("--ink", "--mark"),
    ("--ink", "--added"),
    ("--ink", "--removed"),
    ("--message-ink", "--message"),
    ("--message-ink", "--message-strong"),
    ("--on-fill", "--danger-fill"),
    ("--on-fill", "--danger-fill-strong"),
    *((f"--code-{kind}", "--sunken") for kind in ("word", "text", "name", "number", "note")),
)
MARKS = (
    "--focus",
    "--edge",
    "--state-backlog",
    "--state-active",
    "--state-done",
    "--epic",
    "--story",
    "--subtask",
)
WHITE = (255, 255, 255)


def colors() -> dict[str, tuple[str, str]]:
    """The plain colors of the sheet by name: light and dark."""
    found = {}
    for one in tokens():
        sides = re.fullmatch(r"light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)", one.value)
        if sides:
            found[one.name] = sides.groups()
    return found


def rgb(color: str) -> tuple[int, ...]:
    return tuple(int(color[at : at + 2], 16) for at in (1, 3, 5))


def luminance(color: tuple[int, ...]) -> float:
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in (value / 255 for value in color)
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: tuple[int, ...], other: tuple[int, ...]) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def pairs() -> Iterator[tuple[str, str, float]]:
    """Yield foreground, background, and the contrast that they need."""
    yield from ((ink, surface, TEXT) for ink in INKS for surface in SURFACES)
    yield from ((ink, fill, TEXT) for ink, fill in ON_FILL)
    # A hovered row is under the pointer: its marks are those of the row at rest.
    yield from ((mark, surface, MARK) for mark in MARKS for surface in SURFACES)
    yield from (("--focus", fill, MARK) for fill in ("--accent-soft", "--danger-soft"))


@pytest.mark.parametrize("theme", SIDES)
def test_text_and_marks_stand_out(theme):
    known, side = colors(), SIDES[theme]
    weak = []
    for front, back, needed in pairs():
        reached = contrast(rgb(known[front][side]), rgb(known[back][side]))
        if reached < needed:
            weak.append(f"{front} on {back}: {reached:.2f} of {needed}")
    assert weak == []


def test_initials_stand_out_on_every_tone():
    tones = re.findall(
        r"--tone: (#\w{6})", (STATIC / "css" / "components" / "marks.css").read_text()
    )
    assert len(tones) == 8
    assert [one for one in tones if contrast(WHITE, rgb(one)) < TEXT] == []


def test_every_color_is_a_token_that_is_judged():
    known = colors()
    judged = {name for front, back, _ in pairs() for name in (front, back)}
    # Colors that only separate, or that accompany what has the meaning.
    assert known.keys() - judged == {"--line", "--line-soft", "--line-strong", "--priority-off"}
    # Other sheets name no colors, except the tones of avatars and fallbacks of ``--c``.
    sheets = [path for path in (STATIC / "css").rglob("*.css") if path != TOKENS]
    raw = [
        f"{path.name}: {line.strip()}"
        for path in sorted(sheets)
        for line in path.read_text().splitlines()
        if re.search(r"#[0-9a-f]{3,6}\b|light-dark\(", line)
        and not re.search(r"--tone|var\(--c,", line)
    ]
    assert raw == []


def test_the_arithmetic_is_that_of_the_standard():
    assert contrast(WHITE, (0, 0, 0)) == pytest.approx(21)
    assert contrast(WHITE, rgb("#767676")) == pytest.approx(4.54, abs=0.01)
