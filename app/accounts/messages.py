"""Messages of accounts to people and API clients, and the texts of their mails."""

# Who somebody is
EMAIL_IN_USE = "This email address is already in use."
EMAIL_INVALID = "email must be an address such as ada@example.org."
USERNAME_INVALID = (
    "username must be 2 to 64 characters: a-z, 0-9, dots, hyphens and underscores, starting with "
    "a letter or digit."
)


def username_reserved(username: str) -> str:
    return f"{username} is reserved."


def username_taken(username: str) -> str:
    return f"The username {username} is already taken."


def not_an_active_human(field: str) -> str:
    return f"{field} must be an active human."


def not_an_active_user(field: str) -> str:
    return f"{field} must be an active user."


def cannot_see_project(field: str) -> str:
    return f"{field} cannot see this project."


LAST_ACTIVE_PERSON = "At least one person must stay active."

# Setting up and logging in
ASK_USERNAME = "Username"
ASK_PASSWORD = "Password"


def admin_created(username: str, base_url: str) -> str:
    return f"Created {username}. Log in at {base_url}/"


SETUP_IS_COMPLETE = "Setup is already complete. Log in instead."
LOGIN_INCORRECT = "Incorrect username or password."
CODE_REQUIRED = "Send a code from the authenticator app, or a recovery code, as code."
CODE_INCORRECT = "The code is incorrect or was already used."
LOGIN_STEP_OVER = "You took too long. Enter your password again."


def wait_and_try_again(minutes: int) -> str:
    unit = "minute" if minutes == 1 else "minutes"
    return f"Too many attempts. Wait {minutes} {unit} and try again."


TOTP_IS_ON = "Two-factor authentication is already on."
TOTP_NOT_SET_UP = "Set up two-factor authentication first."
TURN_OFF_TOTP_IN_PROFILE = "Turn off your own two-factor authentication in your profile."
TOTP_IS_OFF = "Two-factor authentication is off."

# Invitations and links to choose a password
EMAIL_NEEDED = "Enter an email address for this person."
USERNAME_NEEDED = "Enter a username for this name."
OWN_PASSWORD_IN_PROFILE = "Change your own password in your profile."
PERSON_NOT_ACTIVE = "Activate this person first."


NO_CONFIRMED_EMAIL = "This person has no confirmed email address."
MAIL_IS_OFF = "Email is off. Send the link yourself."


# Mails: an address that waits for its confirmation
def confirm_subject(app_name: str) -> str:
    return f"Confirm your email address for {app_name}"


CONFIRM_HEADING = "Confirm your email address"


def confirm_text(username: str, app_name: str) -> str:
    return (
        f"This address was entered for the account {username} in {app_name}. Confirm it to "
        "receive email here."
    )


LINK_WORKS_A_DAY = "The link works for 24 hours."
CONFIRM_BUTTON = "Confirm address"
CONFIRM_REASON = "If this wasn't you, ignore this email. You won't get another one."


# Mails: an address that was changed
def changed_subject(app_name: str) -> str:
    return f"Your email address in {app_name} was changed"


CHANGED_HEADING = "Your email address was changed"


def changed_text(username: str, app_name: str) -> str:
    return (
        f"The account {username} in {app_name} no longer uses this address. Email goes to the "
        "new address once it is confirmed."
    )


CHANGED_REASON = "If this wasn't you, tell an administrator right away."

# Mails: a password to choose
PASSWORD_BUTTON = "Choose a password"


def reset_subject(app_name: str) -> str:
    return f"Choose a new password for {app_name}"


RESET_HEADING = "Choose a new password"


def reset_text(username: str) -> str:
    return (
        f"This link sets a new password for {username}. It works once, for 24 hours. Your "
        "password stays as it is until you use it."
    )


RESET_REASON = "If you didn't request this, ignore this email."


# Mails: a password that is requested by whom the provider logs in
def provider_subject(app_name: str) -> str:
    return f"How to log in to {app_name}"


PROVIDER_HEADING = "Log in with single sign-on"


def provider_text(username: str) -> str:
    return (
        f"A new password was requested for {username}. This account has no password: on the login "
        "page, select “Continue with single sign-on”."
    )


PROVIDER_BUTTON = "Log in"


def invitation_subject(app_name: str) -> str:
    return f"Your invitation to {app_name}"


def invitation_heading(app_name: str) -> str:
    return f"Join {app_name}"


def invitation_text(username: str) -> str:
    return (
        f"You were invited as {username}. Choose a password to log in. The link works once, for "
        "24 hours."
    )


INVITATION_REASON = "If you weren't expecting this, ignore this email. You won't get another one."

# Passkeys
PASSKEY_TOOK_TOO_LONG = "This took too long. Try again."
PASSKEY_NOT_ACCEPTED = "This passkey was not accepted. Use another one, or your password."
PASSKEY_DOES_NOT_WORK = "The browser did not create a passkey that works here. Try again."
PASSKEY_IN_USE = "This passkey is already in use."


def too_many_passkeys(limit: int) -> str:
    return f"You have {limit} passkeys. Remove one first."


REMOVE_OWN_PASSKEYS_IN_PROFILE = "Remove your own passkeys in your profile."
