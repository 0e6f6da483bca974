"""The errors that a verb can raise.

Edges translate them: REST into the envelope, pages into a message, commands into a line and exit
code 1.
"""

from collections.abc import Callable
from typing import Any, ClassVar

Details = dict[str, Any]


class DomainError(Exception):
    """A refusal; ``message`` is safe to show to the caller."""

    code: ClassVar[str] = "server.internal"
    status: int = 500
    # The event that records this refusal, if it is audited.
    audit_event: str | None = None
    audit_payload: Details | None = None
    # Called in the transaction of that event: whether to record it.
    audit_if: Callable[[], bool] | None = None

    def __init__(self, message: str, details: Details | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.details = details
        self.headers: dict[str, str] = {}


class Unauthenticated(DomainError):
    """No credential, where one is required."""

    code = "auth.unauthenticated"
    status = 401

    def __init__(self, message: str = "Log in or send an API key.") -> None:
        super().__init__(message)


class InvalidCredentials(DomainError):
    """A credential is invalid, expired or revoked; the message does not say which."""

    code = "auth.invalid_credentials"
    status = 401
    # The user of the credential, if known; only for the audit log.
    user_id: str | None = None

    def __init__(self, message: str = "The credentials are not valid.") -> None:
        super().__init__(message)


class AmbiguousCredentials(DomainError):
    """One request has both a session cookie and an API key."""

    code = "auth.ambiguous_credentials"
    status = 401

    def __init__(self) -> None:
        super().__init__("Send either a session cookie or an X-API-Key header, not both.")


FORBIDDEN_MESSAGES = {
    "humans_only": "Only humans may do this.",
    "project_not_in_allowlist": "This project is not in the bot's allowlist.",
    "bots_have_no_personal_notes": "Bots have no personal notes.",
    "bot_cannot_edit_global_wiki": "This bot may not edit global wiki pages.",
    "cross_site_request": "The request comes from another site.",
    "missing_requested_by": "Send the header X-Requested-By: web.",
    "not_author": "Only its author may change a comment.",
    "setup_code_required": "Send the setup code that the server printed at its start.",
}


class Forbidden(DomainError):
    """Authenticated but not allowed; ``reason`` is a key of FORBIDDEN_MESSAGES."""

    code = "auth.forbidden"
    status = 403

    def __init__(self, reason: str, **details: Any) -> None:
        super().__init__(
            FORBIDDEN_MESSAGES.get(reason, "This is not allowed."), {"reason": reason, **details}
        )


class OutsideAllowlist(Forbidden):
    """A bot writes to an existing project outside its allowlist; audited."""

    audit_event = "auth.bot.write_attempt_outside_allowlist"

    def __init__(self, project_id: str) -> None:
        super().__init__("project_not_in_allowlist")
        self.project_id = project_id
        self.audit_payload = {"project_id": project_id}


class ReadOnlyBot(DomainError):
    """A bot writes in read mode, or while all bots are paused; audited."""

    code = "auth.read_only_bot"
    status = 403
    audit_event = "auth.bot.write_attempt_in_read_mode"

    def __init__(self, *, is_paused: bool = False) -> None:
        paused = "All bots are paused by a person; they may only read until that ends."
        super().__init__(paused if is_paused else "This bot may only read.")
        self.is_paused = is_paused


class CurrentPasswordInvalid(DomainError):
    code = "auth.current_password_invalid"
    status = 400

    def __init__(self) -> None:
        super().__init__("The current password is wrong.")


class PasswordTooShort(DomainError):
    code = "validation.password_too_short"
    status = 400

    def __init__(self) -> None:
        super().__init__("A password has at least 12 characters.")


class PasswordTooCommon(DomainError):
    """A new password is a common one, or contains the username or the app's name."""

    code = "validation.password_too_common"
    status = 400

    def __init__(self) -> None:
        super().__init__(
            "This password is easy to guess: it is a common one, or holds the username or the "
            "name of this service."
        )


class PasswordUnchanged(DomainError):
    code = "validation.password_unchanged"
    status = 400

    def __init__(self) -> None:
        super().__init__("The new password equals the current one.")


class RequestInvalid(DomainError):
    """The form of the body or query is wrong; ``errors`` lists ``{loc, msg, type}``.

    At most ``MOST`` errors are listed, with parts of ``loc`` cut off; ``more`` counts the rest.
    """

    code = "request.validation_error"
    status = 422
    MOST: ClassVar[int] = 50
    LONGEST: ClassVar[int] = 128

    def __init__(self, errors: list[Details], more: int = 0) -> None:
        listed = [
            {**error, "loc": [_clipped(part, self.LONGEST) for part in error["loc"]]}
            for error in errors[: self.MOST]
        ]
        more += len(errors) - len(listed)
        super().__init__(
            "The request is not valid.", {"errors": listed, **({"more": more} if more else {})}
        )
        self.errors = listed


def _clipped(part: Any, longest: int) -> Any:
    return part if not isinstance(part, str) or len(part) <= longest else f"{part[:longest]}…"


def one_error(loc: list[Any], msg: str, kind: str) -> RequestInvalid:
    return RequestInvalid([{"loc": loc, "msg": msg, "type": kind}])


class InvalidField(DomainError):
    """A value breaks a rule of the domain (400 for cursors, else 422)."""

    code = "validation.invalid_field"

    def __init__(self, field: str, reason: str, message: str = "", *, status: int = 422) -> None:
        super().__init__(
            message or f"{field} is not valid: {reason.replace('_', ' ')}.",
            {"field": field, "reason": reason},
        )
        self.status = status


class NotFound(DomainError):
    """Missing, or invisible to the actor; both look the same."""

    code = "resource.not_found"
    status = 404

    def __init__(self, resource: str, identifier: str) -> None:
        super().__init__(
            f"There is no such {resource.replace('_', ' ')}.",
            {"resource": resource, "id": identifier},
        )


class Gone(DomainError):
    """The resource is soft-deleted."""

    code = "resource.gone"
    status = 410

    def __init__(self, resource: str, identifier: str) -> None:
        super().__init__(
            f"This {resource.replace('_', ' ')} was deleted.",
            {"resource": resource, "id": identifier},
        )


class Conflict(DomainError):
    """The current state forbids the change; ``reason`` says why."""

    code = "resource.conflict"
    status = 409

    def __init__(self, reason: str, message: str, **details: Any) -> None:
        super().__init__(message, {"reason": reason, **details})


class RateLimited(DomainError):
    """Too many attempts; Retry-After is in seconds."""

    code = "rate_limit.exceeded"
    status = 429

    def __init__(self, retry_after_seconds: int) -> None:
        super().__init__(
            "Too many attempts; try again later.", {"retry_after_seconds": retry_after_seconds}
        )
        self.headers = {"Retry-After": str(retry_after_seconds)}


class RequestTooLarge(DomainError):
    """The request body is over MAX_REQUEST_BYTES."""

    code = "request.too_large"
    status = 413

    def __init__(self, limit: int) -> None:
        super().__init__("The request body is too large.", {"limit_bytes": limit})


class RequestMalformed(DomainError):
    """What a client sent is no HTTP request, or its head is too long."""

    code = "request.malformed"

    def __init__(self, status: int = 400) -> None:
        messages = {414: "The address is too long.", 431: "The headers are too long."}
        super().__init__(messages.get(status, "This is no HTTP request."))
        self.status = status


class RequestMisdirected(DomainError):
    """The request names a host that is not this service's."""

    code = "request.misdirected"
    status = 421

    def __init__(self) -> None:
        super().__init__(
            "This host name is not one of this service: name it in BASE_URL or ALLOWED_HOSTS."
        )


class RequestTimeout(DomainError):
    code = "request.timeout"
    status = 408

    def __init__(self) -> None:
        super().__init__("The request body did not arrive in time.")


class MethodNotAllowed(DomainError):
    """The address exists, but not with this method."""

    code = "request.method_not_allowed"
    status = 405

    def __init__(self, allowed: list[str]) -> None:
        super().__init__("This method is not allowed here.", {"allowed": sorted(allowed)})
        self.headers = {"Allow": ", ".join(sorted(allowed))}


class Unavailable(DomainError):
    """The database cannot be reached or does not answer in time."""

    code = "server.unavailable"
    status = 503

    def __init__(self) -> None:
        super().__init__("The service is not available right now; try again.")
