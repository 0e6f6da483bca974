"""The passkey that a session was begun with."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0053"
down_revision = "0052"
branch_labels = None
depends_on = None

ID = sa.CHAR(36).with_variant(postgresql.UUID(as_uuid=False), "postgresql")


def upgrade() -> None:
    op.add_column("sessions", sa.Column("passkey_id", ID))


def downgrade() -> None:
    raise RuntimeError("There is no way back from a revision; restore the backup made before it.")
