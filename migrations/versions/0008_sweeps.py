"""The leases of the sweeps, by which each runs once at a time over all processes."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

# Milliseconds since the epoch.
MOMENT = sa.BigInteger()


def upgrade() -> None:
    op.create_table(
        "sweeper_leases",
        sa.Column("sweeper", sa.String(64), primary_key=True),
        sa.Column("owner", sa.String(64), nullable=True),
        sa.Column("lease_until", MOMENT, nullable=False),
        sa.Column("last_run_at", MOMENT, nullable=True),
    )


def downgrade() -> None:
    raise RuntimeError("There is no way back from a revision; restore the backup made before it.")
