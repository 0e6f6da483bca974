"""REST endpoints of passkeys: logging in with one, and having some."""

from app.accounts import passkey_login, passkeys
from app.accounts.api import logged_in
from app.accounts.passkey_schemas import (
    PasskeyBegin,
    PasskeyCreate,
    PasskeyLogin,
    PasskeyOptionsOut,
    PasskeyOut,
    PasskeyPatch,
)
from app.accounts.passkeys import PasskeyChallenge, passkey_json
from app.accounts.schemas import CurrentPasswordBody, LoginOut
from app.core.errors import (
    Conflict,
    CurrentPasswordInvalid,
    Forbidden,
    InvalidCredentials,
    InvalidField,
    NotFound,
    RateLimited,
)
from app.http.current import current_settings
from app.rest.fields import EmptyBody, PageQuery
from app.rest.routing import NO_CONTENT, Answer, Api, Call, created

OWN = "/users/me/passkeys"
OTHERS = "/users/<user_id>/passkeys"

api = Api("users")


def _begun(begun: PasskeyChallenge) -> Answer:
    return Answer({"options": begun.options, "state": begun.state})


@api.route(
    "POST",
    "/auth/passkey/options",
    "auth.passkey.begin",
    tag="auth",
    calls=passkey_login.begin,
    body=EmptyBody,
    returns=PasskeyOptionsOut,
    own_transactions=True,
    errors=(Forbidden,),
)
def begin_login(call: Call) -> Answer:
    """Get a challenge to log in with a passkey.

    403 with the reason `passkeys_unavailable` if BASE_URL is an IP address or not https, and with
    `password_login_off` if only single sign-on is allowed.
    """
    return _begun(passkey_login.begin(call.actor, settings=current_settings()))


@api.route(
    "POST",
    "/auth/passkey",
    "auth.passkey.log_in",
    tag="auth",
    calls=passkey_login.log_in,
    body=PasskeyLogin,
    returns=LoginOut,
    own_transactions=True,
    errors=(InvalidCredentials, InvalidField, Forbidden, RateLimited),
)
def log_in(call: Call) -> Answer:
    """Exchange the response of a passkey for a session cookie. No code is needed.

    Attempts count towards the limit of the address, as those with a password do. A passkey that is
    not accepted is 401 with the reason `passkey_invalid`, an expired challenge `passkey_over`.
    """
    opened = passkey_login.log_in(
        call.actor, **call.body, peer=call.peer, settings=current_settings()
    )
    return logged_in(opened)


@api.route(
    "GET",
    OWN,
    "users.passkeys.list_own",
    calls=passkeys.list_own,
    query=PageQuery,
    returns=PasskeyOut,
    paginated=True,
)
def list_own(call: Call) -> Answer:
    """List your passkeys, newest first."""
    return Answer(passkeys.list_own(call.actor, **call.query).collection)


@api.route(
    "POST",
    f"{OWN}/options",
    "users.passkeys.begin_adding",
    calls=passkeys.begin_adding,
    body=PasskeyBegin,
    returns=PasskeyOptionsOut,
    own_transactions=True,
    errors=(Forbidden, CurrentPasswordInvalid, InvalidField, Conflict, RateLimited),
)
def begin_adding(call: Call) -> Answer:
    """Get a challenge to add a passkey in this session. Each person can have ten.

    If two-factor authentication is on, a code is required too.
    """
    return _begun(
        passkeys.begin_adding(call.actor, **call.body, peer=call.peer, settings=current_settings())
    )


@api.route(
    "POST",
    OWN,
    "users.passkeys.add",
    calls=passkeys.add,
    body=PasskeyCreate,
    returns=PasskeyOut,
    status=201,
    own_transactions=True,
    errors=(Forbidden, InvalidField, Conflict),
)
def add(call: Call) -> Answer:
    """Add the passkey that your browser created. It must verify you by PIN or fingerprint."""
    passkey = passkeys.add(call.actor, **call.body, settings=current_settings())
    return created(passkey_json(passkey), f"{OWN}/{passkey.id}")


@api.route(
    "PATCH",
    f"{OWN}/<passkey_id>",
    "users.passkeys.rename",
    calls=passkeys.rename,
    body=PasskeyPatch,
    returns=PasskeyOut,
    errors=(InvalidField, NotFound),
)
def rename(call: Call) -> Answer:
    """Rename your passkey."""
    return Answer(passkey_json(passkeys.rename(call.actor, call.path["passkey_id"], **call.body)))


@api.route(
    "POST",
    f"{OWN}/<passkey_id>/remove",
    "users.passkeys.remove",
    calls=passkeys.remove,
    body=CurrentPasswordBody,
    status=204,
    own_transactions=True,
    errors=(CurrentPasswordInvalid, InvalidField, NotFound, RateLimited),
)
def remove(call: Call) -> Answer:
    """Remove your passkey. It no longer logs you in, and other sessions begun with it end."""
    passkeys.remove(
        call.actor,
        call.path["passkey_id"],
        **call.body,
        peer=call.peer,
        settings=current_settings(),
    )
    return NO_CONTENT


@api.route(
    "GET",
    OTHERS,
    "users.passkeys.list_of",
    calls=passkeys.list_of,
    query=PageQuery,
    returns=PasskeyOut,
    paginated=True,
)
def list_of(call: Call) -> Answer:
    """List the passkeys of a person, newest first."""
    return Answer(passkeys.list_of(call.actor, call.path["user_id"], **call.query).collection)


@api.route(
    "DELETE",
    f"{OTHERS}/<passkey_id>",
    "users.passkeys.remove_of",
    calls=passkeys.remove_of,
    status=204,
    errors=(Conflict,),
)
def remove_of(call: Call) -> Answer:
    """Remove a passkey of someone who lost the device. The sessions begun with it end."""
    passkeys.remove_of(call.actor, call.path["user_id"], call.path["passkey_id"])
    return NO_CONTENT
