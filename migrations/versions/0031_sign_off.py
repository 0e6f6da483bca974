"""Projects in which people sign off."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0031"
down_revision = "0030"
branch_labels = None
depends_on = None

ID = sa.CHAR(36).with_variant(postgresql.UUID(as_uuid=False), "postgresql")


def upgrade() -> None:
    op.add_column(
        "projects", sa.Column("sign_off", sa.Boolean(), nullable=False, server_default=sa.false())
    )
    op.add_column("projects", sa.Column("review_state_id", ID))


def downgrade() -> None:
    raise RuntimeError("There is no way back from a revision; restore the backup made before it.")
