"""The pages of people: inviting them, their password links, letting them in and out."""

from typing import Any

from flask import Blueprint, Response, g, request

from app.accounts import invitations, passkeys, second_factor, user_refs, users
from app.accounts.login import LoginStep
from app.accounts.pages import enter
from app.accounts.password_links import IssuedLink
from app.accounts.schemas import ChoosePasswordBody, InvitationBody
from app.accounts.sessions import OpenedSession
from app.core.actor import Actor
from app.core.errors import Conflict, InvalidField, NotFound
from app.database.session import reading
from app.http.current import current_request, current_settings, token_in_address
from app.http.flask_app import FAILED
from app.mail import outbox
from app.web.forms import Form, attempt, load_form, submit
from app.web.guard import actor, peer, public, safe_next, write
from app.web.render import go, page

pages = Blueprint("people_pages", __name__)

PEOPLE = "/people"
# ``HideTokens`` takes the token out of the address before anything else sees it.
LINK = "/password/<token>"
PAGE_SIZE = 200


@pages.get(PEOPLE)
def people() -> Response:
    return _show(Form())


@pages.post(PEOPLE)
def add_person() -> Response:
    """Invite a person and show the link.

    The form sent twice is refused for its username: the response holds a secret, so it is not
    stored to be replayed.
    """
    form, issued = invite_from_form()
    return _show(form, status=422) if issued is None else _show(Form(), issued=issued)


def invite_from_form() -> tuple[Form, IssuedLink | None]:
    """Invite the person of this request's form; None where the form is refused."""
    form = load_form(InvitationBody)
    issued: list[IssuedLink] = []

    def work(person: Actor) -> None:
        issued[:] = [invitations.invite(person, **form.data)]

    return form, issued[0] if submit(form, work) else None


@pages.post("/people/<user_id>/link")
def issue_link(user_id: str) -> Response:
    by_mail = request.form.get("by_mail") == "true"
    try:
        issued: IssuedLink = write(
            lambda person: invitations.issue_link(person, user_id, by_mail=by_mail)
        )
    except Conflict as error:
        return _show(Form(), refused=error.message, status=409)
    return _show(Form(), issued=issued)


@pages.post("/people/<user_id>/active")
def set_active(user_id: str) -> Response:
    is_active = request.form.get("is_active") == "true"
    try:
        users.update_user(actor(), user_id, settings=current_settings(), is_active=is_active)
    except Conflict as error:
        return _show(Form(), refused=error.message, status=409)
    return go(safe_next(request.form.get("back", PEOPLE)))


@pages.post("/people/<user_id>/two-factor")
def reset_second_factor(user_id: str) -> Response:
    try:
        write(lambda person: _reset(person, user_id))
    except Conflict as error:
        return _show(Form(), refused=error.message, status=409)
    return go(safe_next(request.form.get("back", PEOPLE)))


def _reset(person: Actor, user_id: str) -> None:
    """Turn off two-factor authentication and remove passkeys, whichever exist."""
    if not passkeys.remove_all_of(person, user_id) or second_factor.is_enabled(user_id):
        second_factor.reset(person, user_id)


def _show(
    form: Form, *, issued: IssuedLink | None = None, refused: str = "", status: int = 200
) -> Response:
    """The list of people; only this response shows the link that was issued."""
    # An invalid cursor must not lose the link.
    cursor = None if issued else request.args.get("cursor") or None
    try:
        with reading():
            listed = users.list_users(actor(), limit=PAGE_SIZE, cursor=cursor, humans_only=True)
            shown = [user["id"] for user in listed.data]
            statuses = invitations.link_statuses(actor(), shown)
            with_factor = second_factor.enabled_among(shown)
            with_passkeys = passkeys.owners_among(shown)
            logins = user_refs.linked_logins(shown)
    except InvalidField:
        # The cursor is invalid: start at the first page.
        return go(PEOPLE)
    return page(
        "accounts/people.html",
        people=[{**user, "status": statuses[user["id"]]} for user in listed.data],
        with_factor=with_factor,
        with_passkeys=with_passkeys,
        logins=logins,
        here=f"{PEOPLE}?cursor={cursor}" if cursor else "",
        next_cursor=listed.next_cursor,
        form=form,
        link=link_of(issued) if issued is not None else None,
        **ways_to_invite(),
        refused=refused,
        status=status,
    )


def ways_to_invite() -> dict[str, Any]:
    """Whether a new person chooses a password, and whether a link to do so can be mailed."""
    by_password = current_settings().password_login
    return {"by_password": by_password, "sends_mail": by_password and outbox.is_on()}


def link_of(issued: IssuedLink) -> dict[str, Any]:
    """The context of ``accounts/_link.html``; marks a response that shows the link."""
    is_shown = issued.mailed_to is None and current_settings().password_login
    with reading():
        has_passkeys = passkeys.usable_at(current_settings(), issued.user.id) is not None
        has_logins = bool(user_refs.linked_logins([issued.user.id]))
    g.shows_secret = is_shown
    return {
        "mailed_to": issued.mailed_to,
        "name": issued.user.display_name,
        "username": issued.user.username,
        "is_invitation": issued.user.password_hash is None,
        "has_passkeys": has_passkeys,
        "has_logins": has_logins and bool(current_settings().oidc_issuer),
        "address": f"{current_settings().base_url}/password/{issued.token}" if is_shown else "",
        "ends_at": issued.expires_at,
    }


@pages.get(LINK)
@public(wants_actor=True)
def choose_password(token: str) -> Response:
    """Ask for the password, if the link still works; looking does not use it up."""
    try:
        return _ask(token_in_address(token), Form())
    except NotFound:
        return _over()


@pages.post(LINK)
@public(wants_actor=True)
def save_choice(token: str) -> Response:
    """Set the password and log in."""
    form = load_form(ChoosePasswordBody)
    opened: list[OpenedSession | LoginStep] = []

    def use() -> None:
        opened.append(
            invitations.use_link(
                actor(),
                token=token_in_address(token),
                **form.data,
                peer=peer(),
                settings=current_settings(),
            )
        )

    try:
        if not attempt(form, use):
            return _ask(token_in_address(token), form, 422)
    except NotFound:
        return _over()
    return enter(opened[0], "/")


def _ask(token: str, form: Form, status: int = 200) -> Response:
    owner = invitations.link_owner(actor(), token=token, settings=current_settings())
    return page("accounts/choose.html", owner=owner, form=form, status=status)


def _over() -> Response:
    """The page for a link that does not work; counts as a failed credential."""
    current_request().environ[FAILED] = True
    return page("accounts/link_over.html", status=404)
