"""Liveness and readiness; neither looks at a credential."""

from flask import Blueprint, Response, current_app
from sqlalchemy import text

from app.core.errors import Unavailable
from app.database.session import reading, session
from app.rest.answers import Rendered, respond

HEALTHY = Rendered(200, b'{"status":"ok"}\n')
READY = Rendered(200, b'{"status":"ready","db":"ok","settings_loaded":true}\n')

health = Blueprint("health", __name__)


@health.get("/healthz", provide_automatic_options=False)
def healthz() -> Response:
    """The process lives; touches nothing."""
    return respond(HEALTHY)


@health.get("/readyz", provide_automatic_options=False)
def readyz() -> Response:
    """The database answers and holds the schema this release needs."""
    with reading():
        found = session.execute(text("SELECT version_num FROM alembic_version")).scalars().all()
    if found != [current_app.config["SCHEMA_REVISION"]]:
        raise Unavailable
    return respond(READY)
