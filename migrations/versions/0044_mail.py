"""The outbox of mail."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0044"
down_revision = "0043"
branch_labels = None
depends_on = None

ID = sa.CHAR(36).with_variant(postgresql.UUID(as_uuid=False), "postgresql")
KINDS = "'confirm', 'changed', 'reset', 'invitation', 'notice', 'digest'"
STATES = "'pending', 'sent', 'failed', 'dropped'"


def upgrade() -> None:
    op.create_table(
        "mails",
        sa.Column("id", ID, primary_key=True),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("address", sa.String(254), nullable=False),
        sa.Column("user_id", ID, sa.ForeignKey("users.id")),
        sa.Column("token_hash", sa.String(64), unique=True),
        sa.Column("ticket_id", ID),
        sa.Column("since", sa.BigInteger()),
        sa.Column("until", sa.BigInteger()),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("due_at", sa.BigInteger(), nullable=False),
        sa.Column("error", sa.Text()),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("finished_at", sa.BigInteger()),
        sa.CheckConstraint(f"kind IN ({KINDS})", name="kind"),
        sa.CheckConstraint(f"state IN ({STATES})", name="state"),
    )
    op.create_index("ix_mails_state_due_at_id", "mails", ["state", "due_at", "id"])
    op.create_index("ix_mails_user_id_ticket_id_until", "mails", ["user_id", "ticket_id", "until"])
    op.create_index("ix_mails_finished_at", "mails", ["finished_at"])
    op.create_index("ix_mails_created_at_id", "mails", ["created_at", "id"])
    op.add_column("password_links", sa.Column("mailed_to", sa.String(254)))


def downgrade() -> None:
    raise RuntimeError("There is no way back from a revision; restore the backup made before it.")
