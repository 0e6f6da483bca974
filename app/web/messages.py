"""Texts of error pages, times in words, and startup errors."""

# Error pages
GO_TO_MY_WORK = "Go to My work"
GO_BACK = "Go back to the page"
NO_PERMISSION = "You do not have permission"
PAGE_NOT_FOUND = "Page not found"
LINK_MAY_BE_WRONG = "The link may be wrong, or the page may have been moved or deleted."
NOT_SUPPORTED = "Not supported"
KIND_NOT_SUPPORTED = "This page does not support that kind of request."
HAS_CHANGED = "This has changed"
WAS_DELETED = "This was deleted"
TOO_LARGE = "This is too large"
SHORTEN_OR_SPLIT = (
    "Shorten your text and try again. To import a large file, split it into parts, or ask an "
    "administrator to run flask import-issues."
)
UNKNOWN_HOST = "Unknown host name"
HOST_NOT_RECOGNIZED = (
    "This server does not recognize the host name in your address bar. An administrator can add "
    "it to BASE_URL or ALLOWED_HOSTS."
)
CHECK_YOUR_INPUT = "Check your input"
TOO_MANY_ATTEMPTS = "Too many attempts"
GO_TO_LOGIN = "Go to login"
WENT_WRONG = "Something went wrong"
ERROR_LOGGED = "The error was logged. Try again in a moment."
BACK_IN_A_MOMENT = "Back in a moment"
DATABASE_NOT_RESPONDING = (
    "The database is not responding. Your saved work is safe. Try again shortly."
)
LOGGED_OUT = "You were logged out."
LOG_IN = "Log in"


# Forms
THIS = "This"
# Labels of fields that are not their names.
LABELS = {"wip_limit": "Limit"}
ON = "On"
OFF = "Off"


def changed_to(what: str, value: str) -> str:
    change = f"changed to “{value}”" if value else "emptied"
    return f"{what} was {change} after you opened the form. Save again to replace it."


# Times
def wait(minutes: int) -> str:
    return f"Wait {minutes} {'minute' if minutes == 1 else 'minutes'} and try again."


JUST_NOW = "just now"


def minutes_ago(count: int) -> str:
    return f"{count} min ago"


def hours_ago(count: int) -> str:
    return f"{count} h ago"


def days_ago(count: int) -> str:
    return "yesterday" if count == 1 else f"{count} days ago"


# What is missing at the start
def htmx_missing(file: str, package: str) -> str:
    return f"htmx is not installed: {file} of {package} is missing."


def no_assets(folder: str) -> str:
    return f"There are no style sheets or scripts in {folder}."
