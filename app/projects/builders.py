"""The JSON of projects, workflow states and labels."""

from typing import Any

from app.core.clock import iso, iso_or_none
from app.projects.loaders import SeenProject
from app.projects.models import Label, Project, WorkflowState


def project_json(project: Project | SeenProject) -> dict[str, Any]:
    return {
        "id": project.id,
        "key": project.key,
        "name": project.name,
        "description": project.description,
        "owner_user_id": project.owner_user_id,
        "sign_off": project.sign_off,
        "review_state_id": project.review_state_id,
        "bot_creation_limit": project.bot_creation_limit,
        "created_at": iso(project.created_at),
        "updated_at": iso(project.updated_at),
        "deleted_at": iso_or_none(project.deleted_at),
    }


def state_json(state: WorkflowState) -> dict[str, Any]:
    return {
        "id": state.id,
        "project_id": state.project_id,
        "name": state.name,
        "position": state.position,
        "category": state.category,
        "wip_limit": state.wip_limit,
        "created_at": iso(state.created_at),
        "updated_at": iso(state.updated_at),
    }


def label_json(label: Label) -> dict[str, Any]:
    return {
        "id": label.id,
        "project_id": label.project_id,
        "name": label.name,
        "color": label.color,
        "created_at": iso(label.created_at),
        "updated_at": iso(label.updated_at),
    }
