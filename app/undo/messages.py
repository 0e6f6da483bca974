"""Why something cannot be undone, and the texts of undoing."""

# Why something cannot be undone
VIEW_IS_PRIVATE = "Its owner keeps this view private."
TICKETS_NOT_RECORDED = "The tickets with this label were not recorded."
ORDER_NOT_RECORDED = "The previous order was not recorded."
KIND_CANNOT_BE_UNDONE = "This kind of event cannot be undone."
NOTE_NOT_RECORDED = "The text of personal notes is not recorded, so this cannot be undone."
CONVERT_AGAIN = "This undid a conversion. Convert the note again instead."
COMMENT_DELETED = "The comment was deleted."


def page_deleted(slug: str) -> str:
    return f"The page {slug} was deleted."


REVISION_NOT_FOUND = "The previous revision was not found."


def ticket_deleted(display_id: str) -> str:
    return f"{display_id} was deleted."


CANNOT_BE_UNDONE = "This cannot be undone."
STATE_DELETED = "The previous state no longer exists."

# Pages
NOTHING_TO_UNDO = "Nothing left to undo."
CHANGED_SINCE = "Someone has changed this since."
UNDONE = "Undone"
BADGE = "undone"
NOTHING_LEFT = "Nothing left to undo"


def could_not_undo(message: str) -> str:
    return f"Could not undo. {message}"


def undid_revision(number: int) -> str:
    return f"Undid r{number}"


# Names of fields
TEXT = "Text"
NAME = "Name"
DESCRIPTION = "Description"
OWNER = "Owner"
SIGN_OFF = "Sign-off"
REVIEW_STATE = "Review state"
LIMIT_FOR_BOTS = "Limit for bots"
TYPE = "Type"
LIMIT = "Limit"
COLOR = "Color"
CATEGORY = "Category"
TICKETS = "Tickets"
ORDER = "Order"
FILTERS = "Filters"
