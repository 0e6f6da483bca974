"""Texts of webhooks for people and API clients, and why their attempts fail."""

URL_NOT_HTTPS = "url must start with https://."
URL_INVALID = "url must have a host, and no user name or fragment."
URL_NOT_OF_A_MATRIX_ROOM = (
    "url must be https://SERVER/_matrix/client/v3/rooms/ROOM_ID/send/m.room.message."
)


def secret_too_short(minimum: int) -> str:
    return f"secret must be at least {minimum} bytes."


SECRET_NOT_A_TOKEN = "secret must be ASCII letters, digits and signs, without spaces."
TOKEN_OF_ANOTHER_SERVER = (
    "Another server would get the current access token, so this needs a new one."
)
NO_EVENT_TYPE = 'Send at least one event type. ["*"] means all.'


def unknown_event_type(event_type: str) -> str:
    return f"Unknown event type: {event_type!r}."


SEND_NEW_SECRET = "Send the new secret to rotate it."
SET_ROTATE_SECRET = "Set rotate_secret=true to change the secret."
ALREADY_SUCCEEDED = "This delivery already succeeded."

# Pages
SIGNED_JSON = "Signed JSON"
TOKEN_NEEDED = "Enter the access token of the account that posts."
SELECT_AN_EVENT = "Select at least one event."
ALL_EVENTS = "All events"


def event_types(count: int) -> str:
    return f"{count} event types"


NO_DELIVERIES = "No deliveries yet"


def last_attempts(attempts: int, successes: int, missed: int) -> str:
    return f"Last {attempts} attempts: {successes} delivered, {missed} failed"


DELIVERED = "Delivered"
RETRYING = "Retrying"
FAILED = "Failed"
LAST_HOUR = "Last hour"
LAST_DAY = "Last 24 hours"
LAST_WEEK = "Last 7 days"
RETRIES_ONLY = "Retries only"
LAST_RETRY_ONLY = "Last retry only"
ANY_OUTCOME = "Any outcome"
ANY_TIME = "Any time"
ANY_ATTEMPT = "Any attempt"
ANY_EVENT = "Any event"


# Messages of chats
def test_of(app_name: str) -> str:
    return f"This is a test of {app_name}. Its messages arrive here."


OPEN = "Open"

# Why an attempt failed
INTERRUPTED = "interrupted: the server stopped during the attempt"
ADDRESS_NOT_ALLOWED = "address not allowed"
NO_ADDRESS_RESPONDED = "no address responded"
WEBHOOK_DISABLED = "webhook was disabled"
WEBHOOK_DELETED = "webhook was deleted"
HOST_UNRESOLVED = "the host name could not be resolved"
TLS_REJECTED = "TLS: the certificate or handshake was rejected"
CONNECT_TIMEOUT = "timeout while connecting"
RESPONSE_TIMEOUT = "timeout while waiting for the response"
CONNECTION_REFUSED = "connection refused"
CONNECTION_RESET = "connection reset"
CONNECTION_FAILED = "connection failed"
SECRET_OF_ANOTHER_KEY = "the secret belongs to another SECRET_KEY; rotate it"


def redirects(status: int) -> str:
    return f"HTTP {status}: redirects are not followed"


def http_status(status: int) -> str:
    return f"HTTP {status}"


ATTEMPT_TOO_LONG = "timeout: the attempt took too long"
INTERNAL_ERROR = "internal error"


# Commands
def webhooks_and_due(webhooks: int, noun: str, due: int) -> str:
    waiting = "delivery is" if due == 1 else "deliveries are"
    return f"{webhooks} {noun}; {due} {waiting} due."


NO_ATTEMPTS = "no attempts"


def delivered_of(successes: int, attempts: int) -> str:
    return f"{successes} of {attempts} delivered"


DELIVERING = "Delivering"


def attempts_made(attempts: str, failed: int) -> str:
    return f"{attempts} succeeded, {failed} failed."


SPECIFY_DELIVERIES = "Specify deliveries, or a webhook with --failed-of."


def failed_of(failed: int, attempts: int) -> str:
    return f"{failed} of {attempts} failed."


def delivery_refused(delivery_id: str, message: str) -> str:
    return f"{delivery_id}: {message}"


def delivery_ended(delivery_id: str, status: str, outcome: str) -> str:
    return f"{delivery_id}: {status} {outcome}"
