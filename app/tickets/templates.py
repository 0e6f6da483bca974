"""Templates of a project's tickets. A change of a template is a change of the project."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import select

from app.audit.service import record
from app.core import text
from app.core.actor import Access, Actor, operation
from app.core.errors import Conflict, InvalidField, NotFound
from app.core.ids import as_uuid
from app.database.session import by_id, session
from app.database.versions import add_versioned, apply_changes
from app.projects import labels, loaders
from app.projects.loaders import SeenProject
from app.projects.models import Label
from app.tickets import messages
from app.tickets.models import Priority, TicketTemplate, TicketType

MAX_TEMPLATES = 20
NAME_LENGTH = 80
# The fields that a new ticket copies.
FILLED = ("title", "body", "type", "priority", "label_ids")
# The name of templates in the changes of an event.
CHANGED = "templates"


def template_json(template: TicketTemplate) -> dict[str, Any]:
    return {name: getattr(template, name) for name in ("id", "name", *FILLED)}


def of_project(project_id: str) -> Sequence[TicketTemplate]:
    """The project's templates by name; needs a unit of work."""
    statement = select(TicketTemplate).where(TicketTemplate.project_id == project_id)
    return session.scalars(statement.order_by(TicketTemplate.name_key)).all()


@operation(Access.READ)
def list_templates(actor: Actor, project_id: str) -> list[dict[str, Any]]:
    """The project's templates by name, at most ``MAX_TEMPLATES``."""
    return [template_json(one) for one in of_project(loaders.visible(actor, project_id).id)]


def plain(name: str) -> str:
    """A name for comparison; hyphens may stand for spaces."""
    return text.name_key(name.strip()).replace(" ", "-")


def find(project_id: str, reference: str) -> TicketTemplate | None:
    """The project's template with a name (in any case) or an id; needs a unit of work."""
    identifier, name = as_uuid(reference), plain(reference)
    for template in of_project(project_id):
        if template.id == identifier or plain(template.name) == name:
            return template
    return None


def filled(template: TicketTemplate, fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a new ticket: those given, else the template's, without deleted labels.

    A blank text counts as not given.
    """
    given = {name for name, value in fields.items() if not _is_blank(value)}
    start: dict[str, Any] = {name: getattr(template, name) for name in FILLED if name not in given}
    if not start.get("title"):
        start.pop("title", None)
    if "label_ids" in start:
        start["label_ids"] = [label.id for label in _living(start["label_ids"])]
    return {**fields, **start}


def _is_blank(value: Any) -> bool:
    return isinstance(value, str) and not value.strip()


def _living(label_ids: Sequence[str]) -> Sequence[Label]:
    """The existing ones of these labels, by name."""
    statement = select(Label).where(Label.id.in_(label_ids)).order_by(Label.name_key)
    return session.scalars(statement).all()


def _recorded(template: TicketTemplate) -> dict[str, Any]:
    """A template as an event records it: undo finds its labels again by their names."""
    names = [label.name for label in _living(template.label_ids)]
    return {**template_json(template), "labels": names}


def _checked(project: SeenProject, values: dict[str, Any]) -> dict[str, Any]:
    """The values as they are stored; raises InvalidField."""
    checked = dict(values)
    if "name" in values:
        checked["name"] = text.line(values["name"], "name", NAME_LENGTH)
    if "title" in values:
        title = values["title"]
        checked["title"] = text.line(title, "title") if title.strip() else ""
    if "body" in values:
        text.body(values["body"])
    for name in ("type", "priority"):
        if name in values:
            checked[name] = str(values[name])
    if "label_ids" in values:
        chosen = labels.named_in_body(project.id, values["label_ids"] or [])
        # In the order of ``labels_named``.
        chosen.sort(key=lambda label: label.name_key)
        checked["label_ids"] = [label.id for label in chosen]
    return checked


def _record(actor: Actor, project: SeenProject, before: Any, after: Any) -> None:
    change = {CHANGED: {"from": before, "to": after}}
    record(actor, "project.updated", loaders.target(project), changes=change)


def _of_path(project: SeenProject, template_id: str) -> TicketTemplate:
    template = by_id(TicketTemplate, template_id)
    if template is None or template.project_id != project.id:
        raise NotFound("template", template_id)
    return template


def labels_named(project_id: str, names: Sequence[str]) -> list[str]:
    """The ids of the project's labels with these names; missing ones are omitted."""
    keys = [text.name_key(name) for name in names]
    statement = select(Label.id).where(Label.project_id == project_id, Label.name_key.in_(keys))
    return list(session.scalars(statement.order_by(Label.name_key)))


def is_taken(project_id: str, name: str, *, but: str | None = None) -> bool:
    """Whether another template has this name, or one that quick add reads the same way."""
    others = (one for one in of_project(project_id) if one.id != but)
    return any(plain(other.name) == plain(name) for other in others)


def _check_free(project: SeenProject, name: str, *, but: str | None = None) -> None:
    if is_taken(project.id, name, but=but):
        raise Conflict("duplicate_key", loaders.name_in_use("template", name), field="name")


@operation(Access.HUMAN)
def create_template(
    actor: Actor,
    project_id: str,
    *,
    name: str,
    title: str = "",
    body: str = "",
    type: str = TicketType.STORY,
    priority: str = Priority.MEDIUM,
    label_ids: list[str] | None = None,
) -> TicketTemplate:
    """Add a template; raises InvalidField, and Conflict ``duplicate_key``."""
    project = loaders.writable(actor, project_id, lock=True)
    values = _checked(
        project,
        {
            "name": name,
            "title": title,
            "body": body,
            "type": type,
            "priority": priority,
            "label_ids": label_ids,
        },
    )
    _check_free(project, values["name"])
    if len(of_project(project.id)) >= MAX_TEMPLATES:
        message = messages.too_many_templates(MAX_TEMPLATES)
        raise InvalidField("name", "too_many", message)
    template = add_versioned(
        TicketTemplate, project_id=project.id, name_key=text.name_key(values["name"]), **values
    )
    session.flush()
    _record(actor, project, None, _recorded(template))
    return template


@operation(Access.HUMAN)
def update_template(
    actor: Actor, /, project_id: str, template_id: str, **fields: Any
) -> TicketTemplate:
    """Change a template; raises InvalidField, and Conflict ``duplicate_key``."""
    project = loaders.writable(actor, project_id, lock=True)
    template = _of_path(project, template_id)
    values = _checked(project, fields)
    if "name" in values:
        _check_free(project, values["name"], but=template.id)
    before = _recorded(template)
    if apply_changes(template, values):
        template.name_key = text.name_key(template.name)
        session.flush()
        _record(actor, project, before, _recorded(template))
    return template


@operation(Access.HUMAN)
def delete_template(actor: Actor, project_id: str, template_id: str) -> None:
    """Delete a template; tickets created from it do not change."""
    project = loaders.writable(actor, project_id, lock=True)
    template = _of_path(project, template_id)
    before = _recorded(template)
    session.delete(template)
    session.flush()
    _record(actor, project, before, None)


def replace_label(actor: Actor, project_id: str, label_id: str, into_label_id: str) -> None:
    """Replace a label by another one in the templates that have it."""
    for template in of_project(project_id):
        if label_id in template.label_ids:
            kept = [label.id for label in _living(template.label_ids) if label.id != label_id]
            label_ids = text.unique([*kept, into_label_id])
            update_template(actor, project_id, template.id, label_ids=label_ids)
