"""Errors for people: a page, or a toast for htmx."""

from dataclasses import dataclass

from flask import Response, current_app, g, redirect, request

from app.core.errors import DomainError, RateLimited
from app.web import messages
from app.web.guard import find_reader, login_address, safe_next
from app.web.render import html, is_htmx, page


@dataclass(frozen=True, slots=True)
class Words:
    """The text of an error page, and the link to go on."""

    heading: str
    text: str
    href: str = "/"
    action: str = messages.GO_TO_MY_WORK


# By status. A forbidden page looks exactly like a missing one.
WORDS = {
    403: Words(messages.NO_PERMISSION, ""),
    404: Words(messages.PAGE_NOT_FOUND, messages.LINK_MAY_BE_WRONG),
    405: Words(messages.NOT_SUPPORTED, messages.KIND_NOT_SUPPORTED),
    409: Words(messages.HAS_CHANGED, ""),
    410: Words(messages.WAS_DELETED, ""),
    413: Words(
        messages.TOO_LARGE,
        messages.SHORTEN_OR_SPLIT,
    ),
    421: Words(
        messages.UNKNOWN_HOST,
        messages.HOST_NOT_RECOGNIZED,
    ),
    422: Words(messages.CHECK_YOUR_INPUT, ""),
    429: Words(messages.TOO_MANY_ATTEMPTS, "", "/login", messages.GO_TO_LOGIN),
    500: Words(
        messages.WENT_WRONG,
        messages.ERROR_LOGGED,
    ),
    503: Words(
        messages.BACK_IN_A_MOMENT,
        messages.DATABASE_NOT_RESPONDING,
    ),
}


# Cookies of another host mean nothing here, and without a database the reader is unknown.
NOT_OURS = frozenset({421, 500, 503})
# The form that was refused may be filled in again, with what the page shows now.
IS_WORTH_ANOTHER_TRY = frozenset({409, 422})


def show_error(error: DomainError) -> Response:
    """The response to a browser whose request was refused or failed."""
    if error.status == 401 and not is_htmx():
        return _finish(error, redirect(login_address(), 303))  # type: ignore[arg-type]  # of Flask
    words = WORDS.get(error.status, WORDS[500])
    if is_htmx():
        return _finish(error, _toast(error, words))
    if error.status not in NOT_OURS:
        find_reader()
    href, action = _link_on(error, words)
    return _finish(
        error,
        page(
            "errors/error.html",
            status=error.status,
            is_missing=error.status == 404,
            heading=words.heading,
            text=_text(error, words),
            href=href,
            action=action,
            request_id=g.get("request_id") if error.status >= 500 else None,
        ),
    )


def _link_on(error: DomainError, words: Words) -> tuple[str, str]:
    """The address and the text of the link: back to the form that was refused, if it is known."""
    host, _, path = (request.referrer or "").partition("://")[2].partition("/")
    back = safe_next(f"/{path}") if host == request.host else "/"
    if error.status in IS_WORTH_ANOTHER_TRY and back != "/" and _is_page(back):
        return back, messages.GO_BACK
    return words.href if request.path != words.href else "/", words.action


def _is_page(address: str) -> bool:
    """Whether the address can be opened; a form that was refused can be at one that cannot."""
    routes = current_app.create_url_adapter(request)
    return routes is not None and routes.test(address.partition("?")[0], method="GET")


def _text(error: DomainError, words: Words) -> str:
    if isinstance(error, RateLimited):
        return messages.wait(error.minutes)
    return words.text or error.message


def _toast(error: DomainError, words: Words) -> Response:
    """A toast; the page stays as it is."""
    ui = current_app.jinja_env.globals["ui"]
    if error.status == 401:
        text, href, action = messages.LOGGED_OUT, "/login", messages.LOG_IN
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
