"""Texts of notices and of their mails."""

SELECT_HOW_OFTEN = "Select how often you get email."
ENTER_A_TIME_ZONE = "Enter a time zone such as Europe/Berlin."

# Mails
OPEN_TICKET = "Open ticket"


def tickets(count: int) -> str:
    return "1 ticket" if count == 1 else f"{count} tickets"


def more_than(count: int) -> str:
    return f"more than {count} tickets"


def news_subject(app_name: str, tickets: str) -> str:
    return f"{app_name}: updates on {tickets}"


def news_heading(tickets: str) -> str:
    return f"Updates on {tickets}"


OPEN_INBOX = "Open inbox"
SYSTEM = "System"


def happened(name: str, sentence: str) -> str:
    return f"{name} {sentence}"


def reason(username: str, base_url: str) -> str:
    return (
        f"You're receiving this as {username} because you watch, are assigned to, "
        f"reported, commented on or were mentioned in these tickets. Replies to this email are not "
        f"read. Manage notifications: {base_url}/profile/mail"
    )
