"""What tools say to bots, apart from their descriptions and prompts."""


# Arguments
def unknown_with_choice(kind: str, reference: str, listed: str) -> str:
    return f"Unknown {kind}: {reference!r}. Valid: {listed}."


def not_a_ticket_of(named: str, key: str) -> str:
    return f"{named} is not a ticket in {key}."


def wait_out_of_range(max_seconds: int) -> str:
    return f"wait must be 0 to {max_seconds}."


def ticket_not_found(reference: str) -> str:
    return f"Ticket {reference!r} not found."


ONE_OF_BODY_APPEND_EDITS = "Use only one of body, append and edits."


def find_occurs(number: int, count: int) -> str:
    return f"The find of edit {number} occurs {count} times; it must occur exactly once."


CREATE_TICKET_INSTEAD = "create_ticket (a type cannot change)"
ONLY_WITH_NEXT = "it only with ticket next"
ONCE_YOU_HAVE_THE_TICKET = "a separate call once you have the ticket"
HISTORY_INSTEAD = "history: true"
RESTORE_WITHOUT_IT = "restore without it"
UNDO_IN_A_CALL_OF_ITS_OWN = "a separate call: undo takes no other arguments"


# Answers
def neither_image_nor_text(file_id: str) -> str:
    return f"This file is not an image or short text. Download it: GET /api/v1/files/{file_id}"


CONTENT_IS_MISSING = "The content of this file is missing."
NOTHING_READY = "Nothing is ready. Ask again later, or look at what is blocked."


def more_than_counted(counted: int) -> str:
    return f"Only the newest {counted:,} were counted. Narrow the filters."


def changed_since(names: str) -> str:
    return f"Nothing was undone. These have changed since: {names}. See details.fields."


def slug_differs(taken: str, slug: str) -> str:
    return f"Another page has the slug {taken}, so the slug of this one is {slug}."


# A ticket as Markdown
MORE_COMMENTS = "There are more comments: list_comments."
CREATED = "Created"
UPDATED = "Updated"
LAST_ACTIVITY = "Last activity"
