"""The HTML that each profile allows: one list for bleach, nh3 and the tests."""

from dataclasses import dataclass

from pygments.token import STANDARD_TYPES

from app.markdown import messages
from app.markdown.values import Profile

SCHEMES = frozenset({"http", "https", "mailto"})
REL = "nofollow noopener noreferrer"

# Classes of highlighted code, and those that rendering sets.
CODE_CLASSES = frozenset(filter(None, STANDARD_TYPES.values()))
LINK_CLASSES = frozenset({"wikilink", "ticket-link", "is-titled", "is-done", "is-broken"})
MENTION_CLASSES = frozenset({"mention", "is-bot"})
CELL_CLASSES = frozenset({"align-left", "align-center", "align-right"})

# Tags inside a paragraph.
INLINE = frozenset({"a", "br", "code", "del", "em", "strong"})
_HEADINGS = frozenset({"h2", "h3", "h4", "h5", "h6"})
_TABLE = frozenset({"table", "thead", "tbody", "tr", "th", "td"})
_RESTRICTED = (
    INLINE | {"blockquote", "hr", "li", "ol", "p", "pre", "span", "ul"} | _HEADINGS - {"h2"}
)
_FULL = _RESTRICTED | _HEADINGS | _TABLE | {"img", "input"}


@dataclass(frozen=True, slots=True)
class Allowed:
    """The tags of a profile, their attributes and classes, and the values of some attributes."""

    tags: frozenset[str]
    attributes: dict[str, set[str]]
    values: dict[str, dict[str, set[str]]]
    classes: dict[str, set[str]]


ALLOWED = {
    Profile.RESTRICTED: Allowed(
        tags=_RESTRICTED,
        attributes={"a": {"href", "title", "rel"}, "ol": {"start"}},
        values={"pre": {"tabindex": {"0"}}},
        classes={"span": set(CODE_CLASSES)},
    ),
    Profile.FULL: Allowed(
        tags=_FULL,
        attributes={
            "a": {"href", "title", "rel"},
            "ol": {"start"},
            "span": {"title"},
            "img": {"src", "alt"},
            "input": {"checked", "disabled"},
            **{tag: {"id"} for tag in _HEADINGS},
        },
        values={
            "pre": {"tabindex": {"0"}},
            "img": {"loading": {"lazy"}},
            "table": {"tabindex": {"0"}},
            "input": {"type": {"checkbox"}, "aria-label": {messages.DONE, messages.TO_DO}},
        },
        classes={
            "a": set(LINK_CLASSES),
            "span": set(CODE_CLASSES | LINK_CLASSES | MENTION_CLASSES),
            "td": set(CELL_CLASSES),
            "th": set(CELL_CLASSES),
            "li": {"task"},
            "pre": {"source"},
        },
    ),
}
