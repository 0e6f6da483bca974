"""REST endpoints of projects, workflow states and labels."""

from app.core.errors import Conflict
from app.projects import labels, service, states
from app.projects.builders import label_json, project_json, state_json
from app.projects.schemas import (
    LabelCreate,
    LabelOut,
    LabelPatch,
    ProjectCreate,
    ProjectOut,
    ProjectPatch,
    StateCreate,
    StateOrder,
    StateOut,
    StatePatch,
)
from app.rest.fields import DeletedPageQuery, DeletedQuery, PageQuery
from app.rest.routing import NO_CONTENT, Answer, Api, Call, created

api = Api("projects")

PROJECT = "/projects/<project_id>"
STATES = f"{PROJECT}/workflow-states"
LABELS = f"{PROJECT}/labels"


@api.route(
    "GET",
    "/projects",
    "projects.list",
    calls=service.list_projects,
    query=DeletedPageQuery,
    returns=ProjectOut,
    paginated=True,
    leads_to=("projects.get", "projects.tickets.list"),
)
def list_projects(call: Call) -> Answer:
    """List the projects visible to the actor, newest first."""
    return Answer(service.list_projects(call.actor, **call.query).collection)


@api.route(
    "POST",
    "/projects",
    "projects.create",
    calls=service.create_project,
    body=ProjectCreate,
    returns=ProjectOut,
    status=201,
    leads_to=("projects.get", "projects.update", "tickets.create"),
    errors=(Conflict,),
)
def create_project(call: Call) -> Answer:
    """Create a project with the default workflow states."""
    project = service.create_project(call.actor, **call.body)
    return created(project_json(project), f"/projects/{project.id}")


@api.route(
    "GET",
    PROJECT,
    "projects.get",
    calls=service.get_project,
    query=DeletedQuery,
    returns=ProjectOut,
)
def get_project(call: Call) -> Answer:
    """Fetch one project."""
    project = service.get_project(call.actor, call.path["project_id"], **call.query)
    return Answer(project_json(project))


@api.route(
    "PATCH",
    PROJECT,
    "projects.update",
    calls=service.update_project,
    body=ProjectPatch,
    returns=ProjectOut,
)
def update_project(call: Call) -> Answer:
    """Change a project's name, description or owner, sign-off or the limit for bots."""
    project = service.update_project(call.actor, call.path["project_id"], **call.body)
    return Answer(project_json(project))


@api.route("DELETE", PROJECT, "projects.delete", calls=service.delete_project, status=204)
def delete_project(call: Call) -> Answer:
    """Soft-delete a project; its key stays reserved."""
    service.delete_project(call.actor, call.path["project_id"])
    return NO_CONTENT


@api.route(
    "GET",
    STATES,
    "projects.workflow_states.list",
    calls=states.list_states,
    query=PageQuery,
    returns=StateOut,
    paginated=True,
    leads_to=("projects.workflow_states.update",),
)
def list_states(call: Call) -> Answer:
    """List a project's workflow states by position."""
    return Answer(states.list_states(call.actor, call.path["project_id"], **call.query).collection)


@api.route(
    "POST",
    STATES,
    "projects.workflow_states.create",
    calls=states.create_state,
    body=StateCreate,
    returns=StateOut,
    status=201,
    leads_to=("projects.workflow_states.update", "projects.workflow_states.delete"),
    errors=(Conflict,),
)
def create_state(call: Call) -> Answer:
    """Add a workflow state at the end."""
    state = states.create_state(call.actor, call.path["project_id"], **call.body)
    return created(state_json(state), f"/projects/{state.project_id}/workflow-states/{state.id}")


@api.route(
    "PATCH",
    f"{STATES}/<state_id>",
    "projects.workflow_states.update",
    calls=states.update_state,
    body=StatePatch,
    returns=StateOut,
    errors=(Conflict,),
)
def update_state(call: Call) -> Answer:
    """Rename or recategorize a workflow state, or change its limit."""
    state = states.update_state(
        call.actor, call.path["project_id"], call.path["state_id"], **call.body
    )
    return Answer(state_json(state))


@api.route(
    "DELETE",
    f"{STATES}/<state_id>",
    "projects.workflow_states.delete",
    calls=states.delete_state,
    status=204,
    errors=(Conflict,),
)
def delete_state(call: Call) -> Answer:
    """Delete a workflow state that no live ticket uses."""
    states.delete_state(call.actor, call.path["project_id"], call.path["state_id"])
    return NO_CONTENT


@api.route(
    "POST",
    f"{STATES}/reorder",
    "projects.workflow_states.reorder",
    calls=states.reorder_states,
    body=StateOrder,
    returns=StateOut,
    paginated=True,
)
def reorder_states(call: Call) -> Answer:
    """Reorder all workflow states of a project."""
    project_id = call.path["project_id"]
    states.reorder_states(call.actor, project_id, **call.body)
    rows = [state_json(state) for state in states.ordered(project_id.lower())]
    return Answer({"data": rows, "page": {"next_cursor": None, "has_more": False}})


@api.route(
    "GET",
    LABELS,
    "projects.labels.list",
    calls=labels.list_labels,
    query=PageQuery,
    returns=LabelOut,
    paginated=True,
    leads_to=("projects.labels.update",),
)
def list_labels(call: Call) -> Answer:
    """List a project's labels, newest first."""
    return Answer(labels.list_labels(call.actor, call.path["project_id"], **call.query).collection)


@api.route(
    "POST",
    LABELS,
    "projects.labels.create",
    calls=labels.create_label,
    body=LabelCreate,
    returns=LabelOut,
    status=201,
    leads_to=("projects.labels.update", "projects.labels.delete"),
    errors=(Conflict,),
)
def create_label(call: Call) -> Answer:
    """Create a label."""
    given = {"color": labels.DEFAULT_COLOR, **call.body}
    label = labels.create_label(call.actor, call.path["project_id"], **given)
    return created(label_json(label), f"/projects/{label.project_id}/labels/{label.id}")


@api.route(
    "PATCH",
    f"{LABELS}/<label_id>",
    "projects.labels.update",
    calls=labels.update_label,
    body=LabelPatch,
    returns=LabelOut,
    errors=(Conflict,),
)
def update_label(call: Call) -> Answer:
    """Rename or recolor a label."""
    label = labels.update_label(
        call.actor, call.path["project_id"], call.path["label_id"], **call.body
    )
    return Answer(label_json(label))


@api.route(
    "DELETE",
    f"{LABELS}/<label_id>",
    "projects.labels.delete",
    calls=labels.delete_label,
    status=204,
)
def delete_label(call: Call) -> Answer:
    """Delete a label permanently and remove it from every ticket."""
    labels.delete_label(call.actor, call.path["project_id"], call.path["label_id"])
    return NO_CONTENT
