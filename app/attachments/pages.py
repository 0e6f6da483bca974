"""Files for people: the files themselves, lists of them, and adding and deleting one."""

from collections.abc import Callable
from typing import Any

from flask import Blueprint, Response

from app.attachments import downloads, messages, service
from app.attachments.service import SeenFile
from app.core.actor import Actor
from app.core.errors import DomainError, InvalidField, RequestInvalid, RequestTooLarge
from app.core.lanes import Lane, require
from app.database.session import reading
from app.files.adding import FIELD, PreparedFile
from app.files.listing import ListedFile
from app.files.store import incoming
from app.http.current import current_request, current_settings
from app.http.multipart import ReceivedFile, receive_form
from app.http.sending import Download, send
from app.projects.loaders import visible
from app.tickets import loaders as tickets
from app.web.guard import actor, write
from app.web.render import go, page
from app.web.wiki_addresses import address_of
from app.wiki import loaders as wiki

pages = Blueprint("files_pages", __name__)

OF_TICKET = "/tickets/<reference>/files"
OF_PAGE = "/wiki/pages/<page_id>/files"
FILE = "/files/<file_id>"
MAX_FILES = 100

Prepare = Callable[[Actor, str, ReceivedFile], PreparedFile | None]
Add = Callable[[Actor, str, PreparedFile | None], Any]


@pages.get(FILE)
def download(file_id: str) -> Response:
    return _send(file_id, downloads.content_of)


@pages.get(f"{FILE}/thumbnail")
def thumbnail(file_id: str) -> Response:
    return _send(file_id, downloads.thumbnail_of)


def _send(file_id: str, made: Callable[[SeenFile], Download]) -> Response:
    require(Lane.LONG)
    with reading():
        found = made(service.get_file(actor(), file_id))
    return send(current_request(), found)


@pages.get(OF_TICKET)
def of_ticket(reference: str) -> Response:
    """The files of a ticket, with a form; for htmx, only the list."""
    return _of_ticket(reference)


def _of_ticket(reference: str, problem: str = "", status: int = 200) -> Response:
    with reading():
        listed = service.list_of_ticket(actor(), reference, limit=MAX_FILES, cursor=None).data
        ticket = tickets.visible(actor(), reference)
        back, title = f"/tickets/{ticket.display_id}", f"{ticket.display_id} {ticket.title}"
    return _listed(listed, f"/tickets/{ticket.display_id}", back, title, problem, status)


@pages.get(OF_PAGE)
def of_page(page_id: str) -> Response:
    """The files of a wiki page, with a form; for htmx, only the list."""
    return _of_page(page_id)


def _of_page(page_id: str, problem: str = "", status: int = 200) -> Response:
    with reading():
        listed = service.list_of_page(actor(), page_id, limit=MAX_FILES, cursor=None).data
        found = wiki.visible_by_id(actor(), page_id)
        key = visible(actor(), found.project_id).key if found.project_id else None
        back = address_of(key, found.slug, found.id)
    return _listed(listed, f"/wiki/pages/{found.id}", back, found.title, problem, status)


def _listed(
    listed: list[dict[str, Any]], place: str, back: str, title: str, problem: str, status: int
) -> Response:
    files = [ListedFile(one["id"], one["name"], one["size"], one["is_image"]) for one in listed]
    context = {"files": files, "place": place, "back": back, "title": title, "problem": problem}
    return page("files/index.html", block="files", status=status, **context)


@pages.post(OF_TICKET)
def add_to_ticket(reference: str) -> Response:
    try:
        _add(service.prepare_for_ticket, service.add_to_ticket, reference)
    except (InvalidField, RequestInvalid, RequestTooLarge) as error:
        return _of_ticket(reference, _in_words(error), error.status)
    return go(f"/tickets/{reference}/files")


@pages.post(OF_PAGE)
def add_to_page(page_id: str) -> Response:
    try:
        _add(service.prepare_for_page, service.add_to_page, page_id)
    except (InvalidField, RequestInvalid, RequestTooLarge) as error:
        return _of_page(page_id, _in_words(error), error.status)
    return go(f"/wiki/pages/{page_id}/files")


def _add(prepare: Prepare, add: Add, reference: str) -> None:
    """Receive the file of this form and add it; raises the errors of both."""
    require(Lane.LONG)
    settings = current_settings()
    folder, max_bytes = incoming(settings), settings.files_max_bytes
    with receive_form(current_request(), folder, max_bytes) as form:
        if FIELD not in form.files or not form.files[FIELD].name:
            raise InvalidField(FIELD, "missing", messages.SELECT_A_FILE)
        prepared = prepare(actor(), reference, form.files[FIELD])
        write(lambda person: add(person, reference, prepared))


def _in_words(error: DomainError) -> str:
    if isinstance(error, RequestTooLarge):
        megabytes = current_settings().files_max_bytes // 2**20
        return messages.too_large(megabytes)
    return messages.SELECT_A_FILE if isinstance(error, RequestInvalid) else error.message


@pages.get(f"{FILE}/delete")
def confirm_delete(file_id: str) -> Response:
    with reading():
        file = service.get_file(actor(), file_id).file
        name, back = file.name, _place_of(file)
    return page("files/delete.html", block="sheet", id=file_id, name=name, back=back)


@pages.post(f"{FILE}/delete")
def delete(file_id: str) -> Response:
    with reading():
        back = _place_of(service.get_file(actor(), file_id).file)
    write(lambda person: service.delete_file(person, file_id))
    return go(back)


def _place_of(file: Any) -> str:
    if file.ticket_id is not None:
        return f"/tickets/{tickets.visible(actor(), file.ticket_id).display_id}"
    found = wiki.visible_by_id(actor(), file.page_id)
    key = visible(actor(), found.project_id).key if found.project_id else None
    return address_of(key, found.slug, found.id)
