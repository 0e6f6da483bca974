"""Finding the sample project, which explains Docket by example (``app/sample``)."""

from sqlalchemy import select

from app.audit.event_types import Category
from app.audit.models import AuditEvent
from app.core.actor import Access, Actor, operation
from app.database.session import session
from app.projects.models import Project

KEY = "SAMPLE"
# The project's creation event contains this text, which identifies it even after a rename.
DESCRIPTION = (
    "A project to look around in: it explains Docket by example. Nothing here matters, so try"
    " everything; one button removes it."
)


@operation(Access.HUMAN)
def live_sample(actor: Actor) -> Project | None:
    rows = session.execute(
        select(Project, AuditEvent.payload)
        .join(AuditEvent, AuditEvent.project_id == Project.id)
        .where(
            Project.key.startswith(KEY),
            Project.deleted_at.is_(None),
            AuditEvent.category == Category.AUDIT_ONLY.value,
            AuditEvent.event_type == "project.created",
        )
        .order_by(Project.created_at)
    )
    return next((row.Project for row in rows if row.payload["description"] == DESCRIPTION), None)
