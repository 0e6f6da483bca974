"""Parameters that several tools share, described once."""

from app.mcp.parameters import body, text, texts

TICKET = text("ticket", "Ticket: display id (OPS-12) or UUID.", required=True, also="ticket_id")
PROJECT = text("project", "Project: key (OPS) or UUID.", also="project_id")
ASSIGNEE = text(
    "assignee",
    "Username, UUID or me; none for nobody.",
    also="assignee_user_id",
    clearable=True,
)
EXPECTED_ASSIGNEE = text(
    "expected_assignee",
    "Refuse unless the ticket is assigned so at this moment: username, UUID, me or none. "
    "To claim work: assignee me, expected_assignee none.",
    also="expected_assignee_user_id",
    clearable=True,
)
STATE = text("state", "State: name (In progress) or UUID.", also="state_id")
LABELS = texts(
    "labels", "All labels it shall have: names or UUIDs.", also="label_ids", clearable=True
)
PARENT = text(
    "parent",
    "Parent ticket: an epic for a story, a story for a subtask.",
    also="parent_ticket_id",
    clearable=True,
)
DUE_DATE_TEXT = "Date such as 2026-11-20."
COMMENT = text("comment", "The comment's UUID.", required=True, also="comment_id")
NOTE = text("sticky_note", "The note's UUID.", required=True, also="sticky_note_id")
PAGE_NAME = text("page", "Page: slug or UUID.", required=True, also="page_id")
SCOPE = text(
    "project",
    "Project key or UUID, where several projects have a page of this slug.",
    also="project_id",
)
APPEND = body("append", "Text to add at the end, instead of body.")
COLOR = text("color", "Such as #fde68a.", clearable=True)
