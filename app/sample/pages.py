"""The pages of the first steps after setup: a project or the sample, people, a bot."""

from contextlib import suppress

from flask import Blueprint, Response, request

from app.accounts import users
from app.accounts.password_links import IssuedLink
from app.accounts.people_pages import invite_from_form, link_of, ways_to_invite
from app.bots.pages import create_from_form, reveal_of
from app.bots.service import IssuedBot
from app.core.actor import Actor
from app.core.errors import Conflict, NotFound
from app.database.session import reading
from app.http.current import current_settings
from app.projects import samples
from app.projects import service as projects
from app.projects.schemas import ProjectCreate
from app.sample import sample
from app.web.forms import Form, create, load_form
from app.web.guard import actor, safe_next, write
from app.web.render import go, page

pages = Blueprint("welcome_pages", __name__)

MAX_CHOICES = 200
PEOPLE, BOT = "/start/people", "/start/bot"


def _project_step(form: Form, *, status: int = 200) -> Response:
    with reading():
        project = samples.live_sample(actor())
    return page("welcome/project.html", form=form, sample=project, status=status)


@pages.get("/start")
def start() -> Response:
    return _project_step(Form())


@pages.post("/start")
def make_project() -> Response:
    form = load_form(ProjectCreate)

    def work(person: Actor) -> str:
        projects.create_project(person, **form.data)
        return PEOPLE

    target = create(form, work)
    return go(target) if target else _project_step(form, status=422)


def _people_step(form: Form, *, issued: IssuedLink | None = None, status: int = 200) -> Response:
    with reading():
        humans = users.list_users(actor(), limit=MAX_CHOICES, cursor=None, humans_only=True).data
    people = [user for user in humans if user["is_active"]]
    return page(
        "welcome/people.html",
        form=form,
        people=people,
        link=link_of(issued) if issued is not None else None,
        **ways_to_invite(),
        status=status,
    )


@pages.get(PEOPLE)
def people() -> Response:
    return _people_step(Form())


@pages.post(PEOPLE)
def add_person() -> Response:
    form, issued = invite_from_form()
    if issued is None:
        return _people_step(form, status=422)
    return _people_step(Form(), issued=issued)


def _bot_step(form: Form, *, issued: IssuedBot | None = None, status: int = 200) -> Response:
    with reading():
        choices = projects.list_projects(actor(), limit=MAX_CHOICES, cursor=None).data
    return page(
        "welcome/bot.html",
        form=form,
        projects=choices,
        reveal=reveal_of(issued) if issued is not None else None,
        status=status,
    )


@pages.get(BOT)
def bot() -> Response:
    return _bot_step(Form())


@pages.post(BOT)
def make_bot() -> Response:
    form, issued = create_from_form()
    return _bot_step(form, issued=issued, status=422 if issued is None else 200)


@pages.post("/sample-project")
def load_sample() -> Response:
    try:
        project = write(lambda person: sample.load_sample(person, settings=current_settings()))
    except Conflict:
        # The form was sent twice, or someone else loaded the sample in the meantime.
        with reading():
            existing = samples.live_sample(actor())
        if existing is None:
            raise
        project = existing
    return go(safe_next(request.form.get("next", f"/projects/{project.key}/board")))


@pages.post("/sample-project/remove")
def remove_sample() -> Response:
    with suppress(NotFound):
        write(sample.remove_sample)
    return go("/projects?removed")
