"""The bots of this installation: creating them, tokens, activity, and taking tickets from them."""

from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from flask import Blueprint, Response, g, request
from sqlalchemy import bindparam, case, func, select

from app.accounts.builders import bot_json
from app.audit.models import ToolInvocation
from app.bots import service
from app.bots.clients import CLIENTS
from app.bots.rules import may_do
from app.bots.schemas import BotCreate
from app.bots.service import IssuedBot
from app.config import settings_at_hand
from app.core.actor import Access, Actor, operation
from app.core.clock import HOUR_MS, now_ms
from app.core.errors import Conflict, Gone, InvalidField, NotFound
from app.core.ids import as_uuid
from app.database.session import Prepared, reading
from app.projects import service as projects
from app.tickets import service as tickets_service
from app.tickets import stalled_bots
from app.tickets.models import Ticket
from app.web.forms import Form, load_form, submit
from app.web.guard import actor, safe_next, write
from app.web.render import go, html, page, render

pages = Blueprint("bots_pages", __name__)

# Bots and projects that a page names at once.
SHOWN = 200


HOURS = 24
# A bar's height in the drawing, for the busiest hour.
HEIGHT = 20
OK = "ok"

_hour = (ToolInvocation.created_at // HOUR_MS).label("hour")
_CALLS = Prepared(
    select(
        ToolInvocation.bot_user_id,
        _hour,
        func.count().label("calls"),
        func.sum(case((ToolInvocation.result_status == OK, 0), else_=1)).label("errors"),
    )
    .where(ToolInvocation.created_at >= bindparam("since"))
    .group_by(ToolInvocation.bot_user_id, _hour)
)


@dataclass(slots=True)
class CallHistogram:
    """The calls of one bot: how many in each hour, the present one last, and how many failed."""

    hours: list[int] = field(default_factory=lambda: [0] * HOURS)
    errors: int = 0

    @property
    def calls(self) -> int:
        """All of them."""
        return sum(self.hours)

    @property
    def bars(self) -> list[tuple[int, int]]:
        """The hours in which there was a call, each with its bar's height."""
        most = max(self.hours)
        return [
            (hour, max(2, round(calls * HEIGHT / most)))
            for hour, calls in enumerate(self.hours)
            if calls
        ]


@operation(Access.HUMAN)
def of_all(actor: Actor) -> dict[str, CallHistogram]:
    """The pulse of every bot that called within a day, by its id."""
    last = now_ms() // HOUR_MS
    first = last - HOURS + 1
    found: dict[str, CallHistogram] = {}
    for row in _CALLS.all(since=first * HOUR_MS):
        pulse = found.setdefault(row.bot_user_id, CallHistogram())
        # A call of this very moment can be of the next hour.
        pulse.hours[min(row.hour, last) - first] += row.calls
        pulse.errors += row.errors
    return found


# More than any bot should hold; each is a change and an event of its own.
MOST = 500


@operation(Access.HUMAN)
def unassign(actor: Actor, bot_id: str, ticket_id: str) -> None:
    """Unassign a ticket, unless another holds it by now; raises NotFound or Gone."""
    # A change of nothing: it locks the ticket, so that what is seen of it stays.
    ticket: Ticket = tickets_service.update_ticket(actor, ticket_id)
    if ticket.assignee_user_id == as_uuid(bot_id):
        tickets_service.update_ticket(actor, ticket_id, assignee_user_id=None)


@operation(Access.HUMAN)
def unassign_all(actor: Actor, bot_id: str) -> int:
    """Unassign the open tickets of a bot, the first 500 of them; how many there were.

    Those that another got, or that were deleted, since they were read stay as they are.
    """
    held = stalled_bots.held_by(actor, bot_id, MOST)
    for one in held:
        with suppress(NotFound, Gone):
            unassign(actor, bot_id, one.id)
    return len(held)


BOTS = "/bots"


def _show(form: Form, *, issued: IssuedBot | None = None, status: int = 200) -> Response:
    """The page; a token just issued is shown in this one answer and never again."""
    # A token must not be lost to a cursor that means nothing.
    cursor = None if issued else request.args.get("cursor") or None
    try:
        with reading():
            found = service.list_bots(actor(), limit=SHOWN, cursor=cursor)
            known = projects.list_projects(actor(), limit=SHOWN, cursor=None).data
            pause = service.current_pause(actor())
            pulses = of_all(actor())
    except InvalidField:
        # A cursor that was cut off on its way: start at the top.
        return go(BOTS)
    keys = {one["id"]: one["key"] for one in known}
    return page(
        "bots/index.html",
        bots=[{**one, "project_keys": _keys(one, keys)} for one in found.data],
        here=f"{BOTS}?cursor={cursor}" if cursor else "",
        next_cursor=found.next_cursor,
        projects=known,
        form=form,
        reveal=reveal_of(issued) if issued is not None else None,
        pause=pause,
        pulses=pulses,
        status=status,
    )


def _keys(bot: dict[str, Any], keys: dict[str, str]) -> list[str]:
    """The keys of a bot's allowlist; deleted projects stay in it."""
    return [keys.get(project_id, "a deleted project") for project_id in bot["project_ids"]]


@pages.get(BOTS)
def index() -> Response:
    """Show all bots, and a form for one more."""
    return _show(Form())


@pages.post(BOTS)
def create() -> Response:
    """Create a bot and show its token.

    Sent twice, the second is refused for its username: the answer holds a secret, so it is not
    kept to be replayed.
    """
    form, issued = create_from_form()
    if issued is None:
        return _show(form, status=422)
    return _show(Form(), issued=issued)


def create_from_form() -> tuple[Form, IssuedBot | None]:
    """The bot that the form of this request asks for, unless something is wrong with it."""
    form = load_form(BotCreate)
    if not form.data.get("project_ids") and "all_projects" not in request.form:
        form.refuse("project_ids", "Choose a project, or all of them.")
    if "all_projects" in request.form:
        form.data["project_ids"] = []
    issued: list[IssuedBot] = []

    def work(present: Actor) -> None:
        issued[:] = [service.create_bot(present, **form.data, settings=settings_at_hand())]

    return form, issued[0] if submit(form, work) else None


def reveal_of(issued: IssuedBot) -> dict[str, Any]:
    """What ``bots/_reveal.html`` shows, in this one answer, which is not packed."""
    g.shows_secret = True
    settings = settings_at_hand()
    address = f"{settings.base_url}/mcp/bot/{issued.plaintext}/mcp"
    forms = [(one, one.text(address, settings.service_name)) for one in CLIENTS]
    return {
        "bot": bot_json(issued.user, issued.token),
        "token": issued.plaintext,
        "base_url": settings.base_url,
        "address": address,
        "common": [(one, text) for one, text in forms if one.is_common],
        "others": [(one, text) for one, text in forms if not one.is_common],
    }


@pages.get("/bots/new/wording")
def wording() -> Response:
    """What the form of a new bot says so far, in words; and whether its username is free."""
    username = request.args.get("username", "").strip().lower()[:64] or "The bot"
    chosen = request.args.getlist("project_ids")
    with reading():
        known = projects.list_projects(actor(), limit=SHOWN, cursor=None).data
        taken = username if service.is_taken(actor(), username) else ""
    places = [one["key"] for one in known if one["id"] in chosen]
    if "all_projects" not in request.args and not places:
        said = "Choose at least one project."
    else:
        everywhere = "all_projects" in request.args
        said = may_do(
            username,
            request.args.get("mode", "read"),
            [] if everywhere else places,
            global_wiki=settings_at_hand().bot_can_edit_global_wiki_default,
        )
    return html(render("bots/_wording.html", wording=said, taken=taken))


@pages.post("/bots/pausing")
def switch() -> Response:
    """Pause all bots, or let them write again."""
    action = request.form.get("action")
    if action == "pause":
        write(service.pause_bots)
    elif action == "resume":
        write(service.resume_bots)
    return go(BOTS)


@pages.post("/bots/<bot_id>")
def change(bot_id: str) -> Response:
    """Issue a new token, revoke the token, or switch the bot on or off."""
    action = request.form.get("action")
    back = safe_next(request.form.get("back", BOTS))
    if action == "rotate":
        issued: IssuedBot = write(lambda present: service.rotate_token(present, bot_id))
        return _show(Form(), issued=issued)
    if action == "revoke":
        try:
            write(lambda present: service.revoke_token(present, bot_id))
        except Conflict:
            # It has none: that is what was wanted.
            return go(back)
    elif action in ("activate", "deactivate"):
        wanted = action == "activate"
        release = not wanted and "release" in request.form

        def switch_it(present: Actor) -> None:
            bot = service.update_bot(present, bot_id, is_active=wanted)
            if release:
                unassign_all(present, bot.user.id)

        write(switch_it)
    return go(back)


@pages.post("/bots/<bot_id>/release")
def release_ticket(bot_id: str) -> Response:
    """Take one ticket from the bot, if it still holds it."""
    ticket_id = request.form.get("ticket_id", "")
    write(lambda present: unassign(present, bot_id, ticket_id))
    with reading():
        username = service.get_bot(actor(), bot_id).user.username
    return go(
        safe_next(request.form.get("back")) if "back" in request.form else f"/bots/{username}"
    )
