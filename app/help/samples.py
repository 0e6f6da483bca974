"""The tokens and sample data that the page of the design system shows."""

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
    """A custom property of the style sheet; a color has a light and a dark value."""

    name: str
    value: str

    @property
    def is_color(self) -> bool:
        return self.value.startswith("light-dark(")


def tokens() -> list[Token]:
    """Every token, in the order of the style sheet."""
    properties = _TOKEN.findall(TOKENS.read_text())
    return [Token(name, " ".join(value.split())) for name, value in properties]


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
    defaults = {
        "id": f"00000000-0000-7000-8000-{number:012d}",
        "display_id": f"DEMO-{number}",
        "title": "A plain card",
        "type": "story",
        "priority": "medium",
        "sort_key": "",
        "place": "",
        "swimlane": "",
        "version": "",
        "labels": [],
    }
    return defaults | fields


def _cards() -> list[dict[str, Any]]:
    now = now_ms()
    return [
        _card(1),
        _card(
            2,
            title="A card with every field and a title that needs more than one line",
            priority="urgent",
            labels=[*LABELS, {"name": "ui", "color": "#1a7340"}],
            assignee=PEOPLE[0],
            due_date="2020-02-01",
            overdue=True,
            children=5,
            children_done=3,
            blockers=1,
            epic="The parent epic",
            comments=2,
        ),
        _card(
            3,
            title="A bot is working on this",
            type="subtask",
            priority="low",
            assignee=PEOPLE[2],
            stalled_since=now - HOUR_MS,
            touched_by=PEOPLE[2],
            touched_at=now - HOUR_MS // 4,
        ),
        _card(4, title="One of several selected cards", type="epic", priority="high"),
    ]


def everything() -> dict[str, Any]:
    every = tokens()
    form = Form()
    form.errors = {"": "A problem with the whole form.", "wrong": "Say how to fix it."}
    return {
        "colors": [token for token in every if token.is_color],
        "measures": [
            token for token in every if not token.is_color and not token.name.startswith("--sh")
        ],
        "icons": _SYMBOL.findall((STATIC / "icons.svg").read_text()),
        "people": PEOPLE,
        "labels": LABELS,
        "cards": _cards(),
        "form": form,
        "now": now_ms(),
        "long_ago": now_ms() - 40 * DAY_MS,
    }
