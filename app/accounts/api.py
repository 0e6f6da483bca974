"""REST endpoints of login, first-run setup and users."""

from app.accounts import login, setup, users
from app.accounts.authentication import COOKIE
from app.accounts.builders import human_json, user_json
from app.accounts.login import LoginStep
from app.accounts.schemas import (
    ChangePasswordBody,
    HumanOut,
    LoginBody,
    LoginOut,
    SetupBody,
    SetupStatusOut,
    UserCreate,
    UserOut,
    UserPatch,
)
from app.accounts.sessions import OpenedSession
from app.core.clock import iso
from app.core.errors import (
    Conflict,
    CurrentPasswordInvalid,
    Forbidden,
    InvalidCredentials,
    InvalidField,
    NotFound,
    PasswordTooCommon,
    PasswordTooShort,
    PasswordUnchanged,
    RateLimited,
)
from app.http.current import current_settings
from app.rest.fields import EmptyBody, PageQuery
from app.rest.routing import NO_CONTENT, Answer, Api, Call, Cookie, created

CLEARED = Cookie(COOKIE, "", 0)

api = Api("auth")


def logged_in(opened: OpenedSession, *, status: int = 200) -> Answer:
    return Answer(
        {"user": human_json(opened.user), "session": {"expires_at": iso(opened.expires_at)}},
        status,
        location=f"/users/{opened.user.id}" if status == 201 else None,
        cookies=(Cookie(COOKIE, opened.token, opened.max_age),),
    )


@api.route(
    "POST",
    "/auth/login",
    "auth.login",
    calls=login.log_in,
    body=LoginBody,
    returns=LoginOut,
    own_transactions=True,
    errors=(InvalidCredentials, InvalidField, Forbidden, RateLimited),
)
def log_in(call: Call) -> Answer:
    """Exchange a username and password for a session cookie.

    Five attempts per 15 minutes are allowed for each address and, separately, for each username. A
    successful login does not count. If the person turned on two-factor authentication, a correct
    password without `code` is 401 with the reason `totp_required`, a wrong code `totp_invalid`.
    If only single sign-on is allowed, this is 403 with the reason `password_login_off`.
    """
    opened = login.log_in(call.actor, **call.body, peer=call.peer, settings=current_settings())
    if isinstance(opened, LoginStep):
        raise login.code_required()
    return logged_in(opened)


@api.route("POST", "/auth/logout", "auth.logout", calls=login.log_out, body=EmptyBody, status=204)
def log_out(call: Call) -> Answer:
    """End the current session."""
    login.log_out(call.actor)
    return Answer(None, 204, cookies=(CLEARED,))


@api.route("GET", "/auth/me", "auth.me", calls=users.current_user, returns=UserOut)
def me(call: Call) -> Answer:
    """Show the current actor, human or bot."""
    return Answer(user_json(*users.current_user(call.actor)))


@api.route(
    "POST",
    "/auth/change-password",
    "auth.change_password",
    calls=users.change_password,
    body=ChangePasswordBody,
    status=204,
    own_transactions=True,
    requested_by=True,
    errors=(
        CurrentPasswordInvalid,
        PasswordTooShort,
        PasswordTooCommon,
        PasswordUnchanged,
        InvalidField,
        RateLimited,
    ),
)
def change_password(call: Call) -> Answer:
    """Change your own password; all other sessions end."""
    users.change_password(call.actor, **call.body, peer=call.peer, settings=current_settings())
    return NO_CONTENT


@api.route("GET", "/setup/status", "setup.status", calls=setup.setup_status, returns=SetupStatusOut)
def setup_status(call: Call) -> Answer:
    """Show whether setup is needed: true until the first human exists."""
    needs_setup = setup.setup_status(call.actor)
    needs_code = needs_setup and not call.peer.is_local
    return Answer({"needs_setup": needs_setup, "needs_code": needs_code})


@api.route(
    "POST",
    "/setup/admin",
    "setup.admin",
    calls=setup.set_up_admin,
    body=SetupBody,
    returns=LoginOut,
    status=201,
    own_transactions=True,
    leads_to=("users.update",),
    key="user/id",
    errors=(PasswordTooShort, PasswordTooCommon, InvalidField, Forbidden, Conflict),
)
def set_up_admin(call: Call) -> Answer:
    """Create the first admin and log the caller in; refused once a human exists.

    From another machine, or through a proxy, this needs the setup code that the server printed.
    """
    opened = setup.set_up_admin(
        call.actor, **call.body, peer=call.peer, settings=current_settings()
    )
    return logged_in(opened, status=201)


@api.route("GET", "/users/me", "users.me", tag="users", calls=users.current_user, returns=UserOut)
def users_me(call: Call) -> Answer:
    """Show the current actor: an alias of /auth/me."""
    return me(call)


@api.route(
    "GET",
    "/users",
    "users.list",
    tag="users",
    calls=users.list_users,
    query=PageQuery,
    returns=UserOut,
    paginated=True,
)
def list_users(call: Call) -> Answer:
    """List all users, humans and bots, newest first."""
    return Answer(users.list_users(call.actor, **call.query).collection)


@api.route(
    "POST",
    "/users",
    "users.create",
    tag="users",
    calls=users.create_user,
    body=UserCreate,
    returns=HumanOut,
    status=201,
    own_transactions=True,
    leads_to=("users.update",),
    errors=(PasswordTooShort, PasswordTooCommon, InvalidField, Conflict),
)
def create_user(call: Call) -> Answer:
    """Create a human."""
    user = users.create_user(call.actor, **call.body, settings=current_settings())
    return created(human_json(user), f"/users/{user.id}")


@api.route(
    "PATCH",
    "/users/<user_id>",
    "users.update",
    tag="users",
    calls=users.update_user,
    body=UserPatch,
    returns=HumanOut,
    own_transactions=True,
    errors=(PasswordTooShort, PasswordTooCommon, InvalidField, NotFound, Conflict),
)
def update_user(call: Call) -> Answer:
    """Change a human's display name, email address, activity or password.

    A new email address is unconfirmed. A new password, or a deactivation, ends all of that person's
    sessions.
    """
    user = users.update_user(
        call.actor, call.path["user_id"], **call.body, settings=current_settings()
    )
    return Answer(human_json(user))
