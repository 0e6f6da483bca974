"""Messages of feeds to people."""

ACTIVITY_NEEDS_A_PROJECT = "An activity feed needs a project."

# Pages
SELECT_A_FEED = "Select a feed."
OWN_DUE_DATES = "Due dates of my tickets (calendar)"


def due_dates_of(key: str) -> str:
    return f"{key}: due dates (calendar)"


def activity_of(key: str) -> str:
    return f"{key}: activity"


# What feeds say
def feed_title(app_name: str, about: str) -> str:
    return f"{app_name}: {about}"


SYSTEM = "System"
