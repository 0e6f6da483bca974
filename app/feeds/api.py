"""REST endpoints of one's own feeds; humans only."""

from app.core.errors import Gone, InvalidField, NotFound
from app.feeds import service
from app.feeds.schemas import FeedCreate, FeedOut, FeedWithAddressOut
from app.http.current import current_settings
from app.rest.fields import PageQuery
from app.rest.routing import NO_CONTENT, Answer, Api, Call, created

OWN = "/users/me/feeds"

api = Api("users")


@api.route(
    "GET",
    OWN,
    "users.feeds.list",
    calls=service.list_feeds,
    query=PageQuery,
    returns=FeedOut,
    paginated=True,
    leads_to=("users.feeds.revoke",),
)
def list_feeds(call: Call) -> Answer:
    """List your feeds, oldest first; their addresses are never shown again."""
    return Answer(service.list_feeds(call.actor, **call.query).collection)


@api.route(
    "POST",
    OWN,
    "users.feeds.create",
    calls=service.create_feed,
    body=FeedCreate,
    returns=FeedWithAddressOut,
    status=201,
    idempotent=True,
    leads_to=("users.feeds.revoke",),
    errors=(InvalidField, NotFound, Gone),
)
def create_feed(call: Call) -> Answer:
    """Create a feed for a calendar or feed reader; only this response shows its address.

    It replaces your feed of the same kind and project, whose address stops working.
    """
    issued = service.create_feed(call.actor, **call.body)
    shown = service.feed_json(issued.feed, issued.project_key)
    address = issued.address(current_settings().base_url)
    return created({**shown, "address": address}, f"{OWN}/{issued.feed.id}")


@api.route(
    "DELETE",
    f"{OWN}/<feed_id>",
    "users.feeds.revoke",
    calls=service.revoke_feed,
    status=204,
    errors=(NotFound,),
)
def revoke_feed(call: Call) -> Answer:
    """Revoke one of your feeds; its address stops working at once."""
    service.revoke_feed(call.actor, call.path["feed_id"])
    return NO_CONTENT
