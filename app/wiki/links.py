"""The link graph: what pages name, which page a slug means, backlinks and broken links.

A ``[[slug]]`` means the page of its own scope, else the global one, else it is broken. That is
decided when the graph is read, so a page made later heals links and a deleted one breaks them.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from sqlalchemy import (
    ColumnElement,
    String,
    and_,
    bindparam,
    case,
    delete,
    exists,
    func,
    insert,
    or_,
    select,
)
from sqlalchemy.orm import aliased

from app import markdown
from app.core import ids
from app.core.actor import Access, Actor, operation
from app.core.errors import NotFound
from app.core.ids import as_uuid
from app.database.pagination import Page
from app.database.pagination import page as paginate
from app.database.session import AnySelect, Prepared, session
from app.database.sql_functions import Position
from app.wiki import loaders
from app.wiki.builders import page_summary
from app.wiki.models import WikiLink, WikiPage, WikiTicketLink

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


def store(wiki_page: WikiPage) -> None:
    """Keep what the page's body names now; links that stay keep their rows."""
    found = markdown.parse(wiki_page.body)
    _replace_slugs(wiki_page.id, set(found.slugs))
    session.execute(delete(WikiTicketLink).where(WikiTicketLink.page_id == wiki_page.id))
    if found.tickets:
        session.execute(
            insert(WikiTicketLink),
            [{"page_id": wiki_page.id, "display_id": display_id} for display_id in found.tickets],
        )


def _replace_slugs(page_id: str, wanted: set[str]) -> None:
    before = set(session.scalars(select(WikiLink.target_slug).where(WikiLink.page_id == page_id)))
    gone = before - wanted
    if gone:
        session.execute(
            delete(WikiLink).where(WikiLink.page_id == page_id, WikiLink.target_slug.in_(gone))
        )
    rows = []
    for slug in sorted(wanted - before):
        identifier = ids.new_id()
        rows.append(
            {
                "id": identifier,
                "page_id": page_id,
                "target_slug": slug,
                "created_at": ids.created_ms(identifier),
            }
        )
    if rows:
        session.execute(insert(WikiLink), rows)


def _has_own_page() -> ColumnElement[bool]:
    """Whether the linking page's own scope has a live page of the slug."""
    own = aliased(WikiPage, name="own")
    return exists(
        select(own.id).where(
            own.slug == WikiLink.target_slug,
            own.deleted_at.is_(None),
            own.project_id == WikiPage.project_id,
        )
    )


def _has_global_page() -> ColumnElement[bool]:
    common = aliased(WikiPage, name="common")
    return exists(
        select(common.id).where(
            common.slug == WikiLink.target_slug,
            common.deleted_at.is_(None),
            common.project_id.is_(None),
        )
    )


@lru_cache
def _linking(fenced: bool) -> AnySelect:
    """Links of live pages that an actor can see (``loaders.fence``)."""
    return (
        select(
            WikiLink.id.label("link_id"),
            WikiLink.created_at,
            WikiLink.target_slug,
            WikiPage.id,
            WikiPage.slug,
            WikiPage.title,
            WikiPage.project_id,
        )
        .join(WikiPage, WikiPage.id == WikiLink.page_id)
        .where(WikiPage.deleted_at.is_(None), loaders.seen(fenced=fenced))
    )


@lru_cache
def _meaning(fenced: bool, is_global: bool) -> AnySelect:
    """Links of a slug that mean the global page of it, or a project's."""
    statement = _linking(fenced).where(WikiLink.target_slug == bindparam("slug"))
    if is_global:
        return statement.where(or_(WikiPage.project_id.is_(None), ~_has_own_page()))
    return statement.where(WikiPage.project_id == bindparam("project_id"))


@lru_cache
def _broken(fenced: bool) -> AnySelect:
    return _linking(fenced).where(and_(~_has_own_page(), ~_has_global_page()))


@operation(Access.READ)
def list_backlinks(
    actor: Actor,
    page_id: str,
    *,
    limit: int,
    cursor: str | None,
    include_deleted: bool = False,
) -> Page:
    """The pages whose links mean this one, each once, the newest link first."""
    if as_uuid(page_id) is None:
        raise NotFound("wiki_page", page_id)
    target = loaders.visible(actor, page_id, include_deleted=include_deleted)
    return links_to(actor, target.slug, target.project_id, limit=limit, cursor=cursor)


def links_to(
    actor: Actor, slug: str, project_id: str | None, *, limit: int, cursor: str | None = None
) -> Page:
    """The pages whose links mean the page of this slug and scope, the newest link first."""
    fence = loaders.fence(actor)
    scope = {"project_id": project_id} if project_id is not None else {}
    return paginate(
        _meaning(bool(fence), project_id is None),
        kind="backlink",
        sort=WikiLink.created_at,
        id_column=WikiLink.id,
        limit=limit,
        cursor=cursor,
        build=lambda rows: [page_summary(row) for row in rows],
        id_key="link_id",
        values={"slug": slug, **scope, **fence},
    )


@operation(Access.READ)
def list_broken_links(actor: Actor, *, limit: int, cursor: str | None) -> Page:
    """Links that mean no page, one row per page and target, the newest first."""
    fence = loaders.fence(actor)
    return paginate(
        _broken(bool(fence)),
        kind="broken_link",
        sort=WikiLink.created_at,
        id_column=WikiLink.id,
        limit=limit,
        cursor=cursor,
        build=lambda rows: [
            {"target_slug": row.target_slug, "page": page_summary(row)} for row in rows
        ],
        id_key="link_id",
        values=fence,
    )
