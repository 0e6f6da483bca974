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
    action: str = "Go to my work"


# By status. What a person may not see looks exactly like what does not exist.
WORDS = {
    403: Words("You cannot do this", ""),
    404: Words(
        "Page not found", "The address may be mistyped, or what it named was moved or deleted."
    ),
    405: Words("That did not work", "This address does not take that kind of request."),
    409: Words("Something changed meanwhile", ""),
    410: Words("This was deleted", ""),
    413: Words(
        "That is too large",
        "Shorten a text and send it again. A large file comes in by the command "
        "flask import-issues, or in parts: what is there already is not made twice.",
    ),
    421: Words(
        "This is another address",
        "Docket is not known by the host name in your address bar. Whoever runs it can name it in "
        "the setting BASE_URL or ALLOWED_HOSTS.",
    ),
    422: Words("Something is not right", ""),
    429: Words("Too many attempts", "", "/login", "Back to log in"),
    500: Words(
        "Something went wrong",
        "The fault is on our side and was written to the log. Trying again may help.",
    ),
    503: Words(
        "Back in a moment",
        "The database does not answer right now. Nothing you saved is lost; try again shortly.",
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
