"""The page of one's own feeds, and the feeds themselves."""

import hashlib
from collections.abc import Callable

from flask import Blueprint, Response, g, request

from app.core.errors import InvalidField, NotFound
from app.core.etag import matches
from app.database.session import reading
from app.feeds import messages, service, writing
from app.feeds.models import FeedKind
from app.feeds.service import OpenedFeed
from app.http.current import current_request, current_settings, token_in_address
from app.http.flask_app import FAILED
from app.projects.loaders import visible_by_key
from app.projects.pages import offered_projects
from app.web.guard import actor, public, write
from app.web.render import go, page

pages = Blueprint("feeds_pages", __name__)

FEEDS = "/profile/feeds"
PAGE_SIZE = 200


@pages.get(FEEDS)
def show() -> Response:
    return _show()


def _show(address: str = "", refused: str = "", status: int = 200) -> Response:
    """One's feeds, and the form for another; shows ``address``, the URL of a new feed."""
    if address:
        g.shows_secret = True
    cursor = None if address else request.args.get("cursor") or None
    try:
        with reading():
            listed = service.list_feeds(actor(), limit=PAGE_SIZE, cursor=cursor)
            projects = offered_projects()
    except InvalidField:
        # The cursor is invalid: start at the first page.
        return go(FEEDS)
    feeds = [{**one, "name": _name(one["kind"], one["project_key"])} for one in listed.data]
    options = [("calendar", _name(FeedKind.CALENDAR, None))]
    for one in projects:
        options += [(f"{kind}:{one['key']}", _name(kind, one["key"])) for kind in FeedKind]
    project_key = request.args.get("project", "")
    return page(
        "feeds/index.html",
        feeds=feeds,
        here=f"{FEEDS}?cursor={cursor}" if cursor else "",
        next_cursor=listed.next_cursor,
        options=options,
        chosen=f"calendar:{project_key}" if project_key else "calendar",
        address=address,
        refused=refused,
        status=status,
    )


def _name(kind: str, key: str | None) -> str:
    if key is None:
        return messages.OWN_DUE_DATES
    return messages.due_dates_of(key) if kind == FeedKind.CALENDAR else messages.activity_of(key)


@pages.post(FEEDS)
def make() -> Response:
    """Make a feed and show its address, in this answer only."""
    kind, _, key = request.form.get("about", "").partition(":")
    if kind not in list(FeedKind) or (key and not key.isalnum()):
        return _show(refused=messages.SELECT_A_FEED, status=422)
    made: list[service.IssuedFeed] = []

    def work() -> None:
        project_id = visible_by_key(actor(), key).id if key else None
        made[:] = [service.create_feed(actor(), kind=kind, project_id=project_id)]

    try:
        write(lambda _: work())
    except InvalidField as error:
        return _show(refused=error.message, status=422)
    return _show(made[0].address(current_settings().base_url))


@pages.post(f"{FEEDS}/<feed_id>/revoke")
def revoke(feed_id: str) -> Response:
    write(lambda person: service.revoke_feed(person, feed_id))
    return go(FEEDS)


@pages.get("/feed/<token>/calendar.ics")
@public()
def calendar(token: str) -> Response:
    """The due dates of open tickets."""

    def written(feed: OpenedFeed) -> bytes:
        settings = current_settings()
        about = feed.project.key if feed.project else feed.owner.username
        tickets = service.due_tickets(feed)
        title = messages.feed_title(settings.app_name, about)
        return writing.calendar(title, tickets, settings.base_url, settings.app_name)

    return _answer(token, FeedKind.CALENDAR, written, "text/calendar; charset=utf-8")


@pages.get("/feed/<token>/activity.atom")
@public()
def activity(token: str) -> Response:
    """The newest events of a project."""

    def written(feed: OpenedFeed) -> bytes:
        if feed.project is None:
            raise NotFound("feed", feed.id)
        settings, project = current_settings(), feed.project
        events = service.newest_events(feed, project)
        here = f"{settings.base_url}/projects/{project.key}/activity"
        title = messages.feed_title(settings.app_name, project.name)
        return writing.atom(feed.id, title, here, events, settings.base_url)

    return _answer(token, FeedKind.ACTIVITY, written, "application/atom+xml; charset=utf-8")


def _answer(
    token: str, kind: FeedKind, written: Callable[[OpenedFeed], bytes], content_type: str
) -> Response:
    """The feed, or 304 if it has not changed; a wrong token counts as a failed credential."""
    current = current_request()
    with reading():
        try:
            content = written(service.open_feed(actor(), token_in_address(token), kind))
        except NotFound:
            current.environ[FAILED] = True
            raise
    headers = {
        "ETag": f'"{hashlib.sha256(content).hexdigest()[:32]}"',
        "Cache-Control": "private, no-cache",
        "X-Robots-Tag": "noindex",
    }
    if matches(current.headers.get("If-None-Match", ""), headers["ETag"]):
        return Response(status=304, headers=headers)
    return Response(content, headers=headers, content_type=content_type)
