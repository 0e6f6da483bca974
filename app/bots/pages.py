"""The pages of bots: the list of all bots with their tokens, and the bots of a project."""

from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from flask import Blueprint, Response, g, request
from sqlalchemy import bindparam, case, func, select

from app.accounts.builders import bot_json
from app.audit.models import ToolInvocation
from app.bots import messages, service
from app.bots.clients import CLIENTS
from app.bots.rules import keys_of, may_do
from app.bots.schemas import BotCreate
from app.bots.service import IssuedBot
from app.core.actor import Access, Actor, operation
from app.core.clock import HOUR_MS, now_ms
from app.core.errors import Conflict, Gone, InvalidField, NotFound
from app.core.ids import as_uuid
from app.database.session import Prepared, reading
from app.http.current import current_settings
from app.projects.loaders import SeenProject
from app.projects.pages import offered_projects, project_of
from app.tickets import service as tickets_service
from app.tickets import stalled_bots
from app.tickets.models import Ticket
from app.web.forms import Form, load_form, submit
from app.web.guard import actor, safe_next, write
from app.web.render import go, html, is_htmx, page, render

pages = Blueprint("bots_pages", __name__)

BOTS = "/bots"
BOTS_OF_PROJECT = "/projects/<key>/settings/bots"
PAGE_SIZE = 200
# The limit per deactivation; each ticket writes an event.
MAX_UNASSIGNED_TICKETS = 500

# The histogram of calls: its hours, and the height of the busiest hour.
HOURS = 24
HEIGHT = 20

_hour = (ToolInvocation.created_at // HOUR_MS).label("hour")
_CALLS = Prepared(
    select(
        ToolInvocation.bot_user_id,
        _hour,
        func.count().label("calls"),
        func.sum(case((ToolInvocation.result_status == "ok", 0), else_=1)).label("errors"),
    )
    .where(ToolInvocation.created_at >= bindparam("since"))
    .group_by(ToolInvocation.bot_user_id, _hour)
)


@dataclass(slots=True)
class CallHistogram:
    """The calls of one bot by hour, the current hour last, and how many of them failed."""

    hours: list[int] = field(default_factory=lambda: [0] * HOURS)
    errors: int = 0

    @property
    def calls(self) -> int:
        return sum(self.hours)

    @property
    def bars(self) -> list[tuple[int, int]]:
        """The hours with calls, each with the height of its bar."""
        highest = max(self.hours)
        return [
            (hour, max(2, round(calls * HEIGHT / highest)))
            for hour, calls in enumerate(self.hours)
            if calls
        ]


@operation(Access.HUMAN)
def call_histograms(actor: Actor) -> dict[str, CallHistogram]:
    """The histogram of every bot that called within a day, by its id."""
    last = now_ms() // HOUR_MS
    first = last - HOURS + 1
    histograms: dict[str, CallHistogram] = {}
    for row in _CALLS.all(since=first * HOUR_MS):
        histogram = histograms.setdefault(row.bot_user_id, CallHistogram())
        # A call that arrives during this query can fall into the next hour.
        histogram.hours[min(row.hour, last) - first] += row.calls
        histogram.errors += row.errors
    return histograms


@pages.get(BOTS)
def index() -> Response:
    cursor = request.args.get("cursor") or None
    try:
        with reading():
            listed = service.list_bots(actor(), limit=PAGE_SIZE, cursor=cursor)
            projects = offered_projects()
            pause = service.current_pause(actor())
            histograms = call_histograms(actor())
    except InvalidField:
        # The cursor is invalid: start at the first page.
        return go(BOTS)
    return page(
        "bots/index.html",
        bots=[
            {**bot, "project_keys": keys_of(bot["project_ids"], projects)} for bot in listed.data
        ],
        here=f"{BOTS}?cursor={cursor}" if cursor else "",
        next_cursor=listed.next_cursor,
        pause=pause,
        pulses=histograms,
    )


# Not /bots/new, which would hide the page of a bot with that name.
@pages.get("/new-bot")
def new() -> Response:
    return _show_form(Form())


@pages.post(BOTS)
def create() -> Response:
    """Create a bot and show its token.

    The form sent twice is refused for its username: the response holds a secret, so it is not
    stored to be replayed.
    """
    form, issued = create_from_form()
    return _show_form(form, status=422) if issued is None else _show_token(issued)


def _show_form(form: Form, *, status: int = 200) -> Response:
    with reading():
        projects = offered_projects()
    return page("bots/new.html", projects=projects, form=form, status=status)


def _show_token(issued: IssuedBot) -> Response:
    return page("bots/token.html", reveal=reveal_of(issued))


def create_from_form() -> tuple[Form, IssuedBot | None]:
    """Create the bot of this request's form; None if the form is refused."""
    form = load_form(BotCreate)
    load_allowlist(form)
    issued: list[IssuedBot] = []

    def work(person: Actor) -> None:
        issued[:] = [service.create_bot(person, **form.data, settings=current_settings())]

    return form, issued[0] if submit(form, work) else None


def load_allowlist(form: Form) -> None:
    """Take the allowlist from the form: either all projects, or at least one."""
    if "all_projects" in request.form:
        form.data["project_ids"] = []
    elif not form.data.get("project_ids"):
        form.refuse("project_ids", messages.SELECT_PROJECTS_OR_ALL)


def reveal_of(issued: IssuedBot) -> dict[str, Any]:
    """The context of ``bots/_reveal.html``; marks the response as one that shows a secret."""
    g.shows_secret = True
    settings = current_settings()
    address = f"{settings.base_url}/mcp/bot/{issued.plaintext}/mcp"
    return {
        "bot": bot_json(issued.user, issued.token),
        "token": issued.plaintext,
        "base_url": settings.base_url,
        "address": address,
        "forms": [(client, client.text(address, settings.service_name)) for client in CLIENTS],
    }


@pages.get("/bots/new/wording")
def wording() -> Response:
    """Describe in words the bot that the form would create, and whether its username is taken."""
    username = request.args.get("username", "").strip().lower()[:64] or messages.THE_BOT
    chosen = request.args.getlist("project_ids")
    is_everywhere = "all_projects" in request.args
    with reading():
        keys = [project["key"] for project in offered_projects() if project["id"] in chosen]
        taken = username if service.is_taken(actor(), username) else ""
    if is_everywhere or keys:
        sentences = may_do(
            username,
            request.args.get("mode", "read"),
            [] if is_everywhere else keys,
            global_wiki=current_settings().bot_can_edit_global_wiki_default,
        )
    else:
        sentences = messages.SELECT_A_PROJECT
    return html(render("bots/_wording.html", wording=sentences, taken=taken))


@pages.post("/bots/pausing")
def switch() -> Response:
    action = request.form.get("action")
    if action == "pause":
        write(service.pause_bots)
    elif action == "resume":
        write(service.resume_bots)
    if is_htmx():
        # The banner on any page sends this, so reload that page.
        return Response(status=204, headers={"HX-Refresh": "true"})
    return go(BOTS)


@pages.post("/bots/<bot_id>")
def change(bot_id: str) -> Response:
    """Rotate or revoke the token, or pause, resume, activate or deactivate the bot."""
    action = request.form.get("action")
    back = safe_next(request.form.get("back", BOTS))
    if action == "rotate":
        issued: IssuedBot = write(lambda person: service.rotate_token(person, bot_id))
        return _show_token(issued)
    if action == "revoke":
        # If the bot has no token, the result is already what the person wants.
        with suppress(Conflict):
            write(lambda person: service.revoke_token(person, bot_id))
    elif action in ("pause", "resume"):
        is_paused = action == "pause"
        write(lambda person: service.update_bot(person, bot_id, is_paused=is_paused))
        if is_htmx():
            return Response(status=204, headers={"HX-Refresh": "true"})
    elif action in ("activate", "deactivate"):
        is_active = action == "activate"
        releases = not is_active and "release" in request.form

        def work(person: Actor) -> None:
            bot = service.update_bot(person, bot_id, is_active=is_active)
            if releases:
                unassign_all(person, bot.user.id)

        write(work)
    return go(back)


@pages.post("/bots/<bot_id>/release")
def release_ticket(bot_id: str) -> Response:
    ticket_id = request.form.get("ticket_id", "")
    write(lambda person: unassign(person, bot_id, ticket_id))
    with reading():
        username = service.get_bot(actor(), bot_id).user.username
    return go(
        safe_next(request.form.get("back")) if "back" in request.form else f"/bots/{username}"
    )


@operation(Access.HUMAN)
def unassign(actor: Actor, bot_id: str, ticket_id: str) -> None:
    """Unassign a ticket, unless another user holds it; raises NotFound or Gone."""
    # An update without fields locks the ticket, so that its assignee cannot change.
    ticket: Ticket = tickets_service.update_ticket(actor, ticket_id)
    if ticket.assignee_user_id == as_uuid(bot_id):
        tickets_service.update_ticket(actor, ticket_id, assignee_user_id=None)


@operation(Access.HUMAN)
def unassign_all(actor: Actor, bot_id: str) -> int:
    """Unassign the first 500 open tickets of a bot; returns their number.

    Tickets that were deleted or assigned to others meanwhile stay as they are.
    """
    held = stalled_bots.held_by(actor, bot_id, MAX_UNASSIGNED_TICKETS)
    for ticket in held:
        with suppress(NotFound, Gone):
            unassign(actor, bot_id, ticket.id)
    return len(held)


@pages.get(BOTS_OF_PROJECT)
def of_project(key: str) -> Response:
    return _show_in_project(project_of(key), Form())


@pages.post(BOTS_OF_PROJECT)
def change_in_project(key: str) -> Response:
    """Let a bot into the project, or take the project off its allowlist."""
    project = project_of(key)
    bot_id = request.form.get("bot_id", "")
    verb = service.shut_out if "remove" in request.form else service.let_in
    form = Form(shown=frozenset({"bot_id"}))
    if not bot_id:
        form.refuse("bot_id", messages.SELECT_A_BOT)
    if submit(form, lambda person: verb(person, bot_id, project.id)) and not is_htmx():
        return go(f"/projects/{project.key}/settings/bots")
    return _show_in_project(project, form)


def _show_in_project(project: SeenProject, form: Form) -> Response:
    """The bots whose allowlist admits the project, and the active bots that can be added."""
    with reading():
        bots = service.list_bots(actor(), limit=PAGE_SIZE, cursor=None).data
    bots.sort(key=lambda bot: (not bot["is_active"], bot["display_name"].casefold()))
    inside = [bot for bot in bots if not bot["project_ids"] or project.id in bot["project_ids"]]
    outside = [bot for bot in bots if bot["is_active"] and bot not in inside]
    return page(
        "projects/settings_bots.html",
        block="bots",
        project=project,
        bots=inside,
        others=[(bot["id"], f"{bot['display_name']} ({bot['username']})") for bot in outside],
        form=form,
        status=422 if form.errors else 200,
    )
