"""What the page of the design system shows: the tokens of the style sheet, and made-up things."""

import re
from dataclasses import dataclass
from typing import Any

from app.core.clock import DAY_MS, HOUR_MS, now_ms
from app.web.assets import STATIC
from app.web.forms import Form

TOKENS = STATIC / "css" / "tokens" / "default.css"
_SYMBOL = re.compile(r'<symbol id="([\w-]+)"')
_TOKEN = re.compile(r"^\s+(--[\w-]+): ([^;]+);", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Token:
    """A custom property of the style sheet."""

    name: str
    value: str

    @property
    def is_color(self) -> bool:
        """Whether it is a colour, in light and dark."""
        return self.value.startswith("light-dark(")


def tokens() -> list[Token]:
    """Every token in the order of the sheet."""
    found = _TOKEN.findall(TOKENS.read_text())
    return [Token(name, " ".join(value.split())) for name, value in found]


def icons() -> list[str]:
    """The names of the icons."""
    return _SYMBOL.findall((STATIC / "icons.svg").read_text())


def _user(number: int, name: str, kind: str = "human") -> dict[str, str]:
    return {
        "id": f"00000000-0000-7000-8000-{number:012d}",
        "type": kind,
        "username": name.lower().replace(" ", "-"),
        "display_name": name,
    }


PEOPLE = [_user(1, "Ada Berg"), _user(2, "Bo Lind"), _user(3, "Bot triage", "bot")]
LABELS = [
    {"name": "bug", "color": "#d1242f"},
    {"name": "docs", "color": "#0969da"},
    {"name": "a label with a rather long name", "color": "#7a4bbf"},
]


def _card(number: int, **fields: Any) -> dict[str, Any]:
    plain = {
        "id": f"00000000-0000-7000-8000-{number:012d}",
        "display_id": f"DEMO-{number}",
        "title": "A plain card",
        "type": "story",
        "priority": "medium",
        "sort_key": "",
        "place": "",
        "lane": "",
        "version": "",
        "labels": [],
    }
    return plain | fields


def cards() -> list[dict[str, Any]]:
    """Cards of the board: plain, with all there is, and touched by a bot."""
    now = now_ms()
    return [
        _card(1),
        _card(
            2,
            title="A card that has all there is, and a title of more than one line",
            priority="urgent",
            labels=[*LABELS, {"name": "ui", "color": "#1a7340"}],
            assignee=PEOPLE[0],
            due_date="2020-02-01",
            overdue=True,
            children=5,
            children_done=3,
            blockers=1,
            epic="The epic above",
            comments=2,
        ),
        _card(
            3,
            title="A bot works on it",
            type="subtask",
            priority="low",
            assignee=PEOPLE[2],
            quiet_since=now - HOUR_MS,
            touched_by=PEOPLE[2],
            touched_at=now - HOUR_MS // 4,
        ),
        _card(4, title="One of several that are chosen", type="epic", priority="high"),
    ]


def everything() -> dict[str, Any]:
    """All that the page shows."""
    every = tokens()
    wrong = Form()
    wrong.errors = {"": "What is wrong with the form as a whole.", "wrong": "Say what to do."}
    return {
        "colors": [one for one in every if one.is_color],
        "measures": [one for one in every if not one.is_color and not one.name.startswith("--sh")],
        "icons": icons(),
        "people": PEOPLE,
        "labels": LABELS,
        "cards": cards(),
        "form": wrong,
        "now": now_ms(),
        "long_ago": now_ms() - 40 * DAY_MS,
    }
