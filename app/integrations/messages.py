"""Messages of integrations to people, code hosts and API clients."""

NOT_JSON = "The body is not valid JSON."
NOT_AN_OBJECT = "The body must be a JSON object."
SELECT_A_PROJECT = "Select at least one project."


def too_many(limit: int) -> str:
    return f"There can be at most {limit} integrations. Delete one first."


def secret_too_short(minimum: int) -> str:
    return f"secret must be at least {minimum} bytes."


SECRET_NOT_PRINTABLE = (
    "secret cannot begin or end with a space or contain control characters. Remove them."
)
USE_ANOTHER_NAME = "Use another name."
PROJECT_TWICE = "on_merge can name each project of the integration once."
OTHER_PROJECT = "on_merge names a project that the integration does not have."
UNKNOWN_STATE = "on_merge contains an unknown state."

# What a delivery did
RECEIVED_BEFORE = "Received before"
NOTHING_TO_DO = "Nothing to do"

WITHOUT_HTTPS = "without an https address"
MOVED = "moved"
NOT_MOVED = "not moved"
ALREADY_DONE = "already done"

# Commands
NO_DELIVERIES = "no deliveries"


def listed(count: int, noun: str) -> str:
    return f"{count} {noun}."
