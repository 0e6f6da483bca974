"""An index of events by the page, note or label that they are about, for rewinds."""

import sqlalchemy as sa
from alembic import op

revision = "0050"
down_revision = "0049"
branch_labels = None
depends_on = None


def upgrade() -> None:
    has_indexed_target = sa.text("target_kind IN ('wiki_page', 'sticky_note', 'label')")
    op.create_index(
        "ix_audit_events_target_id_created_at_id",
        "audit_events",
        ["target_id", "created_at", "id"],
        sqlite_where=has_indexed_target,
        postgresql_where=has_indexed_target,
    )


def downgrade() -> None:
    raise RuntimeError("There is no way back from a revision; restore the backup made before it.")
