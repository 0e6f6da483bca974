"""The settings page of a project's ticket templates."""

from typing import Any

from flask import Response, request

from app.core.actor import Actor
from app.core.errors import NotFound
from app.database.session import by_id, reading
from app.projects import loaders
from app.projects.loaders import SeenProject
from app.projects.pages import project_of
from app.tickets import templates
from app.tickets.filters import KINDS, PRIORITIES
from app.tickets.models import TicketTemplate
from app.tickets.pages import messages
from app.tickets.pages.blueprint import pages, words
from app.tickets.pages.board import label_summaries
from app.tickets.schemas import TemplateForm
from app.web.forms import Form, load_form, remember_originals, submit, submit_edits
from app.web.guard import write
from app.web.render import go, is_htmx, page, with_undo

ADDRESS = "/projects/<key>/settings/templates"


def _address_of(project: SeenProject) -> str:
    return f"/projects/{project.key}/settings/templates"


def _show(project: SeenProject) -> Response:
    with reading():
        names = {label["id"]: label for label in label_summaries(project.id)}
        shown = [
            {
                **templates.template_json(one),
                "labels": [names[item] for item in one.label_ids if item in names],
            }
            for one in templates.of_project(project.id)
        ]
    return page(
        "projects/settings_templates.html",
        block="templates",
        project=project,
        templates=shown,
        labels=list(names.values()),
        limit=templates.MAX_TEMPLATES,
    )


@pages.get(ADDRESS)
def template_list(key: str) -> Response:
    return _show(project_of(key))


def _editor(
    project: SeenProject, form: Form, template: dict[str, Any] | None, *, status: int = 200
) -> Response:
    remember_originals(form, template or {})
    with reading():
        found = label_summaries(project.id)
    return page(
        "projects/settings_template.html",
        project=project,
        form=form,
        known=template,
        labels=found,
        kinds=words(KINDS),
        priorities=words(PRIORITIES),
        status=status,
    )


def _stored(project: SeenProject, template_id: str) -> dict[str, Any]:
    """The stored template as the form shows it: without deleted labels.

    Needs a unit of work; raises NotFound.
    """
    template = by_id(TicketTemplate, template_id)
    if template is None or template.project_id != project.id:
        raise NotFound("template", template_id)
    stored = templates.template_json(template)
    offered = {label["id"] for label in label_summaries(project.id)}
    return {**stored, "label_ids": [one for one in stored["label_ids"] if one in offered]}


def _load() -> Form:
    return load_form(TemplateForm, keep_empty=True, label_ids=request.form.getlist("label_ids"))


@pages.get(f"{ADDRESS}/new")
def new_template(key: str) -> Response:
    return _editor(project_of(key), Form(), None)


@pages.post(ADDRESS)
def add_template(key: str) -> Response:
    project = project_of(key)
    form = _load()
    if submit(form, lambda person: templates.create_template(person, project.id, **form.data)):
        return go(_address_of(project))
    return _editor(project, form, None, status=422)


@pages.get(f"{ADDRESS}/<template_id>")
def edit_template(key: str, template_id: str) -> Response:
    return _edit(project_of(key), template_id, Form())


def _edit(project: SeenProject, template_id: str, form: Form) -> Response:
    with reading():
        template = _stored(project, template_id)
    return _editor(project, form, template, status=422 if form.errors else 200)


@pages.post(f"{ADDRESS}/<template_id>")
def save_template(key: str, template_id: str) -> Response:
    project = project_of(key)
    form = _load()

    def stored(person: Actor) -> dict[str, Any]:
        return _stored(loaders.writable(person, project.id, lock=True), template_id)

    def work(person: Actor, edited: dict[str, Any]) -> None:
        templates.update_template(person, project.id, template_id, **edited)

    def names(label_ids: list[str]) -> str:
        found = label_summaries(project.id)
        return ", ".join(one["name"] for one in found if one["id"] in label_ids)

    capitals = dict.fromkeys(("type", "priority"), str.capitalize)
    if submit_edits(form, stored, work, {"label_ids": names, **capitals}):
        return go(_address_of(project))
    return _edit(project, template_id, form)


@pages.post(f"{ADDRESS}/<template_id>/delete")
def delete_template(key: str, template_id: str) -> Response:
    project = project_of(key)
    write(lambda person: templates.delete_template(person, project.id, template_id))
    if not is_htmx():
        return go(_address_of(project))
    return with_undo(_show(project), messages.TEMPLATE_DELETED, _address_of(project))
