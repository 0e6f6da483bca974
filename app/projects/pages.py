"""The pages of projects: the list, a new one, and the states and labels of one."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from flask import Blueprint, Response, request
from marshmallow import Schema

from app.core.actor import Actor
from app.database.session import reading
from app.projects import labels, loaders, messages, samples, service, states, ticket_rows
from app.projects.builders import label_json, state_json
from app.projects.loaders import SeenProject, visible_by_key
from app.projects.models import StateCategory
from app.projects.schemas import (
    LabelCreate,
    LabelPatch,
    ProjectCreate,
    StateCreate,
    StatePatch,
)
from app.web.forms import (
    Form,
    above_form,
    create,
    load_form,
    remember_originals,
    submit,
    submit_edits,
)
from app.web.guard import actor, write
from app.web.render import go, is_htmx, page, partial, with_toast, with_undo

pages = Blueprint("projects_pages", __name__)

# The most projects that a page lists or a form offers.
MAX_PROJECTS = 200
# Up to this number, the menu of the header lists projects without a search field.
AT_A_GLANCE = 6
NO_TICKETS = {category.value: 0 for category in StateCategory}


def project_of(key: str) -> SeenProject:
    """The project of a page's address; raises NotFound or Gone."""
    with reading():
        return visible_by_key(actor(), key)


def project_options() -> list[tuple[str, str]]:
    """The options of a field that takes the key of a project."""
    return [(one["key"], f"{one['key']} · {one['name']}") for one in offered_projects()]


def offered_projects() -> list[dict[str, Any]]:
    """The JSON of the live projects that a page lists or a form offers."""
    return service.list_projects(actor(), limit=MAX_PROJECTS, cursor=None).data


@pages.get("/projects")
def index() -> Response:
    with reading():
        projects = offered_projects()
        counts = ticket_rows.live_by_category()
        sample = samples.live_sample(actor())
    shown = [
        {**project, "counts": NO_TICKETS | counts.get(project["id"], {})} for project in projects
    ]
    removed = "removed" in request.args
    return page("projects/index.html", projects=shown, sample=sample, removed=removed)


@pages.get("/projects/switch")
def switch() -> Response:
    """The projects in the menu of the header, narrowed by the text of its search field.

    Without htmx, as Enter sends it, the response leads to the first match.
    """
    typed = request.args.get("q")
    with reading():
        projects = offered_projects()
    if typed is None:
        is_long = len(projects) > AT_A_GLANCE
        return partial("projects/switch.html", projects=projects, is_long=is_long)
    matches = _matching(projects, typed)
    if is_htmx():
        return partial("projects/_switch_rows.html", projects=matches)
    is_search = bool(matches and typed.strip())
    return go(f"/projects/{matches[0]['key']}/board" if is_search else "/projects")


def _matching(projects: list[dict[str, Any]], typed: str) -> list[dict[str, Any]]:
    """The projects whose key or name contains the text, the best matches first."""
    query = typed.strip().casefold()
    if not query:
        return projects

    def rank(project: dict[str, Any]) -> tuple[bool, bool, bool, str]:
        key, name = project["key"].casefold(), project["name"].casefold()
        return key != query, not key.startswith(query), not name.startswith(query), name

    matches = [
        project
        for project in projects
        if query in project["key"].casefold() or query in project["name"].casefold()
    ]
    return sorted(matches, key=rank)


@pages.get("/projects/new")
def new() -> Response:
    return page("projects/new.html", form=Form())


@pages.post("/projects/new")
def create_project() -> Response:
    form = load_form(ProjectCreate)

    def work(person: Actor) -> str:
        return f"/projects/{service.create_project(person, **form.data).key}/board"

    target = create(form, work)
    return go(target) if target else page("projects/new.html", form=form, status=422)


@dataclass(frozen=True, slots=True)
class EditedRow:
    """The row being edited, with the submitted values, or the row to which focus returns."""

    editing: str = ""
    back: str = ""
    form: Form = field(default_factory=Form)


@dataclass(frozen=True, slots=True)
class PartSettings:
    """The settings page that lists and changes the states, or the labels, of a project."""

    name: Literal["states", "labels"]
    context: Callable[[SeenProject], dict[str, Any]]
    creation: type[Schema]
    create: Callable[..., Any]
    patch: type[Schema]
    update: Callable[..., Any]

    @property
    def rule(self) -> str:
        return f"/projects/<key>/settings/{self.name}"

    def address(self, project: SeenProject) -> str:
        return f"/projects/{project.key}/settings/{self.name}"

    def show(
        self, project: SeenProject, form: Form | None = None, row: EditedRow | None = None
    ) -> Response:
        row = row or EditedRow()
        with reading():
            context = self.context(project)
        remember_originals(row.form, self.values(context, row.editing))
        return page(
            f"projects/settings_{self.name}.html",
            block=self.name,
            project=project,
            form=form or Form(),
            editing=row.editing,
            back=row.back,
            row_form=row.form,
            status=422 if row.form.errors or (form and form.errors) else 200,
            **context,
        )

    def values(self, context: dict[str, Any], part_id: str) -> dict[str, Any]:
        """The stored values of one row; none if it does not exist."""
        rows = (row for row in context[self.name] if row["id"] == part_id)
        return {name: row[name] for row in rows for name in self.patch().fields}

    def run(
        self,
        project: SeenProject,
        form: Form,
        work: Callable[[Actor], Any],
        *,
        undo_text: str = "",
    ) -> Response:
        """Do the work and show the list again, with ``undo_text`` beside an undo button."""
        if submit(form, work) and not is_htmx():
            return go(self.address(project))
        if form.errors:
            return self.show(project, form)
        shown = self.show(project)
        return with_undo(shown, undo_text, self.address(project)) if undo_text else shown

    def list(self, key: str) -> Response:
        """The rows as text, one of them optionally as a form."""
        row = EditedRow(request.args.get("edit", ""), request.args.get("back", ""))
        return self.show(project_of(key), row=row)

    def add(self, key: str) -> Response:
        project = project_of(key)
        form = load_form(self.creation)
        return self.run(project, form, lambda person: self.create(person, project.id, **form.data))

    def save(self, key: str, part_id: str) -> Response:
        project = project_of(key)
        form = load_form(self.patch, keep_empty=True)

        def stored(person: Actor) -> dict[str, Any]:
            locked = loaders.writable(person, project.id, lock=True)
            return self.values(self.context(locked), part_id)

        def work(person: Actor, edited: dict[str, Any]) -> None:
            self.update(person, project.id, part_id, **edited)

        if not submit_edits(form, stored, work, {"category": str.capitalize}):
            # A row has no room for messages, so they are shown above the list.
            form.errors[""] = " ".join(above_form(*error) for error in form.errors.items())
            return self.show(project, row=EditedRow(part_id, form=form))
        if not is_htmx():
            return go(self.address(project))
        return self.show(project, row=EditedRow(back=part_id))


def _states(project: SeenProject) -> dict[str, Any]:
    counts = ticket_rows.live_by_state(project.id)
    rows = [
        {**state_json(state), "tickets": counts.get(state.id, 0)}
        for state in states.ordered(project.id)
    ]
    return {"states": rows, "most_moved": states.MAX_MOVED_TICKETS}


def _labels(project: SeenProject) -> dict[str, Any]:
    counts = ticket_rows.live_by_label(project.id)
    rows = [
        # As browsers send a color.
        {**label_json(label), "color": label.color.lower(), "tickets": counts.get(label.id, 0)}
        for label in labels.by_name(project.id)
    ]
    choices = [("", messages.SELECT), *((row["id"], row["name"]) for row in rows)]
    next_color = labels.PALETTE[len(rows) % len(labels.PALETTE)]
    return {"labels": rows, "choices": choices, "next_color": next_color}


STATES = PartSettings(
    "states", _states, StateCreate, states.create_state, StatePatch, states.update_state
)
LABELS = PartSettings(
    "labels", _labels, LabelCreate, labels.create_label, LabelPatch, labels.update_label
)


for part in (STATES, LABELS):
    noun = part.name.removesuffix("s")
    pages.get(part.rule, endpoint=f"{noun}_list")(part.list)
    pages.post(part.rule, endpoint=f"add_{noun}")(part.add)


@pages.post(f"{STATES.rule}/<state_id>")
def save_state(key: str, state_id: str) -> Response:
    return STATES.save(key, state_id)


@pages.post(f"{STATES.rule}/<state_id>/move")
def move_state(key: str, state_id: str) -> Response:
    """Move a state one position up or down, or ``before`` another; an empty one means the end."""
    project = project_of(key)
    before = request.form.get("before")
    step = -1 if request.form.get("to") == "up" else 1

    def work(person: Actor) -> None:
        order = [state.id for state in states.ordered(project.id)]
        if state_id not in order or (before and before not in order):
            return
        position = order.index(state_id)
        if before is None:
            position = max(0, position + step)
        elif before != state_id:
            others = [other_id for other_id in order if other_id != state_id]
            position = others.index(before) if before else len(others)
        order.remove(state_id)
        order.insert(position, state_id)
        states.reorder_states(person, project.id, state_ids=order)

    undo_text = "" if before is None else messages.STATE_MOVED
    return STATES.run(project, Form(), work, undo_text=undo_text)


@pages.post(f"{STATES.rule}/<state_id>/delete")
def delete_state(key: str, state_id: str) -> Response:
    project = project_of(key)
    return STATES.run(
        project,
        Form(),
        lambda person: states.delete_state(person, project.id, state_id),
        undo_text=messages.STATE_DELETED,
    )


@pages.post(f"{LABELS.rule}/<label_id>")
def save_label(key: str, label_id: str) -> Response:
    return LABELS.save(key, label_id)


@pages.post(f"{LABELS.rule}/<label_id>/delete")
def delete_label(key: str, label_id: str) -> Response:
    project = project_of(key)
    undoable = write(lambda person: labels.delete_label(person, project.id, label_id))
    if not is_htmx():
        return go(LABELS.address(project))
    if undoable:
        return with_undo(LABELS.show(project), messages.LABEL_DELETED, LABELS.address(project))
    text = messages.label_deleted_from_many(labels.MAX_NAMED_TICKETS)
    return with_toast(LABELS.show(project), text)
