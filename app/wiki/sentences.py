"""The sentence in which a page links to another one, for the list of what links to that."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import String, bindparam, case, func, select

from app.database.position import Position
from app.database.session import Prepared
from app.wiki.models import WikiPage

# What is read of a body around its first link: on each side, and in all.
BEFORE = 300
READ = 900
# What is shown on each side of the link.
SHOWN = 110
# How a link goes on after the slug: at once at its end, or with words of its own.
_FORMS = {"plain": "]]", "named": "|"}

# Where a paragraph, an item of a list, a heading or a row of a table begins.
_BLOCK = re.compile(r"\n[ \t]*\n|\n(?=[ \t]*(?:(?:[-+*>]|#{1,6}|[0-9]{1,9}[.)])\s|\|))")
_MARKER = re.compile(r"\A\s*(?:(?:[-+*>]|#{1,6}|[0-9]{1,9}[.)])\s+(?:\[[ xX]\]\s+)?|\|\s*)")
_END = re.compile(r"(?<=[.!?])\s+")
_WIKI = re.compile(r"\[\[(?:ticket:)?([^\[\]|\n]{1,200})(?:\|([^\[\]\n]{1,300}))?\]\]")
_LINK = re.compile(r"!?\[([^\[\]]{0,200})\]\([^()\s]{0,500}\)")
_EMPHASIS = re.compile(r"`+|\*+|~~|(?<!\w)_+|_+(?!\w)")


@dataclass(frozen=True, slots=True)
class Sentence:
    """What stands before the link, the link's own words, and what stands after it."""

    before: str
    link: str
    after: str


def _around() -> Prepared:
    """A piece of the body of each of ``page_ids``, around the first link that is one of both."""
    plain, named = (Position(WikiPage.body, bindparam(one, type_=String)) for one in _FORMS)
    at = case(
        (plain == 0, named),
        (named == 0, plain),
        (plain < named, plain),
        else_=named,
    )
    start = case((at > BEFORE, at - BEFORE), else_=1)
    return Prepared(
        select(
            WikiPage.id,
            func.substr(WikiPage.body, start, READ).label("text"),
            start.label("start"),
        ).where(WikiPage.id.in_(bindparam("page_ids", expanding=True)), at > 0)
    )


_AROUND = _around()


def around(page_ids: Iterable[str], slug: str) -> dict[str, Sentence]:
    """By page, the sentence around its first link to this slug, in one statement."""
    wanted = list(page_ids)
    if not wanted:
        return {}
    forms = {name: f"[[{slug}{end}" for name, end in _FORMS.items()}
    rows = _AROUND.all(page_ids=wanted, **forms)
    found = {row.id: sentence(row.text, slug, is_cut=row.start > 1) for row in rows}
    return {page_id: one for page_id, one in found.items() if one is not None}


def sentence(text: str, slug: str, *, is_cut: bool = False) -> Sentence | None:
    """The sentence around the first link to the slug; ``is_cut``: the text has no beginning."""
    link = re.search(rf"\[\[{re.escape(slug)}(?:\|([^\[\]\n]{{1,300}}))?\]\]", text)
    if link is None:
        return None
    before, after = text[: link.start()], text[link.end() :]
    blocks = _BLOCK.split(before)
    begins = len(blocks) > 1 or not is_cut
    sentences = _END.split(_MARKER.sub("", blocks[-1], count=1) if begins else blocks[-1])
    begins = begins or len(sentences) > 1
    before = _plain(sentences[-1])
    after = _plain(_END.split(_BLOCK.split(after, maxsplit=1)[0], maxsplit=1)[0])
    if not begins or len(before) > SHOWN:
        before = f"… {before[-SHOWN:].partition(' ')[2]}"
    if len(after) > SHOWN:
        after = f"{after[:SHOWN].rpartition(' ')[0]} …"
    return Sentence(before, (link[1] or slug).strip() or slug, after)


def _plain(text: str) -> str:
    """One line without marks; a space at its end stays, as the link follows."""
    text = _WIKI.sub(lambda found: found[2] or found[1], text)
    text = _EMPHASIS.sub("", _LINK.sub(r"\1", text)).replace("|", " ")
    return re.sub(r"\s+", " ", text)
