"""What each bot was told of the news."""

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("users", sa.Column("news_cursor", sa.Text()))


def downgrade() -> None:
    raise RuntimeError("There is no way back from a revision; restore the backup made before it.")
