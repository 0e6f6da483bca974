"""Instances that need no migrations or compiled templates: copies of one made before."""

import os
import shutil
import threading
from pathlib import Path

from app import create_app
from app.database import schema
from app.database.session import db
from app.web.render import warm
from tests.support.once import made_once
from tests.support.settings import settings_for


def prepare(instance: Path, *, with_database: bool) -> None:
    """Create a server's directory as its first start leaves it, before the setup."""
    instance.mkdir(parents=True)
    copy_templates(instance)
    if with_database:
        copy_database(instance / "docket.db")


def copy_templates(instance: Path) -> None:
    """Copy the compiled templates into an instance directory."""
    source = _shared_instance() / "templates"
    shutil.copytree(source, instance / "templates", copy_function=_link_or_copy)


def _link_or_copy(source: str, target: str) -> None:
    """Link: nobody writes into compiled templates, and copying all takes a fifth of a start."""
    try:
        os.link(source, target)
    except OSError:
        # The target is on another device.
        shutil.copy(source, target)


def copy_database(path: Path) -> None:
    """Copy an empty, migrated SQLite database to this path."""
    shutil.copy(_shared_instance() / "docket.db", path)


_guard = threading.Lock()


def _shared_instance() -> Path:
    """Lock: tests start several servers at once, but alembic migrates in one thread at a time."""
    with _guard:
        return made_once("instance", _make)


def _make(directory: Path) -> None:
    database = directory / "docket.db"
    app = create_app(settings_for(f"sqlite:///{database}", directory))
    warm(app)
    with app.app_context():
        schema.upgrade()
        db.session.remove()
        db.engine.dispose()
    database.chmod(0o600)
