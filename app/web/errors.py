"""Errors for people: a page, or a toast for htmx."""

from dataclasses import dataclass

from flask import Response, current_app, g, redirect, request

from app.core.errors import DomainError
from app.web.guard import find_reader, login_address
from app.web.render import html, is_htmx, page


@dataclass(frozen=True, slots=True)
class Words:
    """The text of an error page, and the link to go on."""

    heading: str
    text: str
    href: str = "/"
    action: str = "Go to My work"


# By status. What a person may not see looks exactly like what does not exist.
WORDS = {
    403: Words("You do not have permission", ""),
    404: Words(
        "Page not found", "The link may be wrong, or the page may have been moved or deleted."
    ),
    405: Words("Not supported", "This page does not support that kind of request."),
    409: Words("This has changed", ""),
    410: Words("This was deleted", ""),
    413: Words(
        "This is too large",
        "Shorten your text and try again. To import a large file, split it into parts, or ask an "
        "administrator to run flask import-issues.",
    ),
    421: Words(
        "Unknown host name",
        "This server does not recognize the host name in your address bar. An administrator can "
        "add it to BASE_URL or ALLOWED_HOSTS.",
    ),
    422: Words("Check your input", ""),
    429: Words("Too many attempts", "", "/login", "Go to login"),
    500: Words(
        "Something went wrong",
        "The error was logged. Try again in a moment.",
    ),
    503: Words(
        "Back in a moment",
        "The database is not responding. Your saved work is safe. Try again shortly.",
    ),
}


# Another host's cookies mean nothing here, and without a database nobody is found.
NOT_OURS = frozenset({421, 500, 503})


def show_error(error: DomainError) -> Response:
    """The response to a browser whose request was refused or failed."""
    if error.status == 401 and not is_htmx():
        return _finish(error, redirect(login_address(), 303))  # type: ignore[arg-type]  # of Flask
    words = WORDS.get(error.status, WORDS[500])
    if is_htmx():
        return _finish(error, _toast(error, words))
    if error.status not in NOT_OURS:
        find_reader()
    return _finish(
        error,
        page(
            "errors/error.html",
            status=error.status,
            is_missing=error.status == 404,
            heading=words.heading,
            text=_text(error, words),
            href=words.href if request.path != words.href else "/",
            action=words.action,
            request_id=g.get("request_id") if error.status >= 500 else None,
        ),
    )


def _text(error: DomainError, words: Words) -> str:
    if error.status == 429:
        minutes = -(-int((error.details or {}).get("retry_after_seconds", 60)) // 60)
        return f"Wait {minutes} {'minute' if minutes == 1 else 'minutes'} and try again."
    return words.text or error.message


def _toast(error: DomainError, words: Words) -> Response:
    """A toast; the page stays as it is."""
    ui = current_app.jinja_env.globals["ui"]
    if error.status == 401:
        text, href, action = "You were logged out.", "/login", "Log in"
    else:
        text, href, action = _text(error, words), "", ""
    response = html(ui.toast(text, "error", href, action), error.status)  # type: ignore[attr-defined]  # a template module
    response.headers["HX-Retarget"] = "#toasts"
    response.headers["HX-Reswap"] = "beforeend"
    return response


def _finish(error: DomainError, response: Response) -> Response:
    response.status_code = 303 if response.status_code == 303 else error.status
    for name, value in error.headers.items():
        response.headers[name] = value
    return response
