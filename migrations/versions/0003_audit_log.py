"""The audit log, which nothing can rewrite: triggers refuse it on both databases."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

ID = sa.CHAR(36).with_variant(postgresql.UUID(as_uuid=False), "postgresql")
# Milliseconds since the epoch.
MOMENT = sa.BigInteger()

# Every column of an event but tool_invocation_log_id.
KEPT = (
    *("id", "workspace_id", "category", "event_type", "actor_user_id", "actor_kind", "target_kind"),
    *("target_id", "project_id", "ticket_id", "payload", "request_id", "created_at"),
)


def upgrade() -> None:
    op.create_table(
        "audit_events",
        sa.Column("id", ID, primary_key=True),
        sa.Column("workspace_id", ID, nullable=False),
        sa.Column("category", sa.String(16), nullable=False),
        sa.Column("event_type", sa.String(64), nullable=False),
        sa.Column("actor_user_id", ID, nullable=True),
        sa.Column("actor_kind", sa.String(16), nullable=False),
        sa.Column("target_kind", sa.String(32), nullable=False),
        sa.Column("target_id", ID, nullable=True),
        sa.Column("project_id", ID, nullable=True),
        sa.Column("ticket_id", ID, nullable=True),
        sa.Column("payload", sa.JSON(), nullable=False),
        sa.Column("request_id", ID, nullable=True),
        sa.Column("tool_invocation_log_id", ID, nullable=True),
        sa.Column("created_at", MOMENT, nullable=False),
    )
    op.create_index(
        "ix_audit_events_actor_user_id_created_at_id",
        "audit_events",
        ["actor_user_id", "created_at", "id"],
    )
    op.create_index("ix_audit_events_created_at_id", "audit_events", ["created_at", "id"])
    op.create_index(
        "ix_audit_events_event_type_created_at_id",
        "audit_events",
        ["event_type", "created_at", "id"],
    )
    op.create_index(
        "ix_audit_events_project_id_category_created_at_id",
        "audit_events",
        ["project_id", "category", "created_at", "id"],
    )
    op.create_index("ix_audit_events_request_id", "audit_events", ["request_id"])
    op.create_index(
        "ix_audit_events_ticket_id_created_at_id", "audit_events", ["ticket_id", "created_at", "id"]
    )
    if op.get_bind().dialect.name == "postgresql":
        _append_only_on_postgresql()
    else:
        _append_only_on_sqlite()


def downgrade() -> None:
    raise RuntimeError("There is no way back from a revision; restore the backup made before it.")


def _append_only_on_sqlite() -> None:
    """Refuse to change or delete an event; only a purged tool log entry may be let go of.

    Rebuilding this table in a later revision (a batch change) drops its triggers: add them again.
    """
    same = " AND ".join(f"new.{name} IS old.{name}" for name in KEPT)
    refuse = "BEGIN SELECT RAISE(ABORT, 'audit events are append-only'); END"
    op.execute(f"CREATE TRIGGER audit_events_no_delete BEFORE DELETE ON audit_events {refuse}")
    op.execute(
        "CREATE TRIGGER audit_events_no_update BEFORE UPDATE ON audit_events "
        f"WHEN NOT (new.tool_invocation_log_id IS NULL AND {same}) {refuse}"
    )
    # INSERT OR REPLACE deletes without asking a DELETE trigger.
    op.execute(
        "CREATE TRIGGER audit_events_no_replace BEFORE INSERT ON audit_events WHEN EXISTS "
        f"(SELECT 1 FROM audit_events WHERE id = new.id) {refuse}"
    )


def _append_only_on_postgresql() -> None:
    """Refuse to change, delete or truncate events; the same exception as on SQLite."""
    op.execute(
        """
        CREATE FUNCTION audit_events_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF TG_OP = 'UPDATE' THEN
                old.tool_invocation_log_id := NULL;
                IF new::text = old::text THEN
                    RETURN new;
                END IF;
            END IF;
            RAISE EXCEPTION 'audit events are append-only';
        END $$
        """
    )
    op.execute(
        "CREATE TRIGGER audit_events_append_only BEFORE UPDATE OR DELETE ON audit_events "
        "FOR EACH ROW EXECUTE FUNCTION audit_events_append_only()"
    )
    op.execute(
        "CREATE TRIGGER audit_events_no_truncate BEFORE TRUNCATE ON audit_events "
        "FOR EACH STATEMENT EXECUTE FUNCTION audit_events_append_only()"
    )
