"""The REST endpoint of search."""

from app.rest.answers import Answer
from app.rest.routing import Api, Call
from app.search import service
from app.search.schemas import SearchHitOut, SearchQuery

api = Api("search")


@api.route(
    "GET",
    "/search",
    "search.query",
    calls=service.query,
    query=SearchQuery,
    returns=SearchHitOut,
    paginated=True,
)
def query(call: Call) -> Answer:
    """Find tickets and wiki pages; the best hits first."""
    return Answer(service.query(call.actor, **call.query).envelope)
