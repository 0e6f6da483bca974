"""REST endpoints of the second factor of logins."""

from app.accounts import second_factor
from app.accounts.schemas import (
    CodeBody,
    CurrentPasswordBody,
    NewSecondFactorOut,
    PasswordAndCodeBody,
    RecoveryCodesOut,
    SecondFactorStatusOut,
)
from app.core.errors import Conflict, CurrentPasswordInvalid, InvalidField, RateLimited
from app.http.current import current_settings
from app.rest.routing import NO_CONTENT, Answer, Api, Call

OWN = "/users/me/totp"

api = Api("users")


@api.route(
    "GET", OWN, "users.totp.get", calls=second_factor.get_status, returns=SecondFactorStatusOut
)
def get_status(call: Call) -> Answer:
    """Show whether logging in with your password requires a code."""
    status = second_factor.get_status(call.actor)
    return Answer(
        {"is_enabled": status.is_enabled, "recovery_codes_left": status.recovery_codes_left}
    )


@api.route(
    "POST",
    OWN,
    "users.totp.set_up",
    calls=second_factor.set_up,
    body=CurrentPasswordBody,
    returns=NewSecondFactorOut,
    own_transactions=True,
    errors=(CurrentPasswordInvalid, InvalidField, Conflict, RateLimited),
)
def set_up(call: Call) -> Answer:
    """Create a secret for your authenticator app. Logins require its codes once one is confirmed.

    Confirm it in the same session within ten minutes.
    """
    made = second_factor.set_up(
        call.actor, **call.body, peer=call.peer, settings=current_settings()
    )
    return Answer({"secret": made.secret, "otpauth_uri": made.address})


@api.route(
    "POST",
    f"{OWN}/confirm",
    "users.totp.confirm",
    calls=second_factor.confirm,
    body=CodeBody,
    returns=RecoveryCodesOut,
    errors=(InvalidField, Conflict),
)
def confirm(call: Call) -> Answer:
    """Turn on two-factor authentication with a first code.

    The response contains ten recovery codes, shown only once. Bots and their API keys need no code.
    """
    return Answer({"recovery_codes": second_factor.confirm(call.actor, **call.body)})


@api.route(
    "POST",
    f"{OWN}/recovery-codes",
    "users.totp.recovery_codes",
    calls=second_factor.make_recovery_codes,
    body=PasswordAndCodeBody,
    returns=RecoveryCodesOut,
    own_transactions=True,
    errors=(CurrentPasswordInvalid, InvalidField, Conflict, RateLimited),
)
def make_recovery_codes(call: Call) -> Answer:
    """Replace your recovery codes. The old ones stop working."""
    codes = second_factor.make_recovery_codes(
        call.actor, **call.body, peer=call.peer, settings=current_settings()
    )
    return Answer({"recovery_codes": codes})


@api.route(
    "POST",
    f"{OWN}/disable",
    "users.totp.disable",
    calls=second_factor.disable,
    body=PasswordAndCodeBody,
    status=204,
    own_transactions=True,
    errors=(CurrentPasswordInvalid, InvalidField, Conflict, RateLimited),
)
def disable(call: Call) -> Answer:
    """Turn off your two-factor authentication."""
    second_factor.disable(call.actor, **call.body, peer=call.peer, settings=current_settings())
    return NO_CONTENT


@api.route(
    "DELETE",
    "/users/<user_id>/totp",
    "users.totp.reset",
    calls=second_factor.reset,
    status=204,
    errors=(Conflict,),
)
def reset(call: Call) -> Answer:
    """Turn off the two-factor authentication of someone who lost the app and the recovery codes."""
    second_factor.reset(call.actor, call.path["user_id"])
    return NO_CONTENT
