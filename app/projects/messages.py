"""Texts of projects, their states and their labels, for people and API clients."""


def too_many_projects(limit: int) -> str:
    return f"project_ids can have at most {limit} entries."


UNKNOWN_PROJECT = "project_ids contains an unknown project."
KEY_INVALID = "key must be 2 to 10 characters: A-Z and 0-9, starting with a letter."


def key_taken(key: str) -> str:
    return f"The key {key} is already taken."


def creation_limit_invalid(highest: int) -> str:
    return f"The limit must be a number from 0 to {highest}."


# Labels and states
def too_many_labels(limit: int) -> str:
    return f"Use at most {limit} labels."


def not_labels_of_project(field: str) -> str:
    return f"{field} must be labels of this project."


def already_exists(noun: str, name: str) -> str:
    return f"A {noun} named {name} already exists."


def not_a_state_of_project(field: str) -> str:
    return f"{field} must be a state of this project."


REVIEW_STATE_NOT_DONE = "The review state cannot be of category done."


def is_review_state(state: str) -> str:
    return f"{state} is the review state. Select another one in the settings first."


def limit_invalid(highest: int) -> str:
    return f"A limit must be a number from 1 to {highest}."


def state_in_use(tickets: int) -> str:
    return f"This state still has tickets: {tickets}."


LAST_STATE = "A project must have at least one state."
STATE_IDS_INCOMPLETE = "state_ids must contain each state of the project once."


# Pages
def type_to_delete(key: str) -> str:
    return f"Type {key} to delete this project."


NONE = "None"
ALL_PROJECTS = "All projects"
SELECT = "Select…"
STATE_MOVED = "State moved"
STATE_DELETED = "State deleted"
LABEL_DELETED = "Label deleted"


def label_deleted_from_many(limit: int) -> str:
    return f"Label deleted. More than {limit} tickets had it, too many to undo."


# Commands
def no_active_person(username: str) -> str:
    return f"No active person named {username}."


NO_ACTIVE_USER = "No active user found. Run 'flask setup-admin' first."
SEVERAL_PEOPLE = "There are several people. Specify one with --as USERNAME."


def bot_not_found(name: str) -> str:
    return f"Bot {name} not found."


def project_not_found(key: str) -> str:
    return f"Project {key} not found."


# A project that starts with states and a description
BACKLOG = "Backlog"
TO_DO = "To do"
IN_PROGRESS = "In progress"
IN_REVIEW = "In review"
DONE = "Done"
