"""What people copy from a ticket's page to use elsewhere."""

import re
import unicodedata
from collections.abc import Mapping
from typing import Any

BRANCH_LENGTH = 60
_NOT_IN_BRANCH = re.compile(r"[^a-z0-9]+")


def branch_name(display_id: str, title: str) -> str:
    """``demo-12-fix-the-login``: a name that every version control system takes."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    words = _NOT_IN_BRANCH.sub("-", plain).strip("-")
    return f"{display_id.lower()}-{words}"[:BRANCH_LENGTH].strip("-")


def copies(ticket: Mapping[str, Any], base_url: str) -> list[tuple[str, str]]:
    """What is copied, by what it is called."""
    display_id, title = ticket["display_id"], ticket["title"]
    link = f"{base_url}/tickets/{display_id}"
    # Brackets in a title would end the text of the link.
    said = title.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")
    return [
        ("Link", link),
        ("Id", display_id),
        ("Branch name", branch_name(display_id, title)),
        ("Markdown", f"[{display_id}: {said}]({link})"),
        ("Prompt for an agent", _prompt(display_id, title)),
    ]


def _prompt(display_id: str, title: str) -> str:
    return (
        f"Work on {display_id}: {title}\n\n"
        f"Read ticket://{display_id} with its comments and relations first. "
        "Assign it to yourself and move it to a state in which it is being worked on. "
        "When you are done, comment on what you did and move it on; "
        "if you need a decision, comment with a question and assign it to whoever reported it."
    )
