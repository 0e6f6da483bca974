"""Messages of the inbox to people and bots."""

EVENT_NOT_FOUND = "Event not found."
SINCE_INVALID = "Use a time such as 2026-11-20T19:23:58Z, or the news_cursor of a result."

# Tickets that wait for sign-off
NO_DONE_STATE = "This project has no done state."
SAY_WHAT_IS_MISSING = "Say what is missing so the bot knows what to do."


def not_waiting(display_id: str) -> str:
    return f"{display_id} no longer waits for sign-off."


NO_OTHER_OPEN_STATE = "This project has no other open state."


# Pages
def mentioned_on(ticket: str) -> str:
    return f"mentioned you on {ticket}"


MENTIONED = "mentioned you"
SYSTEM = "System"


def assigned_to(name: str) -> str:
    return f"assigned to {name}"


UNASSIGNED = "unassigned"


def cannot_hand_back(display_id: str, now: str) -> str:
    return f"{display_id} can no longer be handed back. It is {now}."
