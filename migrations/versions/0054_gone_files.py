"""The files of imported issues that are gone in the other tracker."""

import sqlalchemy as sa
from alembic import op

revision = "0054"
down_revision = "0053"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("imported_issues", sa.Column("gone_files", sa.JSON))


def downgrade() -> None:
    raise RuntimeError("There is no way back from a revision; restore the backup made before it.")
