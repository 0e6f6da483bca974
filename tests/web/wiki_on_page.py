"""Helpers that read the forms of wiki pages."""

import re
from html import unescape

WIKI = "/projects/OPEN/wiki"


def field(text: str, name: str) -> str:
    """The value of a hidden field."""
    return unescape(re.search(rf'name="{name}" value="([^"]*)"', text).group(1))


def area(text: str, name: str) -> str:
    """The value of a text area."""
    found = re.search(rf'<textarea[^>]* name="{name}"[^>]*>\n(.*?)</textarea>', text, re.DOTALL)
    return unescape(found.group(1))


def body_of(cast, page) -> str:
    return cast.ada.get(f"/wiki/pages/{page['id']}").json["body"]
