"""The page of a bot, and the fragments about bots on other pages."""

from typing import Any

from flask import Response, request
from sqlalchemy import select

from app.accounts import user_refs
from app.accounts.builders import bot_json
from app.activity import bot_activity
from app.activity.pages.log import pages
from app.activity.receipts import HOUSE_RULES_SLUG
from app.activity.sentences import in_words
from app.bots import service as bots
from app.bots.messages import MODES
from app.bots.pages import load_allowlist
from app.bots.rules import keys_of, may_do
from app.bots.schemas import BotPatch
from app.core.actor import Actor
from app.core.ids import as_uuid
from app.database.session import reading, session
from app.projects import loaders as projects_loaders
from app.projects.pages import offered_projects
from app.tickets import loaders as tickets
from app.tickets import read, stalled_bots
from app.web.forms import Form, Words, load_form, remember_originals, submit_edits
from app.web.guard import actor
from app.web.render import go, html, page, render
from app.wiki.models import WikiPage

EDITABLE = ("display_name", "mode", "project_ids", "can_edit_global_wiki")
# The sparkline: the width of an hour, and the height of the busiest one.
STEP, HEIGHT = 6, 28


@pages.get("/tickets/<reference>/bots")
def of_ticket(reference: str) -> Response:
    """The house rules that bots read for this ticket, whether its bot is stalled, and usage."""
    with reading():
        ticket = tickets.visible(actor(), reference)
        project = projects_loaders.visible(actor(), ticket.project_id)
        content = render(
            "bots/_at_ticket.html",
            house_rules=_house_rules(project.id, project.key),
            stalled_since=stalled_bots.stalled_since(actor(), ticket.id),
            ticket=read.ticket_by_id(ticket.id),
            project=project,
            used=bot_activity.used_on(actor(), ticket.id),
        )
    return html(content)


@pages.get("/projects/<key>/bots-read")
def of_project(key: str) -> Response:
    with reading():
        project = projects_loaders.visible_by_key(actor(), key)
        house_rules = _house_rules(project.id, project.key)
    return html(render("bots/_house_rules.html", house_rules=house_rules, project=project))


def _house_rules(project_id: str, key: str) -> dict[str, Any] | None:
    """The house rules of a project, which ``tools/resources.py`` gives to bots."""
    title = session.scalar(
        select(WikiPage.title).where(
            WikiPage.slug == HOUSE_RULES_SLUG,
            WikiPage.deleted_at.is_(None),
            WikiPage.project_id == project_id,
        )
    )
    return {"title": title, "href": f"/projects/{key}/wiki/{HOUSE_RULES_SLUG}"} if title else None


@pages.get("/bots/<username>")
def bot_page(username: str) -> Response:
    """The bot; ``reference`` names what its access is tested on."""
    return _show_bot(username, Form())


@pages.post("/bots/<bot_id>/settings")
def change_settings(bot_id: str) -> Response:
    with reading():
        username = bots.get_bot(actor(), bot_id).user.username
    form = load_form(BotPatch)
    form.data["can_edit_global_wiki"] = "can_edit_global_wiki" in request.form
    load_allowlist(form)

    def stored(_: Actor) -> dict[str, Any]:
        return _editable_values(bot_json(bots.locked(bot_id), None))

    def work(person: Actor, edited: dict[str, Any]) -> None:
        bots.update_bot(person, bot_id, **edited)

    words: Words = {"project_ids": projects_loaders.projects_in_words, "mode": MODES.__getitem__}
    if not submit_edits(form, stored, work, words):
        return _show_bot(username, form, status=422)
    return go(f"/bots/{username}")


def _editable_values(bot: dict[str, Any]) -> dict[str, Any]:
    return {name: bot[name] for name in EDITABLE}


def _show_bot(username: str, form: Form, *, status: int = 200) -> Response:
    reference = request.args.get("reference", "").strip()[:200]
    with reading():
        user = bot_activity.bot_named(actor(), username)
        bot = bot_json(user, user_refs.active_token(user))
        work = bot_activity.work_of(actor(), user.id)
        projects = offered_projects()
        tested = bot_activity.test_access(actor(), user.id, reference) if reference else None
        writes, refused = in_words(work.writes), in_words(work.refused)
    remember_originals(form, _editable_values(bot))
    keys = keys_of(bot["project_ids"], projects)
    return page(
        "bots/show.html",
        bot=bot,
        said=may_do(user.username, bot["mode"], keys, global_wiki=bot["can_edit_global_wiki"]),
        projects=projects,
        form=form,
        work=work,
        writes=writes,
        refused=refused,
        bars=_bars(work),
        is_stalled=stalled_bots.is_stalled,
        reference=reference,
        tested=tested,
        status=status,
    )


def _bars(work: bot_activity.Work) -> list[dict[str, Any]]:
    """The bars of the last day: calls, and the share that failed."""
    highest = max([hour.calls for hour in work.hours] + [1])
    bars = []
    for position, hour in enumerate(work.hours):
        height, failed = (round(HEIGHT * count / highest) for count in (hour.calls, hour.errors))
        bars.append(
            {
                "x": position * STEP,
                "width": STEP - 2,
                "height": height,
                "y": HEIGHT - height,
                "failed": failed,
                "failed_y": HEIGHT - failed,
            }
        )
    return bars


@pages.get("/bots/<username>/first-call")
def first_call(username: str) -> Response:
    """The first call with a new token; 204, which swaps nothing, before it."""
    after = as_uuid(request.args.get("after", ""))
    with reading():
        user = bot_activity.bot_named(actor(), username)
        call = bot_activity.first_call(actor(), user.id, after) if after else None
    if call is None:
        return Response(status=204)
    return html(render("bots/_connected.html", call=call))
