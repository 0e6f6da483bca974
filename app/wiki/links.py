"""The link graph: stored links, backlinks, the sentences around links, broken links.

A ``[[slug]]`` means the page in its own scope, else the global one, else it is broken. Reads decide
that, so a page created later repairs links and a deleted one breaks them.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from sqlalchemy import (
    ColumnElement,
    Integer,
    String,
    bindparam,
    case,
    delete,
    exists,
    func,
    insert,
    literal_column,
    or_,
    select,
)
from sqlalchemy.orm import aliased

from app import markdown
from app.core import ids
from app.core.actor import Access, Actor, operation
from app.database.pagination import Page
from app.database.pagination import page as paginate
from app.database.session import AnySelect, Prepared, session
from app.database.sql_functions import Position
from app.wiki import loaders
from app.wiki.builders import page_summary
from app.wiki.models import WikiLink, WikiPage, WikiTicketLink

# The characters of a body that are read: before its first link, and in total.
LEAD_LENGTH = 300
READ_LENGTH = 900
# The characters shown on each side of the link.
SIDE_LENGTH = 110
# The text after the slug in a link; a table escapes its bar.
_FORMS = {"plain": "]]", "named": "|", "escaped": "\\|"}

# Where a paragraph, list item, heading or table row begins.
_BLOCK = re.compile(r"\n[ \t]*\n|\n(?=[ \t]*(?:(?:[-+*>]|#{1,6}|[0-9]{1,9}[.)])\s|\|))")
_MARKER = re.compile(r"\A\s*(?:(?:[-+*>]|#{1,6}|[0-9]{1,9}[.)])\s+(?:\[[ xX]\]\s+)?|\|\s*)")
_END = re.compile(r"(?<=[.!?])\s+")
_WIKI = re.compile(r"\[\[(?:ticket:)?([^\[\]|\n]{1,200})(?:\|([^\[\]\n]{1,300}))?\]\]")
_LINK = re.compile(r"!?\[([^\[\]]{0,200})\]\([^()\s]{0,500}\)")
_EMPHASIS = re.compile(r"`+|\*+|~~|(?<!\w)_+|_+(?!\w)")


@dataclass(frozen=True, slots=True)
class Sentence:
    """The text before a link, the link's own text, and the text after it."""

    before: str
    link: str
    after: str


def _first_of(one: ColumnElement[int], other: ColumnElement[int]) -> ColumnElement[int]:
    return case((one == 0, other), (other == 0, one), (one < other, one), else_=other)


def _around() -> Prepared:
    """The part of each page's body around the first link, in any form."""
    position: ColumnElement[int] = literal_column("0", Integer)
    for form in _FORMS:
        position = _first_of(position, Position(WikiPage.body, bindparam(form, type_=String)))
    start = case((position > LEAD_LENGTH, position - LEAD_LENGTH), else_=1)
    return Prepared(
        select(
            WikiPage.id,
            func.substr(WikiPage.body, start, READ_LENGTH).label("text"),
            start.label("start"),
        ).where(WikiPage.id.in_(bindparam("page_ids", expanding=True)), position > 0)
    )


_AROUND = _around()


def around(page_ids: Iterable[str], slug: str) -> dict[str, Sentence]:
    """By page id, the sentence around its first link to this slug, in one statement."""
    page_ids = list(page_ids)
    if not page_ids:
        return {}
    forms = {name: f"[[{slug}{end}" for name, end in _FORMS.items()}
    sentences: dict[str, Sentence] = {}
    for row in _AROUND.all(page_ids=page_ids, **forms):
        found = sentence(row.text, slug, is_cut=row.start > 1)
        if found is not None:
            sentences[row.id] = found
    return sentences


def sentence(text: str, slug: str, *, is_cut: bool = False) -> Sentence | None:
    """The sentence around the first link to the slug; ``is_cut``: the text begins mid-body."""
    link = re.search(rf"\[\[{re.escape(slug)}(?:\\?\|([^\[\]\n]{{1,300}}))?\]\]", text)
    if link is None:
        return None
    before, after = text[: link.start()], text[link.end() :]
    blocks = _BLOCK.split(before)
    begins = len(blocks) > 1 or not is_cut
    sentences = _END.split(_MARKER.sub("", blocks[-1], count=1) if begins else blocks[-1])
    begins = begins or len(sentences) > 1
    before = _plain(sentences[-1])
    after = _plain(_END.split(_BLOCK.split(after, maxsplit=1)[0], maxsplit=1)[0])
    if not begins or len(before) > SIDE_LENGTH:
        before = f"… {before[-SIDE_LENGTH:].partition(' ')[2]}"
    if len(after) > SIDE_LENGTH:
        after = f"{after[:SIDE_LENGTH].rpartition(' ')[0]} …"
    return Sentence(before, _plain(link[1] or "").strip() or slug, after)


def _plain(text: str) -> str:
    """The text on one line without markup; a trailing space stays before the link."""
    text = _WIKI.sub(lambda match: match[2] or match[1], text)
    text = _EMPHASIS.sub("", _LINK.sub(r"\1", text)).replace("|", " ")
    return re.sub(r"\s+", " ", text)


def store(page: WikiPage) -> None:
    """Store the links of the page's body; unchanged page links keep their rows."""
    links = markdown.parse(page.body)
    _replace_slugs(page.id, set(links.slugs))
    session.execute(delete(WikiTicketLink).where(WikiTicketLink.page_id == page.id))
    if links.tickets:
        session.execute(
            insert(WikiTicketLink),
            [{"page_id": page.id, "display_id": display_id} for display_id in links.tickets],
        )


def _replace_slugs(page_id: str, slugs: set[str]) -> None:
    before = set(session.scalars(select(WikiLink.target_slug).where(WikiLink.page_id == page_id)))
    removed = before - slugs
    if removed:
        session.execute(
            delete(WikiLink).where(WikiLink.page_id == page_id, WikiLink.target_slug.in_(removed))
        )
    rows = []
    for slug in sorted(slugs - before):
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
    """Whether the project of the linking page has a live page of the slug."""
    own = aliased(WikiPage, name="own")
    return _has_live_page(own, own.project_id == WikiPage.project_id)


def _has_global_page() -> ColumnElement[bool]:
    common = aliased(WikiPage, name="common")
    return _has_live_page(common, common.project_id.is_(None))


def _has_live_page(page: type[WikiPage], in_scope: ColumnElement[bool]) -> ColumnElement[bool]:
    return exists(
        select(page.id).where(
            page.slug == WikiLink.target_slug, page.deleted_at.is_(None), in_scope
        )
    )


@lru_cache
def _links_of_live_pages(has_allowlist: bool) -> AnySelect:
    """Links of live pages that an actor can see; for ``has_allowlist`` see ``loaders.seen``."""
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
        .where(WikiPage.deleted_at.is_(None), loaders.seen(has_allowlist=has_allowlist))
    )


@lru_cache
def _backlinks(has_allowlist: bool, is_global: bool) -> AnySelect:
    """Links that mean the global page of a slug, or a project's."""
    statement = _links_of_live_pages(has_allowlist).where(WikiLink.target_slug == bindparam("slug"))
    if is_global:
        return statement.where(or_(WikiPage.project_id.is_(None), ~_has_own_page()))
    return statement.where(WikiPage.project_id == bindparam("project_id"))


@lru_cache
def _broken(has_allowlist: bool) -> AnySelect:
    return _links_of_live_pages(has_allowlist).where(~_has_own_page(), ~_has_global_page())


# The most broken links in the response to a save.
MAX_BROKEN_LINKS = 50
_BROKEN_OF = Prepared(
    select(WikiLink.target_slug)
    .join(WikiPage, WikiPage.id == WikiLink.page_id)
    .where(WikiLink.page_id == bindparam("page_id"), ~_has_own_page(), ~_has_global_page())
    .order_by(WikiLink.target_slug)
    .limit(literal_column(str(MAX_BROKEN_LINKS), Integer))
)


def broken_of(page: WikiPage) -> list[str]:
    """The slugs in links of this page that mean no page, the first of them."""
    return [row.target_slug for row in _BROKEN_OF.all(page_id=page.id)]


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
    target = loaders.visible_by_id(actor, page_id, include_deleted=include_deleted)
    return links_to(actor, target.slug, target.project_id, limit=limit, cursor=cursor)


def links_to(
    actor: Actor, slug: str, project_id: str | None, *, limit: int, cursor: str | None = None
) -> Page:
    """The pages whose links mean the page of this slug and scope, the newest link first."""
    allowlist = loaders.allowlist_of(actor)
    scope = {"project_id": project_id} if project_id is not None else {}
    return paginate(
        _backlinks(bool(allowlist), project_id is None),
        kind="backlink",
        sort=WikiLink.created_at,
        id_column=WikiLink.id,
        limit=limit,
        cursor=cursor,
        build=lambda rows: [page_summary(row) for row in rows],
        id_key="link_id",
        values={"slug": slug, **scope, **allowlist},
    )


@operation(Access.READ)
def list_broken_links(actor: Actor, *, limit: int, cursor: str | None) -> Page:
    """Links that mean no page, one row per page and target, the newest first."""
    allowlist = loaders.allowlist_of(actor)
    return paginate(
        _broken(bool(allowlist)),
        kind="broken_link",
        sort=WikiLink.created_at,
        id_column=WikiLink.id,
        limit=limit,
        cursor=cursor,
        build=lambda rows: [
            {"target_slug": row.target_slug, "page": page_summary(row)} for row in rows
        ],
        id_key="link_id",
        values=allowlist,
    )
