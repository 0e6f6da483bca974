"""The errors that a verb can raise; edges translate them.

REST makes the error envelope, pages a message, commands a line and exit code 1. The docstring
of a class is public up to its first semicolon: the OpenAPI document shows it.
"""

from collections.abc import Callable
from typing import Any, ClassVar

from app.core import messages

Details = dict[str, Any]


class DomainError(Exception):
    """A refusal; ``message`` is safe to show to the caller."""

    code: ClassVar[str] = "server.internal"
    status: int = 500
    # The event that records this refusal, if it is audited.
    audit_event: str | None = None
    audit_payload: Details | None = None
    # Called in the transaction of that event; returns whether to record it.
    audit_if: Callable[[], bool] | None = None
    # Subclasses with a constant message set it here; others pass one.
    message: str

    def __init__(self, message: str | None = None, details: Details | None = None) -> None:
        if message is not None:
            self.message = message
        super().__init__(self.message)
        self.details = details
        self.headers: dict[str, str] = {}


class Unauthenticated(DomainError):
    """No credential on a protected operation."""

    code = "auth.unauthenticated"
    status = 401
    message = messages.LOG_IN


class InvalidCredentials(DomainError):
    """A credential that is invalid, expired or revoked; it does not say which."""

    code = "auth.invalid_credentials"
    status = 401
    # The user of the credential, if known; only for the audit log.
    user_id: str | None = None
    message = messages.CREDENTIALS_INVALID


class AmbiguousCredentials(DomainError):
    """A session cookie and an API key in one request."""

    code = "auth.ambiguous_credentials"
    status = 401
    message = messages.TWO_CREDENTIALS


class Forbidden(DomainError):
    """Authenticated but not allowed; ``reason`` says why."""

    code = "auth.forbidden"
    status = 403

    def __init__(self, reason: str, **details: Any) -> None:
        super().__init__(
            messages.FORBIDDEN_BY_REASON.get(reason, messages.FORBIDDEN),
            {"reason": reason, **details},
        )


class OutsideAllowlist(Forbidden):
    """A bot's write to a project that exists but is not in its allowlist; audited."""

    audit_event = "auth.bot.write_attempt_outside_allowlist"

    def __init__(self, project_id: str) -> None:
        super().__init__("project_not_in_allowlist")
        self.project_id = project_id
        self.audit_payload = {"project_id": project_id}


class ReadOnlyBot(DomainError):
    """A write by a bot in read mode, or while it or all bots are paused; audited."""

    code = "auth.read_only_bot"
    status = 403
    audit_event = "auth.bot.write_attempt_in_read_mode"

    def __init__(self, *, all_bots_paused: bool = False, this_bot_paused: bool = False) -> None:
        message = messages.READ_ONLY_BOT
        if all_bots_paused:
            message = messages.ALL_BOTS_PAUSED
        elif this_bot_paused:
            message = messages.BOT_PAUSED
        super().__init__(message)
        self.is_paused = all_bots_paused or this_bot_paused


class CurrentPasswordInvalid(DomainError):
    """The current password given with a change is wrong."""

    code = "auth.current_password_invalid"
    status = 400
    message = messages.CURRENT_PASSWORD_INCORRECT


class PasswordTooShort(DomainError):
    """A new password under 12 characters."""

    code = "validation.password_too_short"
    status = 400
    message = messages.PASSWORD_TOO_SHORT


class PasswordTooCommon(DomainError):
    """A new password that is guessed first, or that contains the username or the app's name."""

    code = "validation.password_too_common"
    status = 400
    message = messages.PASSWORD_TOO_COMMON


class PasswordUnchanged(DomainError):
    """A new password that equals the current one."""

    code = "validation.password_unchanged"
    status = 400
    message = messages.PASSWORD_UNCHANGED


class RequestInvalid(DomainError):
    """The form of the body or query does not fit; ``errors`` lists ``{loc, msg, type}``.

    At most ``MAX_ERRORS`` are listed, each with a path of bounded length; ``more`` counts the rest.
    """

    code = "request.validation_error"
    status = 422
    MAX_ERRORS: ClassVar[int] = 50
    MAX_PART_LENGTH: ClassVar[int] = 128

    def __init__(self, errors: list[Details], more: int = 0) -> None:
        listed = [
            {**error, "loc": [_clipped(part, self.MAX_PART_LENGTH) for part in error["loc"]]}
            for error in errors[: self.MAX_ERRORS]
        ]
        more += len(errors) - len(listed)
        super().__init__(
            messages.REQUEST_INVALID, {"errors": listed, **({"more": more} if more else {})}
        )
        self.errors = listed


def _clipped(part: Any, max_length: int) -> Any:
    return part if not isinstance(part, str) or len(part) <= max_length else f"{part[:max_length]}…"


def one_error(loc: list[Any], msg: str, kind: str) -> RequestInvalid:
    return RequestInvalid([{"loc": loc, "msg": msg, "type": kind}])


class InvalidField(DomainError):
    """A value that breaks a rule of the domain (400 for cursors, else 422)."""

    code = "validation.invalid_field"

    def __init__(self, field: str, reason: str, message: str = "", *, status: int = 422) -> None:
        super().__init__(
            message or messages.field_invalid(field, reason.replace("_", " ")),
            {"field": field, "reason": reason},
        )
        self.status = status


class NotFound(DomainError):
    """Missing, or invisible to the actor: the two look the same."""

    code = "resource.not_found"
    status = 404

    def __init__(self, resource: str, identifier: str) -> None:
        super().__init__(
            messages.not_found(resource.replace("_", " ").capitalize()),
            {"resource": resource, "id": identifier},
        )


class Gone(DomainError):
    """A soft-deleted resource."""

    code = "resource.gone"
    status = 410

    def __init__(self, resource: str, identifier: str) -> None:
        super().__init__(
            messages.gone(resource.replace("_", " ")),
            {"resource": resource, "id": identifier},
        )


class Conflict(DomainError):
    """The change meets a state that forbids it; ``reason`` is one of CONFLICTS (rest/refusals)."""

    code = "resource.conflict"
    status = 409

    def __init__(self, reason: str, message: str, **details: Any) -> None:
        super().__init__(message, {"reason": reason, **details})


class RateLimited(DomainError):
    """Too many login attempts, mails or uploads; Retry-After is in seconds."""

    code = "rate_limit.exceeded"
    status = 429

    def __init__(self, retry_after_seconds: int) -> None:
        super().__init__(messages.TOO_MANY_ATTEMPTS, {"retry_after_seconds": retry_after_seconds})
        self.headers = {"Retry-After": str(retry_after_seconds)}
        self.seconds = retry_after_seconds

    @property
    def minutes(self) -> int:
        """The time to wait, rounded up."""
        return -(-self.seconds // 60)


class RequestTooLarge(DomainError):
    """A body over MAX_REQUEST_BYTES, or a file over FILES_MAX_BYTES."""

    code = "request.too_large"
    status = 413

    def __init__(self, limit: int) -> None:
        super().__init__(messages.BODY_TOO_LARGE, {"limit_bytes": limit})


class RequestMalformed(DomainError):
    """What a client sent is no HTTP request, or its head is too long; no operation was reached."""

    code = "request.malformed"

    def __init__(self, status: int = 400) -> None:
        reasons = {414: messages.URL_TOO_LONG, 431: messages.HEADERS_TOO_LONG}
        super().__init__(reasons.get(status, messages.NOT_HTTP))
        self.status = status


class RequestMisdirected(DomainError):
    """A request addressed to a host name that is not this service's."""

    code = "request.misdirected"
    status = 421
    message = messages.HOST_NOT_ALLOWED


class RequestTimeout(DomainError):
    """A request body that did not arrive in time."""

    code = "request.timeout"
    status = 408
    message = messages.BODY_TIMED_OUT


class MethodNotAllowed(DomainError):
    """The address exists, the method does not."""

    code = "request.method_not_allowed"
    status = 405

    def __init__(self, allowed: list[str]) -> None:
        super().__init__(messages.METHOD_NOT_ALLOWED, {"allowed": sorted(allowed)})
        self.headers = {"Allow": ", ".join(sorted(allowed))}


class Unavailable(DomainError):
    """The database or the file store does not answer, the disk is full, or the server is busy."""

    code = "server.unavailable"
    status = 503
    message = messages.UNAVAILABLE
