"""What a board without a browser shows: cards, lanes, and what to ask with for news."""

import re

from tests.web.conftest import Reader


def shown(text: str) -> list[str]:
    """The display ids of the cards on a page, in order."""
    return re.findall(r'class="card[^"]*" id="[^"]+" data-ref="([\w-]+)"', text)


def lane_of(text: str, reference: str) -> str:
    """The lane that a card says it is in."""
    return re.search(rf'data-ref="{reference}"[^>]*data-lane="([^"]*)"', text).group(1)


def reads(seen: list[str]) -> list[str]:
    """What was asked of the database: who asks, and what is new."""
    return [one for one in seen if one != "BEGIN"]


def token_in(text: str) -> str:
    """What to ask with for what is new."""
    return re.search(r'data-since="([^"]+)"', text).group(1)


def opened(ada: Reader, path: str = "/projects/OPEN/board") -> str:
    """Open a board: the token to ask with for what comes after."""
    return token_in(ada.get(path).text)


# What a board shows.
