"""REST endpoints of the wiki."""

from functools import partial

from app.accounts.bot_reads import Shown, page_seen
from app.core.errors import Conflict, Gone, InvalidField
from app.rest.fields import DeletedPageQuery, DeletedQuery, PageQuery
from app.rest.routing import NO_CONTENT, Answer, Api, Call, created
from app.wiki import links, service
from app.wiki.builders import page_json
from app.wiki.models import WikiPage
from app.wiki.schemas import (
    BrokenLinkOut,
    PageFilters,
    PageLookup,
    WikiPageCreate,
    WikiPageOut,
    WikiPagePatch,
    WikiPageRowOut,
    WikiPageSummaryOut,
    WikiRevisionOut,
    WikiRevisionRowOut,
)

api = Api("wiki")

PAGE = "/wiki/pages/<page_id>"


def _seen(page: WikiPage) -> partial[list[Shown]]:
    """The record that a response contains the whole page."""
    return partial(page_seen, page.id, page.revision_number)


@api.route(
    "GET",
    "/wiki/pages",
    "wiki.pages.list",
    calls=service.list_pages,
    query=PageFilters,
    returns=WikiPageRowOut,
    paginated=True,
    leads_to=("wiki.pages.get",),
)
def list_pages(call: Call) -> Answer:
    """List wiki pages, newest first; `project_id=null` gives the global ones."""
    return Answer(service.list_pages(call.actor, **call.query).collection)


@api.route(
    "POST",
    "/wiki/pages",
    "wiki.pages.create",
    calls=service.create_page,
    body=WikiPageCreate,
    returns=WikiPageOut,
    status=201,
    idempotent=True,
    leads_to=("wiki.pages.get", "wiki.pages.update", "wiki.revisions.list"),
    # The project named in the body may be deleted.
    errors=(Conflict, Gone),
)
def create_page(call: Call) -> Answer:
    """Create a wiki page in a project, or a global one."""
    page = service.create_page(call.actor, **call.body)
    answer = service.created_json(page, call.body.get("slug"))
    return created(answer, f"/wiki/pages/{page.id}", etag=page.etag, shows=_seen(page))


@api.route(
    "GET",
    "/wiki/pages/<slug_or_id>",
    "wiki.pages.get",
    calls=service.get_page,
    query=PageLookup,
    returns=WikiPageOut,
    conditional=True,
    errors=(InvalidField,),
)
def get_page(call: Call) -> Answer:
    """Fetch a wiki page by id or slug; `project_id` says which wiki a slug is in."""
    page = service.get_page(call.actor, call.path["slug_or_id"], **call.query)
    return Answer(page_json(page), etag=page.etag, shows=_seen(page))


@api.route(
    "PATCH",
    PAGE,
    "wiki.pages.update",
    calls=service.update_page,
    body=WikiPagePatch,
    returns=WikiPageOut,
    if_match=True,
)
def update_page(call: Call) -> Answer:
    """Save a wiki page as a new revision."""
    page = service.update_page(
        call.actor, call.path["page_id"], if_match=call.if_match, **call.body
    )
    return Answer(service.saved_json(page), etag=page.etag, shows=_seen(page))


@api.route(
    "DELETE", PAGE, "wiki.pages.delete", calls=service.delete_page, status=204, if_match=True
)
def delete_page(call: Call) -> Answer:
    """Soft-delete a wiki page; its revisions stay."""
    service.delete_page(call.actor, call.path["page_id"], if_match=call.if_match)
    return NO_CONTENT


@api.route(
    "GET",
    f"{PAGE}/revisions",
    "wiki.revisions.list",
    calls=service.list_revisions,
    query=DeletedPageQuery,
    returns=WikiRevisionRowOut,
    paginated=True,
    leads_to=("wiki.revisions.get",),
)
def list_revisions(call: Call) -> Answer:
    """List a page's revisions, newest first."""
    page = service.list_revisions(call.actor, call.path["page_id"], **call.query)
    return Answer(page.collection)


@api.route(
    "GET",
    f"{PAGE}/revisions/<revision_id>",
    "wiki.revisions.get",
    calls=service.get_revision,
    query=DeletedQuery,
    returns=WikiRevisionOut,
)
def get_revision(call: Call) -> Answer:
    """Fetch one revision of a page."""
    path = call.path
    shown = service.get_revision(call.actor, path["page_id"], path["revision_id"], **call.query)
    seen = partial(page_seen, shown["page_id"], shown["revision_number"])
    return Answer(shown, shows=seen)


@api.route(
    "GET",
    f"{PAGE}/backlinks",
    "wiki.backlinks.list",
    calls=links.list_backlinks,
    query=DeletedPageQuery,
    returns=WikiPageSummaryOut,
    paginated=True,
    leads_to=("wiki.pages.get",),
)
def list_backlinks(call: Call) -> Answer:
    """List the pages that link here."""
    page = links.list_backlinks(call.actor, call.path["page_id"], **call.query)
    return Answer(page.collection)


@api.route(
    "GET",
    "/wiki/broken-links",
    "wiki.broken_links.list",
    calls=links.list_broken_links,
    query=PageQuery,
    returns=BrokenLinkOut,
    paginated=True,
    leads_to=("wiki.pages.get",),
    key="page/id",
)
def list_broken_links(call: Call) -> Answer:
    """List wikilinks in the whole workspace that lead to no page."""
    return Answer(links.list_broken_links(call.actor, **call.query).collection)
