"""Docket, a ticket tracker for people and bots; ``create_app`` assembles the application."""

import logging
import time
from pathlib import Path

from flask import Flask, Response
from flask_migrate import Migrate

from app import cli, registry
from app.accounts import arrival, authentication, avatar_colors
from app.config import Settings
from app.core import ids, lanes, logs, measuring
from app.core.actor import ANONYMOUS
from app.core.errors import RequestMisdirected
from app.core.ids import request_id
from app.database import schema
from app.database.connect import engine_options, prepare
from app.database.session import db
from app.http.current import Authentication, current_g, current_request, current_settings
from app.http.flask_app import Docket, HideTokens, OrjsonProvider, add_missing
from app.integrations import endpoint
from app.mcp import blueprint as mcp
from app.mcp.registry import EndpointConfig
from app.rest import errors, openapi
from app.rest.dispatch import blueprint, check_credentials, health
from app.tickets import stalled_bots
from app.tools.catalog import catalog
from app.web import guard
from app.web import install as install_web
from app.wiki.link_targets import targets

ROOT = Path(__file__).resolve().parent.parent
log = logging.getLogger("docket.access")

ALL_HEADERS = {"X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin"}
HTTPS_HEADERS = {"Strict-Transport-Security": "max-age=31536000"}


def create_app(settings: Settings | None = None) -> Flask:
    """Build the application; raises SettingsError if a setting is wrong."""
    settings = settings or Settings.from_env()
    app = Docket(
        "app",
        root_path=str(ROOT / "app"),
        template_folder=str(ROOT / "templates"),
        static_folder=None,
    )
    app.json = OrjsonProvider(app)
    app.url_map.merge_slashes = False
    app.config.update(
        SETTINGS=settings,
        SECRET_KEY=settings.secret_key,
        SECRET_KEY_FALLBACKS=[settings.secret_key_previous] if settings.secret_key_previous else [],
        SQLALCHEMY_DATABASE_URI=settings.database_url,
        SQLALCHEMY_ENGINE_OPTIONS=engine_options(settings.database_url, threads=settings.threads),
        # For forms; other bodies are limited when they are read (app/http/current.py).
        MAX_CONTENT_LENGTH=settings.max_request_bytes,
        MAX_FORM_MEMORY_SIZE=settings.max_request_bytes,
    )
    logs.configure(settings.log_level)
    stalled_bots.configure(settings.stalled_minutes)
    _install_database(app)
    _install_requests(app)
    _install_edges(app)
    cli.install(app)
    return app


def _install_database(app: Flask) -> None:
    db.init_app(app)
    Migrate(app, db, directory=str(schema.MIGRATIONS))
    app.config["SCHEMA_REVISION"] = schema.newest_revision()
    # For `flask copy-to`, which opens a second database.
    app.config["APP_FACTORY"] = create_app
    with app.app_context():
        prepare(db.engine)


def _install_requests(app: Flask) -> None:
    """Give every request an id, every response its headers, and the log one line each."""

    @app.before_request
    def begin() -> None:
        state = current_g()
        state.started = time.perf_counter()
        state.actor = ANONYMOUS
        state.request_id = ids.new_id()
        request_id.set(state.request_id)
        request = current_request()
        host = request.environ.get("HTTP_HOST")
        is_own_host = host is None or current_settings().own_address.is_host(host)
        if not is_own_host and request.blueprint != health.name:
            raise RequestMisdirected
        rule = request.url_rule
        lanes.enter_rule(rule.rule if rule is not None else "")

    app.after_request(authentication.record_use)

    @app.after_request
    def headers(response: Response) -> Response:
        missing = {"X-Request-Id": current_g().request_id, **ALL_HEADERS}
        if current_settings().is_https:
            missing |= HTTPS_HEADERS
        if response.mimetype == "application/json" or response.status_code == 204:
            missing["Cache-Control"] = "no-store"
        add_missing(response, missing)
        if current_request().blueprint == health.name:
            arrival.report(current_request(), response)
        return response

    @app.after_request
    def log_line(response: Response) -> Response:
        request, state = current_request(), current_g()
        took = time.perf_counter() - state.started
        if measuring.measurements is not None:
            rule, kind = request.url_rule, state.actor.kind.value
            # Without a rule, the client may have invented the method too.
            method, route = (request.method, rule.rule) if rule else ("any", "none")
            measuring.measurements.request(method, route, response.status_code, kind, took)
        logs.info(
            log,
            "request",
            {
                "method": request.method,
                "path": request.path,
                "status": response.status_code,
                "duration_ms": round(took * 1000, 2),
                "operation": state.get("operation_id"),
                "actor_user_id": state.actor.user_id,
            },
        )
        return response


def _install_edges(app: Flask) -> None:
    settings: Settings = app.config["SETTINGS"]
    request_authentication = Authentication(
        presented=authentication.presented,
        precheck=authentication.precheck,
        resolve=authentication.resolve,
        peer=authentication.peer,
        cross_site=authentication.is_cross_site,
    )

    pages = registry.pages()
    page_names = frozenset(page.name for page in pages)

    @app.before_request
    def admit() -> None:
        request = current_request()
        # An invalid key is refused even if the address or the method does not exist.
        if request.url_rule is None:
            check_credentials(request_authentication, "unrouted")
        elif request.blueprint in page_names:
            guard.admit()

    @app.after_request
    def page_headers(response: Response) -> Response:
        is_html = response.mimetype == "text/html"
        return guard.with_page_headers(response) if is_html else response

    routes = registry.routes()
    app.config["ROUTES"] = routes
    app.register_blueprint(blueprint(routes, request_authentication))
    app.register_blueprint(openapi.blueprint(routes, settings, request_authentication))
    app.register_blueprint(health)
    if settings.metrics_token:
        # Load the library only if metrics are on.
        from app.metrics.endpoint import metrics  # noqa: PLC0415

        app.register_blueprint(metrics)
    app.register_blueprint(endpoint.events)
    tools = app.config["TOOLS"] = catalog(settings.app_name)
    server = {
        "name": settings.service_name,
        "title": settings.app_name,
        "version": settings.version,
    }
    app.register_blueprint(
        mcp.blueprint(
            EndpointConfig(resolve=authentication.resolve_token, catalog=tools, server=server)
        )
    )
    avatar_colors.install(app)
    show_error = install_web(app, request_authentication, pages, targets)
    errors.install(app, show_error)
    app.wsgi_app = HideTokens(app.wsgi_app)  # type: ignore[method-assign]  # as Flask documents
