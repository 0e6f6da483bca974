"""The database's schema: bringing it up to date, and telling whether it is.

How a revision runs is in migrations/env.py.
"""

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from flask import current_app


def upgrade() -> None:
    """Run the revisions that the database lacks, all or none (within an application context)."""
    command.upgrade(_config(), "head")


def newest_revision() -> str | None:
    """The revision that this release needs (within an application context)."""
    return ScriptDirectory.from_config(_config()).get_current_head()


def _config() -> Config:
    config: Config = current_app.extensions["migrate"].migrate.get_config()
    return config
