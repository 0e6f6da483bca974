"""HTML forms: loaded through the schemas of REST bodies, and shown again with their errors.

A browser sends only strings, so each field is first converted to the JSON type of its schema. An
empty field is absent, or null if allowed; a checkbox is a flag; a repeated name is a list.

A form of stored values sends the values with which it was opened (originals), so that it changes
only what the person edited.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson
from flask import request
from marshmallow import Schema, ValidationError, fields
from werkzeug.datastructures import MultiDict

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
from app.http.current import current_settings
from app.web import messages
from app.web.guard import write

KEY = "idempotency_key"
ORIGINALS = "originals"
# A field of request bodies that only a response of REST shows: verbs do not take it.
ECHOED = "client_request_id"
# The length to which a message cuts a text that someone else entered.
MAX_QUOTED = 300

# How a message says the value of a field.
Words = Mapping[str, Callable[[Any], str]]


@dataclass(slots=True)
class Form:
    """The submitted values, the loaded data, and the errors by field (``""``: the whole form)."""

    raw: MultiDict[str, str] = field(default_factory=MultiDict)
    data: dict[str, Any] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    # The fields of the page; errors of other fields appear above the form.
    shown: frozenset[str] = frozenset()
    # Digests of the values with which the page was opened, by field.
    originals: dict[str, str] = field(default_factory=dict)

    def value(self, name: str, default: Any = "") -> Any:
        """The value to show in a field: the submitted one, else the default."""
        return self.raw.get(name, default)

    def values(self, name: str, default: Iterable[str] = ()) -> list[str]:
        return self.raw.getlist(name) if self.raw else list(default)

    def refuse(self, name: str, message: str) -> None:
        self.errors.setdefault(name if name in self.shown else "", message)


def load_form(schema: type[Schema], *, keep_empty: bool = False, **overrides: Any) -> Form:
    """The form of this request, loaded through a schema; ``overrides`` replace submitted values.

    An empty text that is not required is absent. With ``keep_empty`` it empties the field, as in a
    PATCH.
    """
    loader = schema()
    loader.fields.pop(ECHOED, None)
    form = Form(raw=request.form.copy(), shown=frozenset(loader.fields))
    values = {
        name: value
        for name, value in _as_json(loader, request.form).items()
        if value != "" or keep_empty or loader.fields[name].required
    } | overrides
    try:
        form.data = loader.load(values)
    except ValidationError as error:
        errors: dict[str, Any] = error.normalized_messages()  # type: ignore[no-untyped-call]  # of marshmallow
        for name, messages in errors.items():
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
        elif name in sent and (sent[name] != "" or kind.allow_none or _is_plain_text(kind)):
            given[name] = json_value(kind, sent[name])
    return given


def json_value(kind: fields.Field[Any], sent: str) -> Any:
    """The JSON of one submitted value; an empty one is null if allowed."""
    if sent == "" and kind.allow_none:
        return None
    number = text.small_int(sent) if isinstance(kind, fields.Integer) else None
    return text.normalize_newlines(sent) if number is None else number


def _is_plain_text(kind: fields.Field[Any]) -> bool:
    """Whether a field is free text, and not an id, an enum value or a date."""
    is_text = isinstance(kind, fields.String) and not isinstance(kind, fields.UUID)
    return is_text and not kind.metadata.get("enum")


def _first(messages: Any) -> str:
    """The first message in marshmallow's nested messages."""
    while isinstance(messages, dict | list):
        messages = next(iter(messages.values() if isinstance(messages, dict) else messages))
    return str(messages)


def remember_originals(form: Form, stored: Mapping[str, Any]) -> None:
    """Let a form that was not submitted yet send the values with which it was opened."""
    if not form.raw:
        form.originals = {name: _digest(value) for name, value in stored.items()}


def _edited_values(form: Form, stored: Mapping[str, Any], words: Words) -> dict[str, Any]:
    """The values that the person changed; each that someone else changed too is refused once.

    If the person changed none, those that others changed are refused once. A form without originals
    keeps all values.
    """
    edited, others, both = dict(form.data), [], []
    for name in [one for one in stored if one in edited and one in form.originals]:
        original, now, sent = form.originals[name], _digest(stored[name]), _digest(edited[name])
        if sent == original:
            del edited[name]
            if now != sent:
                others.append(name)
        elif now not in (original, sent):
            both.append(name)
    # Without an edit, an old copy of the form may be meant to bring its values back.
    for name in both if edited else others:
        value = words[name](stored[name]) if name in words else _in_words(stored[name])
        _refuse_once(form, name, value)
        form.originals[name] = _digest(stored[name])
    return edited


def _sent_originals() -> dict[str, str]:
    try:
        sent = orjson.loads(request.form.get(ORIGINALS, "{}"))
    except orjson.JSONDecodeError:
        return {}
    return sent if isinstance(sent, dict) else {}


def _digest(value: Any) -> str:
    """A short digest of a field's value; the order of a list does not matter."""
    if isinstance(value, list):
        value = sorted(value, key=str)
    elif isinstance(value, str):
        value = text.normalize_newlines(value)
    return hashlib.sha256(orjson.dumps(value)).hexdigest()[:16]


def _refuse_once(form: Form, name: str, value: str) -> None:
    """Say at the field what someone else changed it to, or above the form, beside the others."""
    where, what = (name, messages.THIS) if name in form.shown else ("", sentence(name))
    message = messages.changed_to(what, value[:MAX_QUOTED] + "…" * (len(value) > MAX_QUOTED))
    form.errors[where] = f"{form.errors.get(where, '')} {message}".lstrip()


def _in_words(value: Any) -> str:
    if isinstance(value, bool):
        return messages.ON if value else messages.OFF
    if isinstance(value, list):
        return ", ".join(value)
    return "" if value is None else str(value)


def submit(form: Form, work: Callable[[Actor], Any]) -> bool:
    """Run ``work`` in a transaction; returns whether it succeeded. The form gets the errors."""
    return attempt(form, lambda: write(work))


def submit_edits(
    form: Form,
    stored: Callable[[Actor], Mapping[str, Any]],
    work: Callable[[Actor, dict[str, Any]], Any],
    words: Words,
) -> bool:
    """Like ``submit``, for a form of stored values: ``work`` gets those that the person changed.

    ``stored`` returns the current values by field. It locks what every change of them locks, so
    that nobody changes them between the comparison and the save. ``words`` says values that do
    not speak for themselves, such as ids.
    """
    form.originals = _sent_originals()

    def save(person: Actor) -> None:
        # A collision runs this again.
        form.errors, form.originals = {}, _sent_originals()
        edited = _edited_values(form, stored(person), words)
        if not form.errors:
            work(person, edited)

    return submit(form, save)


def attempt(form: Form, work: Callable[[], Any]) -> bool:
    """Like ``submit``, for verbs that open their own unit of work."""
    if form.errors:
        return False
    try:
        work()
    except DomainError as error:
        if not explain(form, error):
            raise
    return not form.errors


def create(form: Form, work: Callable[[Actor], str]) -> str | None:
    """Like ``submit``, for ``work`` that creates something and returns the URL to go to.

    The same form sent twice (double click, Back, retry) creates one thing: its hidden key is an
    Idempotency-Key. A form that was changed in between counts as a different one.
    """
    url = ""

    def create_once(actor: Actor) -> None:
        nonlocal url
        answer = once(actor, lambda: idempotency.StoredAnswer(303, b"", {"Location": work(actor)}))
        url = answer.headers["Location"]

    return url if submit(form, create_once) else None


def once(actor: Actor, work: Callable[[], idempotency.StoredAnswer]) -> idempotency.StoredAnswer:
    """Do the work, or return its answer if this form, with its hidden key, was sent before."""
    settings = current_settings()
    key = request.form.get(KEY)
    if not key:
        return work()
    sent = sorted((name, value) for name, value in request.form.items(multi=True) if name != KEY)
    fingerprint = idempotency.fingerprint(request.method, request.path, sent)
    form_id = hashlib.sha256(f"{key}\n{fingerprint}".encode()).hexdigest()
    claimed = idempotency.claim(
        actor.id, f"form:{form_id}", fingerprint, settings.idempotency_key_ttl_hours
    )
    if isinstance(claimed, idempotency.StoredAnswer):
        return claimed
    answer = work()
    idempotency.keep(claimed, answer)
    return answer


def explain(form: Form, error: DomainError) -> bool:
    """Add a refusal to the form's errors; returns False if it is not about submitted values."""
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
        form.refuse(str(details.get("field", "")), sentence(error.message))
    else:
        return False
    return True


def above_form(name: str, message: str) -> str:
    """The message of a field with the field's label, for a page that shows it elsewhere."""
    return sentence(re.sub(r"^This (field )?", f"{name} ", message)) if name else message


def sentence(message: str) -> str:
    """A message that begins with the label of its field instead of the field's name."""
    name, space, rest = message.partition(" ")
    named = messages.LABELS.get(name, name)
    label = re.sub(r"(?:_user)?_id(s?)$", r"\1", named).replace("_", " ")
    return f"{label[:1].upper()}{label[1:]}{space}{rest}"
