"""Messages of errors that do not belong to one domain."""

# Who asks
LOG_IN = "Log in or send an API key."
CREDENTIALS_INVALID = "The credentials are not valid."
TWO_CREDENTIALS = "Send either a session cookie or an X-API-Key header, not both."
FORBIDDEN = "You do not have permission to do this."
READ_ONLY_BOT = "This bot has read-only access."
ALL_BOTS_PAUSED = "All bots are paused. They can only read until a person resumes them."
BOT_PAUSED = "This bot is paused. It can only read until a person resumes it."
TOO_MANY_ATTEMPTS = "Too many attempts. Try again later."

# Why it is forbidden, by the reason that clients see.
FORBIDDEN_BY_REASON = {
    "humans_only": "Only people can do this.",
    "project_not_in_allowlist": "This project is not in the bot's allowlist.",
    "bots_have_no_personal_notes": "Bots cannot have personal notes.",
    "bot_cannot_edit_global_wiki": "This bot cannot edit global wiki pages.",
    "cross_site_request": "The request came from another site.",
    "missing_requested_by": "Send the header X-Requested-By: web.",
    "not_author": "Only the author can change this comment.",
    "not_own_change": "A bot can only undo its own changes.",
    "not_own_deletion": "A bot can only restore what it deleted. A person can restore this.",
    "not_uploader": "A bot can only delete files that it added.",
    "sign_off_required": (
        "Only people can move tickets to a done state in this project. Move it to the state in "
        "details.review_state, if there is one, and a person signs it off."
    ),
    "bot_inactive": "The bot of this integration is deactivated. A person can activate it again.",
    "password_login_off": "Logging in with a password is turned off. Use single sign-on.",
    "passkeys_unavailable": (
        "Passkeys do not work at this address. BASE_URL must be an https address with a name."
    ),
    "setup_code_required": "Send the setup code that the server printed when it started.",
}

# Passwords
CURRENT_PASSWORD_INCORRECT = "The current password is incorrect."
PASSWORD_TOO_SHORT = "The password must be at least 12 characters long."
PASSWORD_TOO_COMMON = (
    "This password is too easy to guess. It is a common password, or contains the username or "
    "the name of this service."
)
PASSWORD_UNCHANGED = "The new password must be different from the current one."

# What was asked for
REQUEST_INVALID = "The request is invalid."


def field_invalid(field: str, reason: str) -> str:
    return f"{field} is invalid: {reason}."


def not_found(resource: str) -> str:
    return f"{resource} not found."


def gone(resource: str) -> str:
    return f"This {resource} was deleted."


CHANGED_SINCE_READ = "This has changed since you read it. Read it again."
BODY_TOO_LARGE = "The request body is too large."
URL_TOO_LONG = "The URL is too long."
HEADERS_TOO_LONG = "The headers are too long."
NOT_HTTP = "This is not a valid HTTP request."
HOST_NOT_ALLOWED = "This host name is not allowed. Add it to BASE_URL or ALLOWED_HOSTS."
WENT_WRONG = "Something went wrong on our side."
FILE_NOT_STORED = "The file cannot be stored. The disk may be full."
BODY_TIMED_OUT = "Timed out waiting for the request body."
METHOD_NOT_ALLOWED = "This method is not allowed."
UNAVAILABLE = "The service is temporarily unavailable. Try again shortly."


def send_content_type(content_type: str) -> str:
    return f"Send Content-Type: {content_type}."


# JSON and texts
NOT_UTF8 = "The body is not UTF-8."
NOT_JSON = "The body is not valid JSON."
NUMBER_OUT_OF_RANGE = "A number is out of range."


def no_valid_json(name: str) -> str:
    return f"{name} is not valid JSON."


DUPLICATE_KEY = "An object has a duplicate key."
NESTED_TOO_DEEPLY = "The JSON is nested too deeply."
LONE_SURROGATE = "A string contains a lone surrogate."


def too_long(field: str, max_length: int) -> str:
    return f"{field} must be at most {max_length} characters."


def blank(field: str) -> str:
    return f"{field} must not be blank."


def not_a_color(field: str) -> str:
    return f"{field} must be a color such as #64748b."


# Values that are not of their type
NOT_A_STRING = "This must be a string."
NOT_AN_INTEGER = "This must be an integer."
NOT_A_BOOLEAN = "This must be true or false."
NOT_AN_ARRAY = "This must be an array."
NOT_AN_OBJECT = "This must be an object."
NOT_A_DATE = "This must be a date such as 2026-11-20."
NOT_A_TIME = "This must be a time such as 2026-11-20T19:23:58Z."


def not_one_of(words: str) -> str:
    return f"This must be one of: {words}."
