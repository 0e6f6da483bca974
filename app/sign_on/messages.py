"""Texts of single sign-on for people."""

NOT_STARTED_HERE = "This login was not started in this browser or took too long. Try again."
NO_RESPONSE = "The identity provider did not respond. Try again later."
DENIED = "The identity provider did not log you in."
NO_ACCOUNT = (
    "No account here belongs to this login. Log in with your password and link it in your "
    "profile, or ask a teammate to invite you."
)
NO_CONFIRMED_EMAIL = "The identity provider did not confirm an email address."
DOMAIN_NOT_ALLOWED = "This email address is not allowed here."
LOGGED_OUT = "The identity provider ended this login. Log in again."
ACCOUNT_DEACTIVATED = "This account is deactivated."
NOT_SET_UP = "Set up this service first."


# Logins that are linked to an account
ALREADY_LINKED = "This login is already linked to an account."
REMOVE_A_LOGIN_FIRST = "Remove a linked login first."
REMOVE_OWN_LOGINS_IN_PROFILE = "Remove your own linked logins in your profile."
ONLY_WAY_TO_LOG_IN = "This is your only way to log in."

# Why the provider cannot be used
FAILED_JUST_NOW = "it failed just now"
NO_USABLE_KEYS = "it publishes no usable keys"


def other_issuer(found: object) -> str:
    return f"its metadata names another issuer: {found!r:.200}"


def no_address(name: str) -> str:
    return f"{name} is not an address"


def not_https(name: str) -> str:
    return f"{name} is neither https nor on this machine"


def no_answer(address: str, kind: str) -> str:
    return f"no response from {address}: {kind}"


def status(address: str, status: int, error: str) -> str:
    return f"status {status} from {address}" + (f": {error}" if error else "")


def answer_not_json(address: str) -> str:
    return f"the response from {address} is not a JSON object"


ANSWER_TOO_LONG = "the response is too long"
ANSWER_TOO_SLOW = "the response took too long"
