"""flask tools, flask openapi and flask projects."""

import json

import click
import orjson
from flask import current_app

from app.commands import AS, JSON_LINES, PAGE_SIZE, all_rows, messages
from app.core.actor import SYSTEM
from app.database.session import reading, run_write
from app.http.current import current_settings
from app.mcp.registry import Catalog
from app.projects import service
from app.projects.command_line import acting_human
from app.rest.openapi import document


@click.group("projects")
def projects() -> None:
    """List and create projects."""


@projects.command("list")
@JSON_LINES
def list_projects(as_json: bool) -> None:
    """List all projects, newest first."""
    for project in all_rows(
        lambda cursor: service.list_projects(SYSTEM, limit=PAGE_SIZE, cursor=cursor)
    ):
        line = f"{project['key']:<10} {project['name']}"
        click.echo(json.dumps(project) if as_json else line)


@projects.command("create")
@click.argument("key")
@click.argument("name")
@click.option("--description", default="", help="A description in Markdown.")
@AS
def create(key: str, name: str, description: str, username: str | None) -> None:
    """Create a project with the default workflow."""
    with reading():
        actor = acting_human(username)
    created = run_write(
        lambda: service.create_project(actor, key=key, name=name, description=description).key
    )
    click.echo(messages.created(created))


@click.command("tools")
@click.option("--json", "as_json", is_flag=True, help="Print the tools/list response.")
def tools(as_json: bool) -> None:
    """List the tools available to bots."""
    catalog: Catalog = current_app.config["TOOLS"]
    if as_json:
        click.echo(orjson.dumps({"tools": catalog.tools_listing}, option=orjson.OPT_INDENT_2))
        return
    for tool in catalog.tools_listing:
        kind = "read " if tool["annotations"]["readOnlyHint"] else "write"
        click.echo(f"{tool['name']:<24} {kind} {tool['description'].split('. ')[0].rstrip('.')}.")


@click.command("openapi")
def openapi() -> None:
    """Print the OpenAPI document."""
    openapi_document = document(current_app.config["ROUTES"], current_settings())
    click.echo(orjson.dumps(openapi_document, option=orjson.OPT_INDENT_2))
