"""Windows of failed credentials, so that a stranger cannot fill the audit log."""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "auth_failure_windows",
        sa.Column("key_hash", sa.String(64), nullable=False),
        sa.Column("token_prefix", sa.String(8)),
        sa.Column("began_at", sa.BigInteger(), nullable=False),
        sa.Column("further", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("key_hash", name="pk_auth_failure_windows"),
    )
    op.create_index("ix_auth_failure_windows_began_at", "auth_failure_windows", ["began_at"])


def downgrade() -> None:
    raise RuntimeError("There is no way back from a revision; restore the backup made before it.")
