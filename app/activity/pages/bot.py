"""The page of a bot, and what other pages show of bots."""

from typing import Any

from flask import Response, request
from sqlalchemy import select

from app.accounts.builders import bot_json
from app.accounts.models import BotMode, User
from app.activity import bot_activity
from app.activity.pages.blueprint import pages
from app.activity.pages.log import rows
from app.bots import service as bots
from app.bots.rules import may_do
from app.bots.schemas import BotPatch
from app.core.ids import as_uuid
from app.database.session import reading, session
from app.projects import loaders as projects_loaders
from app.projects import service as projects
from app.tickets import loaders as tickets
from app.tickets import read, stalled_bots
from app.web.forms import Form, load_form, submit
from app.web.guard import actor
from app.web.render import go, html, page, render
from app.wiki.models import WikiPage

# The page with the house rules.
SLUG = "agents"


@pages.get("/tickets/<reference>/bots")
def of_ticket(reference: str) -> Response:
    """Which house rules bots read for this ticket, and whether its holder is quiet."""
    with reading():
        ticket = tickets.visible(actor(), reference)
        project = projects_loaders.visible(actor(), ticket.project_id)
        content = render(
            "bots/_at_ticket.html",
            guide=_guide(project.id, project.key),
            quiet_since=stalled_bots.silent_since(actor(), ticket.id),
            ticket=read.ticket_by_id(ticket.id),
            project=project,
        )
    return html(content)


@pages.get("/projects/<key>/bots-read")
def of_project(key: str) -> Response:
    """Which house rules bots read in this project."""
    with reading():
        project = projects_loaders.visible_by_key(actor(), key)
        guide = _guide(project.id, project.key)
    return html(render("bots/_guide.html", guide=guide, project=project))


def _guide(project_id: str, key: str) -> dict[str, Any] | None:
    """The project's page with the house rules, which tools name to bots (tools/resources.py)."""
    title = session.scalar(
        select(WikiPage.title).where(
            WikiPage.slug == SLUG,
            WikiPage.deleted_at.is_(None),
            WikiPage.project_id == project_id,
        )
    )
    return {"title": title, "href": f"/projects/{key}/wiki/{SLUG}"} if title else None


PROJECTS = 200
# The sparkline: an hour is so wide, the busiest one so high.
STEP, HEIGHT = 6, 28


@pages.get("/bots/<username>")
def bot_page(username: str) -> Response:
    """Show the bot; ``reference`` asks whether it may see and change something."""
    return show_bot(username, Form())


def show_bot(username: str, form: Form, *, status: int = 200) -> Response:
    """The page, with the settings as they were sent where they were refused."""
    reference = request.args.get("reference", "").strip()[:200]
    with reading():
        user = bot_activity.bot_named(actor(), username)
        found = bots.get_bot(actor(), user.id)
        done = bot_activity.work_of(actor(), user.id)
        known = projects.list_projects(actor(), limit=PROJECTS, cursor=None).data
        tested = bot_activity.test_access(actor(), user.id, reference) if reference else None
        writes, refused = rows(done.writes), rows(done.refused)
    bot = bot_json(found.user, found.token)
    return page(
        "bots/show.html",
        bot=bot,
        said=_said(user, {one["id"]: one["key"] for one in known}),
        projects=known,
        form=form,
        work=done,
        writes=writes,
        refused=refused,
        bars=_bars(done),
        is_quiet=stalled_bots.is_stalled,
        reference=reference,
        tested=tested,
        status=status,
    )


def _said(user: User, keys: dict[str, str]) -> str:
    """What the bot may do, in words; deleted projects stay in its allowlist."""
    places = [keys.get(one, "a deleted project") for one in user.project_ids or ()]
    may_edit = bool(user.can_edit_global_wiki)
    return may_do(user.username, user.bot_mode or BotMode.READ, places, global_wiki=may_edit)


def _bars(done: bot_activity.Work) -> list[dict[str, Any]]:
    """The bars of the last day: calls, and the part of them that failed."""
    most = max([hour.calls for hour in done.hours] + [1])
    return [
        {
            "x": place * STEP,
            "width": STEP - 2,
            "height": round(HEIGHT * hour.calls / most),
            "y": HEIGHT - round(HEIGHT * hour.calls / most),
            "failed": round(HEIGHT * hour.errors / most),
            "failed_y": HEIGHT - round(HEIGHT * hour.errors / most),
        }
        for place, hour in enumerate(done.hours)
    ]


@pages.post("/bots/<bot_id>/settings")
def change_settings(bot_id: str) -> Response:
    """Change name, mode, projects and the right to global pages."""
    with reading():
        username = bots.get_bot(actor(), bot_id).user.username
    form = load_form(BotPatch)
    form.data["can_edit_global_wiki"] = "can_edit_global_wiki" in request.form
    if "all_projects" in request.form:
        form.data["project_ids"] = []
    elif not form.data.get("project_ids"):
        form.refuse("project_ids", "Choose a project, or all of them.")
    if not submit(form, lambda present: bots.update_bot(present, bot_id, **form.data)):
        return show_bot(username, form, status=422)
    return go(f"/bots/{username}")


@pages.get("/bots/<username>/first-call")
def first_call(username: str) -> Response:
    """Whether the bot has called since its token was issued; nothing to swap until it has."""
    after = as_uuid(request.args.get("after", ""))
    with reading():
        user = bot_activity.bot_named(actor(), username)
        call = bot_activity.first_call(actor(), user.id, after) if after else None
    if call is None:
        return Response(status=204)
    return html(render("bots/_connected.html", call=call))
