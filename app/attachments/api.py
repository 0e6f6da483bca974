"""REST endpoints of files."""

from typing import Any

from app.attachments import downloads, service
from app.attachments.schemas import FileCreate, FileOut
from app.core.errors import Forbidden
from app.rest.fields import PageQuery
from app.rest.routing import NO_CONTENT, Answer, Api, Call, created

api = Api("files")

OF_TICKET = "/tickets/<ticket_id>/files"
OF_COMMENT = "/comments/<comment_id>/files"
OF_PAGE = "/wiki/pages/<page_id>/files"
FILE = "/files/<file_id>"
MAKES: dict[str, Any] = {
    "body": FileCreate,
    "returns": FileOut,
    "status": 201,
    "idempotent": True,
    "leads_to": ("files.get", "files.delete"),
}
LISTS: dict[str, Any] = {
    "query": PageQuery,
    "returns": FileOut,
    "paginated": True,
    "leads_to": ("files.get",),
}


@api.route("GET", OF_TICKET, "tickets.files.list", calls=service.list_of_ticket, **LISTS)
def list_of_ticket(call: Call) -> Answer:
    """List the files of a ticket and of its comments, oldest first."""
    page = service.list_of_ticket(call.actor, call.path["ticket_id"], **call.query)
    return Answer(page.collection)


@api.route(
    "POST",
    OF_TICKET,
    "tickets.files.create",
    calls=service.add_to_ticket,
    prepares=lambda call: service.prepare_for_ticket(
        call.actor, call.path["ticket_id"], call.body["file"]
    ),
    **MAKES,
)
def add_to_ticket(call: Call) -> Answer:
    """Add a file to a ticket.

    An image is re-encoded without its metadata. A deleted file cannot be restored.
    """
    file = service.add_to_ticket(call.actor, call.path["ticket_id"], call.prepared)
    return created(file, f"/files/{file['id']}")


@api.route("GET", OF_COMMENT, "comments.files.list", calls=service.list_of_comment, **LISTS)
def list_of_comment(call: Call) -> Answer:
    """List the files of a comment, oldest first."""
    page = service.list_of_comment(call.actor, call.path["comment_id"], **call.query)
    return Answer(page.collection)


@api.route(
    "POST",
    OF_COMMENT,
    "comments.files.create",
    calls=service.add_to_comment,
    prepares=lambda call: service.prepare_for_comment(
        call.actor, call.path["comment_id"], call.body["file"]
    ),
    errors=(Forbidden,),
    **MAKES,
)
def add_to_comment(call: Call) -> Answer:
    """Add a file to your own comment."""
    file = service.add_to_comment(call.actor, call.path["comment_id"], call.prepared)
    return created(file, f"/files/{file['id']}")


@api.route("GET", OF_PAGE, "wiki.files.list", calls=service.list_of_page, **LISTS)
def list_of_page(call: Call) -> Answer:
    """List the files of a wiki page, oldest first."""
    page = service.list_of_page(call.actor, call.path["page_id"], **call.query)
    return Answer(page.collection)


@api.route(
    "POST",
    OF_PAGE,
    "wiki.files.create",
    calls=service.add_to_page,
    prepares=lambda call: service.prepare_for_page(
        call.actor, call.path["page_id"], call.body["file"]
    ),
    **MAKES,
)
def add_to_page(call: Call) -> Answer:
    """Add a file to a wiki page."""
    file = service.add_to_page(call.actor, call.path["page_id"], call.prepared)
    return created(file, f"/files/{file['id']}")


@api.route("GET", FILE, "files.get", calls=service.get_file, downloads=True)
def get_file(call: Call) -> Answer:
    """Download a file, or a part of it by `Range`.

    An image that Docket re-encoded has its own type, anything else is
    `application/octet-stream`. A `Range` that does not fit is ignored.
    """
    return Answer(downloads.content_of(service.get_file(call.actor, call.path["file_id"])))


@api.route(
    "GET",
    f"{FILE}/thumbnail",
    "files.thumbnail.get",
    calls=service.get_file,
    downloads=True,
)
def get_thumbnail(call: Call) -> Answer:
    """Download the thumbnail of an image; 404 for any other file."""
    return Answer(downloads.thumbnail_of(service.get_file(call.actor, call.path["file_id"])))


@api.route("DELETE", FILE, "files.delete", calls=service.delete_file, status=204)
def delete_file(call: Call) -> Answer:
    """Delete a file permanently; bots can only delete what they added."""
    service.delete_file(call.actor, call.path["file_id"])
    return NO_CONTENT
