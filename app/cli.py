"""Attaching the domains' commands, and what a command does with a refusal."""

from flask import Flask

from app import doors


def install(app: Flask) -> None:
    """Add every command to ``flask``."""
    for command in doors.commands():
        app.cli.add_command(command)
