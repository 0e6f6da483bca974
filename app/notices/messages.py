"""What notices say, and the words of their mails."""

SELECT_HOW_OFTEN = "Select how often mail comes."
ENTER_A_TIME_ZONE = "Enter a time zone such as Europe/Berlin."

# Mails
OPEN_TICKET = "Open ticket"


def tickets(count: int) -> str:
    return "1 ticket" if count == 1 else f"{count} tickets"


def more_than(count: int) -> str:
    return f"more than {count} tickets"


def news_subject(app_name: str, tickets: str) -> str:
    return f"{app_name}: news on {tickets}"


def news_heading(tickets: str) -> str:
    return f"News on {tickets}"


OPEN_INBOX = "Open inbox"
SYSTEM = "System"


def happened(name: str, sentence: str) -> str:
    return f"{name} {sentence}"


def reason(username: str, base_url: str) -> str:
    return (
        f"You get this as {username}, since these tickets concern you and this was unread. "
        f"Replies are not read. Change it: {base_url}/profile/mail"
    )
