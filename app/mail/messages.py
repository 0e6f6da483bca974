"""What is said about mails, apart from what stands in them."""

# Kinds of mail
CONFIRM_ADDRESS = "Confirm address"
ADDRESS_CHANGED = "Address changed"
PASSWORD_RESET = "Password reset"
INVITATION = "Invitation"
NOTICE = "Notice"
DAILY_DIGEST = "Daily digest"

# Why a mail was not sent
NO_STARTTLS_OR_LOGIN = "the server does not offer STARTTLS or a login"
NO_PASSWORD_LOGIN = "the server does not offer a login with a password"
TLS_REJECTED = "TLS: the certificate or handshake was rejected"
SERVER_UNRESOLVED = "the name of the mail server could not be resolved"
CONNECTION_REFUSED = "connection refused"
CONNECTION_CLOSED = "the mail server closed the connection"
CONNECTION_FAILED = "the connection failed"
TOO_LONG = "timeout: the mail server took too long"


def internal_error(kind: str) -> str:
    return f"internal error: {kind}"


# The command that tests it
OFF = "Email is off. Set SMTP_URL and MAIL_FROM."
SPECIFY_AN_ADDRESS = "Specify an address such as ada@example.org."


def test_subject(app_name: str) -> str:
    return f"Test message from {app_name}"


TEST_HEADING = "It works"


def test_text(app_name: str) -> str:
    return f"{app_name} can send email through your server."


TEST_REASON = "Sent by “flask mail test”."


def not_sent(error: str | None) -> str:
    return f"Not sent: {error}"


def sent(address: str) -> str:
    return f"The server accepted the message for {address}."


SMTP_URL_MISSING = "SMTP_URL is not set"
