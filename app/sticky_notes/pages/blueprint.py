"""The blueprint of these pages, and how they show a note."""

from typing import Any

from flask import Blueprint

from app.markdown import Profile, nowhere, render

pages = Blueprint("sticky_notes_pages", __name__)

# The colours that people choose from; a bot may have given any other.
COLORS = (
    ("#facc15", "Yellow"),
    ("#fb923c", "Orange"),
    ("#f472b6", "Pink"),
    ("#a78bfa", "Violet"),
    ("#60a5fa", "Blue"),
    ("#2dd4bf", "Teal"),
    ("#4ade80", "Green"),
    ("#94a3b8", "Grey"),
)
# A longer note scrolls by itself.
LONG_LINES = 14
LONG_TEXT = 500


def wall_of(project: Any) -> str:
    """The address of a wall: a project's, or one's own."""
    return f"/projects/{project.key}/sticky-notes" if project else "/sticky-notes"


def shown(note: dict[str, Any]) -> dict[str, Any]:
    """A note with its text laid out."""
    body = note["body"]
    return {
        **note,
        "html": render(body, Profile.RESTRICTED, nowhere).html,
        "is_long": len(body) > LONG_TEXT or body.count("\n") >= LONG_LINES,
        "color_name": color_name(note["color"]),
    }


def color_name(color: str | None) -> str:
    """What a colour is called."""
    if color is None:
        return "No colour"
    return dict(COLORS).get(color.lower(), "Other colour")


def choices(current: str | None) -> list[tuple[str, str]]:
    """The colours to choose from, the note's own among them."""
    offered = [("", "No colour"), *COLORS]
    if current and current.lower() not in dict(COLORS):
        offered.append((current, "Other colour"))
    return offered


def coloured(notes: list[dict[str, Any]]) -> list[dict[str, str]]:
    """The colours that a wall needs, for its colour sheet."""
    used = [{"color": color} for color, _ in COLORS]
    return used + [{"color": note["color"]} for note in notes if note["color"]]
