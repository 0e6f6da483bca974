"""Texts of a rewind: its input, its results, and why a value is kept."""

# What is asked for
START_NEEDED = "Enter a start."
NO_TIME = "Use a time such as 2026-11-25T13:00, or an age such as 4h."
SELECT_A_BOT = "Select a bot."
END_BEFORE_START = "The end must be later than the start."
SELECT_A_START = "Select a start."
UNTIL_BEFORE_SINCE = "until must be later than since."


def too_many_requests(limit: int) -> str:
    return f"Use at most {limit} requests."


NEITHER_BOT_NOR_OWN_IMPORT = "You can only rewind bots and your own imports."
NOT_UUIDS = "Use UUIDs, separated by commas."
LAST_HOUR = "Last hour"
LAST_4_HOURS = "Last 4 hours"
LAST_DAY = "Last 24 hours"
LAST_WEEK = "Last 7 days"
YOUR_IMPORT = "your import"

# Why a value stands
FILE_DELETED = "A deleted file cannot be restored."
FILE_SHOWN = "A text shows it."


def deleted(noun: str) -> str:
    return f"The {noun} was deleted."


BEFORE_NOT_RECORDED = "The previous value was not recorded."
TICKETS_HAVE_LABEL = "Tickets have this label."
LABEL_DELETED = "The label was deleted."
STATE_DELETED = "The previous state no longer exists."
OTHERS_RELATED = "Others added a relation to it."
TICKETS_BELOW = "It still has subtickets."
OTHERS_REACTED = "Others reacted to it."


def changed_by(who: str, at: str) -> str:
    return f"Changed by {who} on {at}."


def rewound_revision(number: int) -> str:
    return f"Rewound r{number}"


# What a rewind did with the values of each event type; follows their number.
ACTIONS = {
    "ticket.created": "tickets deleted",
    "ticket.deleted": "tickets restored",
    "ticket.restored": "tickets deleted",
    "comment.created": "comments deleted",
    "comment.deleted": "comments restored",
    "comment.restored": "comments deleted",
    "comment.updated": "comments reverted",
    "comment.reacted": "reactions reverted",
    "ticket.relation_added": "relations removed",
    "ticket.relation_removed": "relations added",
    "ticket.link_added": "links removed",
    "ticket.link_removed": "links added",
    "ticket.watcher_added": "watchers removed",
    "ticket.watcher_removed": "watchers added",
    "ticket.state_changed": "moves reverted",
    "wiki.created": "pages deleted",
    "wiki.deleted": "pages restored",
    "wiki.restored": "pages deleted",
    "wiki.updated": "pages reverted",
    "sticky_note.created": "notes deleted",
    "sticky_note.deleted": "notes restored",
    "sticky_note.converted": "conversions reverted",
    "label.created": "labels deleted",
    "file.added": "files deleted",
}
OTHER_ACTION = "fields reverted"

# Names of fields and values
EXISTENCE = "Existence"
RELATION = "Relation"
LINK = "Link"
WATCHER = "Watcher"
REACTION = "Reaction"
FILE = "File"
CONVERSION = "Conversion"
TICKET = "Ticket"
PAGE = "Page"
NOTE = "Note"
LABEL = "Label"
COMMENT = "Comment"


def of_comment(field: str) -> str:
    return f"Comment: {field}"


DOCKET = "Docket"
NO = "no"
YES = "yes"
EXISTS = "exists"
DOES_NOT_EXIST = "does not exist"
A_TEXT = "a text"


def label(name: str) -> str:
    return f"Label {name}".rstrip()
