"""Texts of tickets, comments, boards and lists, for people and API clients."""


# Tickets
def ticket_not_deleted(display_id: str) -> str:
    return f"{display_id} is not deleted."


TICKET_NOT_FOUND = "Ticket not found."


def no_such(target: str) -> str:
    return f"There is no {target}."


def too_many(limit: int, field: str) -> str:
    return f"Use at most {limit} {field}."


def at_place(place: str, message: str) -> str:
    return f"{place}: {message}"


LABELS_ALL_OR_CHANGES = "Send label_ids, or add_label_ids and remove_label_ids."
ASSIGNED_TO_A_BOT = (
    "This ticket is assigned to a bot. Send expected_assignee_user_id to take it over."
)
OTHER_ASSIGNEE = "The ticket has a different assignee than expected. See details.assignee."
ONE_OF_RANK_AFTER_AND_BEFORE = "Send rank_after or rank_before, not both."
NEIGHBOR_OF_OTHER_PROJECT = "Use a ticket in the same project."
BESIDE_ITSELF = "A ticket cannot be placed next to itself."


def no_state_of(category: str) -> str:
    return f"This project has no {category} state."


STATE_DELETED = "This state was deleted. Select another one."
PRIORITY_NOT_FOUND = "Priority not found."
DATE_NOT_UNDERSTOOD = "Use a date such as fri, in 2 weeks or 2026-12-01."
NOT_IN_LOG = "The audit log has no record of the ticket at this time."

# Parents, relations and links
SUBTASK_NEEDS_STORY = "A subtask needs a story as its parent."
EPIC_WITHOUT_PARENT = "An epic cannot have a parent."
PARENT_OF_OTHER_PROJECT = "The parent must be a ticket in the same project."


def parent_must_be(kind: str, parent_type: str) -> str:
    return f"The parent of a {kind} must be a {parent_type}."


SUBTASK_WITHOUT_CHILDREN = "A subtask cannot have children."
SUBTASK_STAYS = "A subtask stays with its story. Move the story instead."
RELATED_TO_ITSELF = "A ticket cannot be related to itself."
RELATION_EXISTS = "This relation already exists."
BLOCK_EACH_OTHER = "These tickets would block each other."
LINK_NOT_HTTPS = "The address must start with https://."
LINK_INVALID = "The address must have a host, no user name, and no spaces or hidden characters."


def too_many_links(limit: int) -> str:
    return f"Use at most {limit} links."


def ticket_full_of_links(limit: int) -> str:
    return f"A ticket can have at most {limit} links. Remove one first."


# Comments
NEVER_HAD_THIS_TEXT = "The comment never had this text."
COMMENT_NOT_DELETED = "This comment is not deleted."

# Changes of many tickets
MERGE_INTO_ANOTHER = "Select a different label to merge into."


def too_many_to_relabel(limit: int, label: str) -> str:
    return (
        f"More than {limit} tickets have {label}, too many to undo at once. Change some of them "
        "in the list first."
    )


MOVE_TO_ANOTHER = "Select a different state to move tickets to."


def too_many_to_move(limit: int, state: str) -> str:
    return (
        f"More than {limit} tickets are in {state}, too many to undo at once. Move some of them "
        "in the list first."
    )


NO_CHANGE = "No change."


# Views, templates and lists
VIEW_TOO_LONG = "This view has too many filters."


def too_many_views(limit: int) -> str:
    return f"Save up to {limit} views. Delete one first."


VIEW_OF_ALL_NOT_SHARED = "A view of all projects cannot be shared."


def too_many_templates(limit: int) -> str:
    return f"A project can have at most {limit} templates."


CURSOR_OF_ANOTHER_LIST = "The cursor is from another list."

# Names of fields
TITLE = "Title"
DESCRIPTION = "Description"
STATE = "State"
ASSIGNEE = "Assignee"
PRIORITY = "Priority"
LABELS = "Labels"
DUE_DATE = "Due date"
PARENT = "Parent"
POSITION = "Position"
REPORTER = "Reporter"
PROJECT = "Project"
LABEL = "Label"
TYPE = "Type"
DUE = "Due"
NOT_UPDATED_FOR = "Not updated for"
READY = "Ready"
BLOCKED = "Blocked"
STALLED_BOTS = "Stalled bots"
TEMPLATE = "Template"

# Their values
VALUE_OF_NOBODY = "nobody"
NO_VALUE = "none"
NOBODY = "Nobody"
NO_LABEL = "No label"
NO_EPIC = "No epic"
NO_DUE_DATE = "No due date"
OVERDUE = "Overdue"
TODAY = "Today"
THIS_WEEK = "This week"
NEXT_WEEK = "Next week"


def days(count: str) -> str:
    return f"{count} days"


def day_and_date(weekday: str, date: str) -> str:
    return f"{weekday}, {date}"


def titled(display_id: str, title: str) -> str:
    return f"{display_id} {title}"


# Orders
NEWEST = "Newest"
OLDEST = "Oldest"
RECENTLY_UPDATED = "Recently updated"
LEAST_RECENTLY_UPDATED = "Least recently updated"
RECENTLY_ACTIVE = "Recently active"
LEAST_RECENTLY_ACTIVE = "Least recently active"
MANUAL_ORDER = "Manual order"
MANUAL_ORDER_REVERSED = "Manual order, reversed"
PRIORITY_LOW_FIRST = "Priority, low first"
LATEST_DUE_FIRST = "Due date, latest first"
STATE_LAST_FIRST = "State, last first"
ASSIGNEE_Z_TO_A = "Assignee, Z to A"
NUMBER = "Number"
NUMBER_HIGHEST_FIRST = "Number, highest first"
TITLE_Z_TO_A = "Title, Z to A"
PARENT_REVERSED = "Parent, reversed"
