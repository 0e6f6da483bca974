"""flask tools and flask openapi: what bots and clients are offered."""

import click
import orjson
from flask import current_app

from app.config import settings_at_hand
from app.mcp.registry import Catalog
from app.rest.openapi import document


@click.command("tools")
@click.option("--json", "as_json", is_flag=True, help="Print the answer of tools/list.")
def tools(as_json: bool) -> None:
    """List the tools of bots."""
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
    made = document(current_app.config["ROUTES"], settings_at_hand())
    click.echo(orjson.dumps(made, option=orjson.OPT_INDENT_2))
