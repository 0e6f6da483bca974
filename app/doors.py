"""What the domains offer to each door, in one place each: REST routes, pages, commands."""

from flask import Blueprint
from flask.cli import AppGroup
from click import Command

from app.accounts.api import api as accounts
from app.projects.api import api as projects
from app.rest.routing import Registry


def routes() -> Registry:
    """All REST routes."""
    registry = Registry()
    for api in (accounts, projects):
        registry.add(api)
    return registry


def pages() -> list[Blueprint]:
    """The blueprints of all pages."""
    return []


def commands() -> list[Command | AppGroup]:
    """The commands of all domains."""
    return []
