"""The texts of tasks and of broken links in rendered texts."""

DONE = "Done"
TO_DO = "To do"


def no_page(slug: str) -> str:
    return f"There is no page {slug}"


def no_ticket(display_id: str) -> str:
    return f"There is no ticket {display_id}"


def create_it(missing: str) -> str:
    return f"{missing}: create it"
