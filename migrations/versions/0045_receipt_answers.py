"""What processes say of reads before changes that bots made elsewhere."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0045"
down_revision = "0044"
branch_labels = None
depends_on = None

ID = sa.CHAR(36).with_variant(postgresql.UUID(as_uuid=False), "postgresql")


def upgrade() -> None:
    op.create_table(
        "receipt_answers",
        sa.Column("event_id", ID, primary_key=True),
        sa.Column("process_id", ID, primary_key=True),
        sa.Column("answer", sa.JSON(), nullable=True),
    )
    is_open = sa.text("answer IS NULL")
    op.create_index(
        "ix_receipt_answers_process_id",
        "receipt_answers",
        ["process_id"],
        sqlite_where=is_open,
        postgresql_where=is_open,
    )


def downgrade() -> None:
    raise RuntimeError("There is no way back from a revision; restore the backup made before it.")
