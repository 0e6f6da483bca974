"""The settings page of a project's ticket templates."""

from collections.abc import Callable
from typing import Any

from flask import Response, request

from app.core.actor import Actor
from app.core.errors import NotFound
from app.database.session import by_id, reading
from app.projects.loaders import SeenProject
from app.projects.pages import project_of
from app.tickets import templates
from app.tickets.filters import KINDS, PRIORITIES
from app.tickets.models import TicketTemplate
from app.tickets.pages import messages
from app.tickets.pages.blueprint import pages, words
from app.tickets.pages.board import label_summaries
from app.tickets.schemas import TemplateForm
from app.web.forms import Form, drop_unchanged_values, load_form, remember_originals, submit
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
    remember_originals(
        form, {name: template[name] for name in TemplateForm().fields} if template else {}
    )
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
    with reading():
        template = by_id(TicketTemplate, template_id)
        if template is None or template.project_id != project.id:
            raise NotFound("template", template_id)
        return templates.template_json(template)


def _save(
    project: SeenProject,
    template: dict[str, Any] | None,
    work: Callable[[Actor, dict[str, Any]], object],
) -> Response:
    form = load_form(TemplateForm, keep_empty=True, label_ids=request.form.getlist("label_ids"))
    drop_unchanged_values(form, template or {})
    if submit(form, lambda person: work(person, form.data)):
        return go(_address_of(project))
    return _editor(project, form, template, status=422)


@pages.get(f"{ADDRESS}/new")
def new_template(key: str) -> Response:
    return _editor(project_of(key), Form(), None)


@pages.post(ADDRESS)
def add_template(key: str) -> Response:
    project = project_of(key)

    def work(person: Actor, fields: dict[str, Any]) -> object:
        return templates.create_template(person, project.id, **fields)

    return _save(project, None, work)


@pages.get(f"{ADDRESS}/<template_id>")
def edit_template(key: str, template_id: str) -> Response:
    project = project_of(key)
    return _editor(project, Form(), _stored(project, template_id))


@pages.post(f"{ADDRESS}/<template_id>")
def save_template(key: str, template_id: str) -> Response:
    project = project_of(key)

    def work(person: Actor, fields: dict[str, Any]) -> object:
        return templates.update_template(person, project.id, template_id, **fields)

    return _save(project, _stored(project, template_id), work)


@pages.post(f"{ADDRESS}/<template_id>/delete")
def delete_template(key: str, template_id: str) -> Response:
    project = project_of(key)
    write(lambda person: templates.delete_template(person, project.id, template_id))
    if not is_htmx():
        return go(_address_of(project))
    return with_undo(_show(project), messages.TEMPLATE_DELETED, _address_of(project))
