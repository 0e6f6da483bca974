"""Texts of notes for people and API clients."""

ALREADY_CONVERTED = "This note was already converted to a ticket."
BELONGS_TO_A_PROJECT = "This note belongs to a project."
PROJECT_REQUIRED = "project_id is required for a personal note."
PROJECT_NOT_FOUND = "Project not found."


def ticket_not_found(display_id: str) -> str:
    return f"Ticket {display_id} not found."


# Pages
def ticket_created(display_id: str) -> str:
    return f"{display_id} created"


NOTE_DELETED = "Note deleted"
OPEN = "Open"
NOBODY = "Nobody"
YELLOW = "Yellow"
ORANGE = "Orange"
PINK = "Pink"
VIOLET = "Violet"
BLUE = "Blue"
TEAL = "Teal"
GREEN = "Green"
GREY = "Grey"
NO_COLOR = "No color"
OTHER_COLOR = "Other color"
