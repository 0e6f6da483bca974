"""The rules of a webhook's address, its secret and its event types."""

import re
from collections.abc import Iterable, Sequence
from unicodedata import normalize
from urllib.parse import urlsplit

from urllib3.util import parse_url

from app.audit.event_types import EVENTS
from app.core import text
from app.core.errors import InvalidField
from app.webhooks import messages
from app.webhooks.chats import is_room
from app.webhooks.models import WebhookForm

URL_LENGTH = 2048
MIN_SECRET_BYTES = 16
MAX_SECRET_LENGTH = 1024
ALL = "*"
# Events of deliveries are not delivered: each would cause the next.
NEVER_FORWARDED = "webhook.delivery_"

_UNPRINTABLE = re.compile(r"[\x00-\x20\x7f-\xa0\u2028\u2029\\]")
_VISIBLE_ASCII = re.compile(r"[!-~]+")


def url(value: str, form: WebhookForm) -> str:
    """An https address with a host and without user or fragment; raises InvalidField.

    For Matrix, it is the address to which messages of a room are sent.
    """
    text.checked(value, "url", URL_LENGTH)
    if not value.startswith("https://"):
        raise InvalidField("url", "not_https", messages.URL_NOT_HTTPS)
    try:
        split = urlsplit(value)
        host = split.hostname or ""
        # Circled digits and the like would become other characters before the name is resolved.
        is_valid = bool(host) and split.port != 0 and normalize("NFKC", host) == host
        _ = host.encode("idna")
        # Deliveries parse it with urllib3, which accepts less after the bracket of an IPv6 address.
        _ = parse_url(value)
    except (ValueError, UnicodeError):
        is_valid = False
    if not is_valid or split.username is not None or split.fragment or _UNPRINTABLE.search(value):
        raise InvalidField("url", "pattern", messages.URL_INVALID)
    if form is WebhookForm.MATRIX and (split.query or not is_room(split.path)):
        raise InvalidField("url", "pattern", messages.URL_NOT_OF_A_MATRIX_ROOM)
    return value


def recorded_url(value: str, form: WebhookForm) -> str:
    """The address as events show it; a chat's address is secret after its host."""
    return value if form is WebhookForm.JSON else f"https://{urlsplit(value).netloc}/…"


def secret(value: str, form: WebhookForm) -> str:
    """A key of at least 16 bytes; raises InvalidField.

    For Matrix, it is an access token, which a header carries.
    """
    text.checked(value, "secret", MAX_SECRET_LENGTH)
    if len(value.encode()) < MIN_SECRET_BYTES:
        raise InvalidField("secret", "too_short", messages.secret_too_short(MIN_SECRET_BYTES))
    if form is WebhookForm.MATRIX and not _VISIBLE_ASCII.fullmatch(value):
        raise InvalidField("secret", "pattern", messages.SECRET_NOT_A_TOKEN)
    return value


def is_same_server(one: str, other: str) -> bool:
    """Whether two valid addresses have the same host and port."""
    ends = {(split.hostname, split.port or 443) for split in map(urlsplit, (one, other))}
    return len(ends) == 1


def event_types(values: Sequence[str]) -> list[str]:
    """``*``, known types and prefixes such as ``ticket.*``, each once; raises InvalidField."""
    if not values:
        raise InvalidField("event_types", "blank", messages.NO_EVENT_TYPE)
    for value in values:
        if value != ALL and value not in EVENTS and not _matched_by_prefix(value, EVENTS):
            raise InvalidField("event_types", "not_found", messages.unknown_event_type(value[:64]))
    return text.unique(values)


def _matched_by_prefix(value: str, types: Iterable[str]) -> bool:
    """Whether a prefix such as ``ticket.*`` covers one of these types."""
    return value.endswith(".*") and any(known.startswith(value[:-1]) for known in types)


def is_subscribed(subscribed: Sequence[str], event_type: str) -> bool:
    if event_type.startswith(NEVER_FORWARDED):
        return False
    return any(
        value in (ALL, event_type) or _matched_by_prefix(value, (event_type,))
        for value in subscribed
    )
