"""The full-text index: which documents it holds, and their terms as each database stores them."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

ID = sa.CHAR(36).with_variant(postgresql.UUID(as_uuid=False), "postgresql")


def upgrade() -> None:
    op.create_table(
        "search_docs",
        sa.Column(
            "place",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            primary_key=True,
            autoincrement=True,
        ),
        sa.Column("id", ID, nullable=False, unique=True),
        sa.Column("kind", sa.String(16), nullable=False),
    )
    if op.get_bind().dialect.name == "postgresql":
        _terms_on_postgresql()
    else:
        _terms_on_sqlite()


def downgrade() -> None:
    raise RuntimeError("There is no way back from a revision; restore the backup made before it.")


def _terms_on_sqlite() -> None:
    """Words in order and marks in none."""
    op.execute(
        "CREATE VIRTUAL TABLE search_fts USING fts5("
        "words, marks, tokenize = 'ascii', columnsize = 0)"
    )


def _terms_on_postgresql() -> None:
    """Vectors stand apart from their places, which are read without them."""
    op.execute(
        "CREATE TABLE search_fts ("
        "place bigint CONSTRAINT pk_search_fts PRIMARY KEY, terms tsvector NOT NULL)"
    )
    op.execute("ALTER TABLE search_fts ALTER COLUMN terms SET STORAGE EXTERNAL")
    op.execute("ALTER TABLE search_fts SET (toast_tuple_target = 128)")
    # Without a list of pending entries, which every search would have to read through.
    op.execute(
        "CREATE INDEX ix_search_fts_terms ON search_fts USING gin (terms) WITH (fastupdate = off)"
    )
