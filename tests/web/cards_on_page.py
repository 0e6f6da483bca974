"""Helpers that read a board without a browser: cards, swimlanes, and the token for news."""

import re

from tests.web.conftest import Reader


def shown(text: str) -> list[str]:
    """The display ids of the cards on a page, in order."""
    return re.findall(r'class="card[^"]*" id="[^"]+" data-ref="([\w-]+)"', text)


def swimlane_of(text: str, reference: str) -> str:
    """The swimlane that a card names."""
    return re.search(rf'data-ref="{reference}"[^>]*data-swimlane="([^"]*)"', text).group(1)


def reads(seen: list[str]) -> list[str]:
    """The statements without BEGIN: those for the session and for the news."""
    return [one for one in seen if one != "BEGIN"]


def token_in(text: str) -> str:
    """The token with which the page polls for news."""
    return re.search(r'data-since="([^"]+)"', text).group(1)


def opened(ada: Reader, path: str = "/projects/OPEN/board") -> str:
    """Open a board and return the token with which it polls for news."""
    return token_in(ada.get(path).text)
