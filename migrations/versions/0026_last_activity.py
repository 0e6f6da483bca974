"""When the comments and relations of a ticket changed last."""

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None

_FILL = """
UPDATE tickets SET discussed_at = latest.moment
FROM (
    SELECT ticket_id, max(moment) AS moment
    FROM (
        SELECT ticket_id, updated_at AS moment FROM comments
        UNION ALL
        SELECT ends.id, relations.created_at
        FROM ticket_relations AS relations
        JOIN tickets AS source ON source.id = relations.source_ticket_id
        JOIN tickets AS target ON target.id = relations.target_ticket_id
        JOIN tickets AS ends ON ends.id IN (source.id, target.id)
        WHERE source.project_id = target.project_id
    ) AS every
    GROUP BY ticket_id
) AS latest
WHERE latest.ticket_id = tickets.id
"""


def upgrade() -> None:
    op.add_column(
        "tickets",
        sa.Column("discussed_at", sa.BigInteger(), nullable=False, server_default=sa.text("0")),
    )
    op.execute(_FILL)


def downgrade() -> None:
    raise RuntimeError("There is no way back from a revision; restore the backup made before it.")
