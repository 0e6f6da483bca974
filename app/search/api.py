"""The REST endpoint of search, and its forms."""

from marshmallow import Schema
from marshmallow.fields import Float

from app.rest import examples
from app.rest.examples import Nested, TimestampOut, Union, like
from app.rest.fields import Choice, Identifier, Items, PageQuery, Text, Whole
from app.rest.routing import Answer, Api, Call
from app.search import service
from app.search.documents import DocumentKind


class SearchQuery(PageQuery):
    """What is looked for, and where."""

    q = Text(
        required=True,
        metadata={
            "examples": ["certificates"],
            "description": "All words must occur, as typed or in another form of the same stem. "
            'The last one can be the start of a word. `"a phrase"` must occur as typed, `-word` '
            "must not. A display id such as `OPS-12` brings that ticket to the top. No input is a "
            "syntax error.",
            "minLength": 1,
            "maxLength": 500,
        },
    )
    type = Choice(
        DocumentKind, load_default=None, metadata={"description": "Only results of this kind."}
    )
    project_id = Identifier(
        load_default=None, metadata={"description": "Only what belongs to this project."}
    )
    match = Choice(
        service.Match,
        load_default=service.Match.ALL,
        metadata={
            "description": "With `any`, results with any of several words are returned if nothing "
            "has all of them."
        },
    )


class HitOut(Schema):
    """What all hits have."""

    type = Choice(DocumentKind, required=True, metadata=like(DocumentKind.TICKET))
    id = Identifier(required=True, metadata=like(examples.TICKET))
    title = Text(required=True, metadata=like("Rotate the certificates"))
    snippet = Text(
        required=True,
        metadata=like(
            "All certificates end on 30 November.",
            "About 200 characters of the body, as plain text on one line.",
        ),
    )
    highlights = Items(
        Items(Whole(), metadata={"minItems": 2, "maxItems": 2}),
        required=True,
        metadata=like(
            [[4, 16]], "Where the words are in `snippet`: `[start, end]` in code points."
        ),
    )
    score = Float(
        required=True,
        metadata={
            "examples": [4],
            "description": "Where the words were found. 6: the display id. 5: exactly the title. "
            "4: all in the title, 3: some in the title. 2: all in headings or the first words. "
            "1: in the body. 0: some only in comments. Results with the same score are ordered "
            "newest first.",
        },
    )
    project_id = Identifier(required=True, allow_none=True, metadata=like(examples.PROJECT))
    updated_at = TimestampOut(required=True)


class StateOfHitOut(Schema):
    """The workflow state of a ticket that was found."""

    id = Identifier(required=True, metadata=like(examples.STATE))
    name = Text(required=True, metadata=like("In progress"))
    category = Text(required=True, metadata=like("active"))


class TicketHitOut(HitOut):
    """A ticket that was found."""

    display_id = Text(required=True, metadata=like("OPS-12"))
    state = Nested(StateOfHitOut, required=True)
    priority = Text(required=True, metadata=like("high", enum=["low", "medium", "high", "urgent"]))
    comment_id = Identifier(
        required=True,
        allow_none=True,
        metadata=like(
            examples.COMMENT,
            "The comment that `snippet` is from, if some of the words are only in comments.",
        ),
    )


class WikiPageHitOut(HitOut):
    """A wiki page that was found."""

    slug = Text(required=True, metadata=like("certificates"))


class SearchHitOut(Union):
    """A ticket or a wiki page."""

    discriminator = "type"
    members = {DocumentKind.TICKET: TicketHitOut, DocumentKind.WIKI_PAGE: WikiPageHitOut}


class MatchedOut(Schema):
    """How the results of a search match."""

    matched = Choice(
        service.Match,
        required=True,
        metadata=like(
            service.Match.ALL,
            "`any`: no document has all words of `q`, so these results have at least one, those "
            "with the most words first. Words that more than 500 documents have do not count, "
            "unless all of them are so common.",
        ),
    )


api = Api("search")


@api.route(
    "GET",
    "/search",
    "search.query",
    calls=service.query,
    query=SearchQuery,
    returns=SearchHitOut,
    paginated=True,
    beside=MatchedOut,
)
def query(call: Call) -> Answer:
    """Find tickets and wiki pages; the best matches first."""
    return Answer(service.query(call.actor, **call.query))
