"""Email addresses of people."""

import sqlalchemy as sa
from alembic import op

revision = "0041"
down_revision = "0040"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("users", sa.Column("email", sa.String(254)))
    op.add_column("users", sa.Column("email_confirmed_at", sa.BigInteger()))
    op.create_index("uq_users_email", "users", ["email"], unique=True)


def downgrade() -> None:
    raise RuntimeError("There is no way back from a revision; restore the backup made before it.")
