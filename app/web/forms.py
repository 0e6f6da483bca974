"""HTML forms: loaded through the same schemas as REST bodies, shown again with what was wrong.

A browser sends only strings, so a field is first brought to the JSON type that its schema wants: an
empty one is absent, or null where null is allowed; a checkbox is a flag; a repeated name is a list.
"""

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from flask import request
from marshmallow import Schema, ValidationError, fields
from werkzeug.datastructures import MultiDict

from app.config import settings_at_hand
from app.core import text
from app.core.actor import Actor
from app.core.errors import (
    Conflict,
    CurrentPasswordInvalid,
    DomainError,
    Forbidden,
    InvalidField,
    PasswordTooCommon,
    PasswordTooShort,
    PasswordUnchanged,
    RequestInvalid,
)
from app.database import idempotency
from app.web.guard import write

KEY = "idempotency_key"


@dataclass(slots=True)
class Form:
    """What was sent, what it means, and what is wrong with it (``""``: the form as a whole)."""

    raw: MultiDict[str, str] = field(default_factory=MultiDict)
    data: dict[str, Any] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    # Of those the page shows; what is wrong with any other field is said above the form.
    shown: frozenset[str] = frozenset()

    def value(self, name: str, default: Any = "") -> Any:
        """What to show in a field: what was typed, else the default."""
        return self.raw.get(name, default)

    def values(self, name: str, default: Iterable[str] = ()) -> list[str]:
        """All values of a repeated field."""
        return self.raw.getlist(name) if self.raw else list(default)

    def refuse(self, name: str, message: str) -> None:
        """Note what is wrong with a field."""
        self.errors.setdefault(name if name in self.shown else "", message)


def load_form(schema: type[Schema], *, keep_empty: bool = False, **instead: Any) -> Form:
    """The form of this request, loaded through a schema; ``instead`` replaces what was typed.

    An empty text that is not required counts as absent, unless ``keep_empty``: then it empties the
    field, as a PATCH does.
    """
    known = schema()
    form = Form(raw=request.form.copy(), shown=frozenset(known.fields))
    given = {
        name: value
        for name, value in _as_json(known, request.form).items()
        if value != "" or keep_empty or known.fields[name].required
    } | instead
    try:
        form.data = known.load(given)
    except ValidationError as error:
        messages_of: dict[str, Any] = error.normalized_messages()  # type: ignore[no-untyped-call]  # of marshmallow
        for name, messages in messages_of.items():
            form.refuse(name, _first(messages))
    return form


def _as_json(schema: Schema, sent: MultiDict[str, str]) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for name, kind in schema.fields.items():
        if isinstance(kind, fields.List):
            if name in sent:
                given[name] = [value for value in sent.getlist(name) if value]
        elif isinstance(kind, fields.Boolean):
            if name in sent:
                given[name] = sent.getlist(name)[-1] in ("true", "on")
        elif name in sent:
            value = sent[name]
            if value == "" and kind.allow_none:
                given[name] = None
            elif value != "" or _is_plain_text(kind):
                number = text.whole(value) if isinstance(kind, fields.Integer) else None
                given[name] = text.unified(value) if number is None else number
    return given


def _is_plain_text(kind: fields.Field[Any]) -> bool:
    """A text that may be emptied, as against an id, a word of a list or a date."""
    is_text = isinstance(kind, fields.String) and not isinstance(kind, fields.UUID)
    return is_text and not kind.metadata.get("enum")


def _first(messages: Any) -> str:
    """The first message, however deep marshmallow put it."""
    while isinstance(messages, dict | list):
        messages = next(iter(messages.values() if isinstance(messages, dict) else messages))
    return str(messages)


def submit(form: Form, work: Callable[[Actor], Any]) -> bool:
    """Run ``work`` in a transaction; whether it was done. What was refused stands in the form."""
    return attempt(form, lambda: write(work))


def attempt(form: Form, work: Callable[[], Any]) -> bool:
    """As ``submit``, for verbs that open their own units of work."""
    if form.errors:
        return False
    try:
        work()
    except DomainError as error:
        if not explain(form, error):
            raise
    return not form.errors


def create(form: Form, work: Callable[[Actor], str]) -> str | None:
    """As ``submit``, for what creates something and gives the address to go to.

    The same form sent twice (a double click, Back and send again, a retry after a timeout) creates
    one thing: its hidden key goes to the store that REST uses. A form that was changed in between
    counts as another one.
    """
    made: list[str] = []

    def once(actor: Actor) -> None:
        made.clear()
        made.append(_once(actor, work))

    return made[0] if submit(form, once) else None


def _once(actor: Actor, work: Callable[[Actor], str]) -> str:
    settings = settings_at_hand()
    key = request.form.get(KEY)
    if not key:
        return work(actor)
    sent = sorted((name, value) for name, value in request.form.items(multi=True) if name != KEY)
    print_ = idempotency.fingerprint(request.method, request.path, sent)
    unique = hashlib.sha256(f"{key}\n{print_}".encode()).hexdigest()
    claimed = idempotency.claim(
        actor.id, f"form:{unique}", print_, settings.idempotency_key_ttl_hours
    )
    if isinstance(claimed, idempotency.StoredAnswer):
        return claimed.headers["Location"]
    url = work(actor)
    idempotency.keep(claimed, idempotency.StoredAnswer(303, b"", {"Location": url}))
    return url


def explain(form: Form, error: DomainError) -> bool:
    """Note a refusal in the form; False where it is not about what was typed."""
    details = error.details or {}
    if isinstance(error, CurrentPasswordInvalid):
        form.refuse("current_password", error.message)
    elif isinstance(error, PasswordTooShort | PasswordTooCommon | PasswordUnchanged):
        form.refuse("password" if "password" in form.shown else "new_password", error.message)
    elif isinstance(error, Forbidden) and details["reason"] == "setup_code_required":
        form.refuse("setup_code", error.message)
    elif isinstance(error, RequestInvalid):
        for problem in error.errors:
            form.refuse(str(problem["loc"][-1]), problem["msg"])
    elif isinstance(error, InvalidField | Conflict):
        form.refuse(str(details.get("field", "")), _sentence(error.message))
    else:
        return False
    return True


def _sentence(message: str) -> str:
    """A field's name at the start of a message is its label on the page: begin with a capital."""
    text = message.replace("_user_id", "").replace("_", " ", 1)
    return text[:1].upper() + text[1:]
