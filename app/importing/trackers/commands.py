"""flask import: issues from the API of another tracker."""

import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click
from flask import current_app

from app.audit.service import forwarding_to_webhooks
from app.config import Settings
from app.core.actor import Actor
from app.core.clock import iso
from app.database.session import reading
from app.environment import pem_file
from app.importing import dates
from app.importing.command_options import NAMED_USERS, named_users
from app.importing.drafting import People
from app.importing.dry_run import DryRun
from app.importing.formats import unique
from app.importing.issue_files import FileSupply
from app.importing.messages import IMPORTING, PREVIEWING, no_such_user
from app.importing.planning import plan
from app.importing.report import ImportReport
from app.importing.running import Importer
from app.importing.trackers import github, gitlab, jira_api, linear, messages
from app.importing.trackers.client import ApiClient, LimitRule, TrackerError, checked_base
from app.importing.trackers.download import Tracker, download
from app.importing.trackers.download_file import DownloadFile
from app.importing.trackers.file_downloads import FileDownloads
from app.projects.command_line import WITHOUT_WEBHOOKS, acting_human, live_project_id
from app.webhooks.connecting import limits

# Rows that a preview lists without --verbose.
SHOWN_ROWS = 20


@dataclass(frozen=True, slots=True)
class MoveOptions:
    """Options of all trackers."""

    key: str
    username: str | None
    dry_run: bool
    since: int | None
    history: bool
    files: bool
    known: tuple[str, ...]
    users_file: Path | None
    ca_bundle: str | None
    fresh: bool
    without_webhooks: bool
    as_json: bool
    verbose: bool


@dataclass(frozen=True, slots=True)
class ApiConnection:
    """How to reach a tracker; ``source`` says what is imported, without secrets."""

    title: str
    base: str
    headers: dict[str, str]
    limit_rule: LimitRule | None
    source: dict[str, Any]
    # Other hosts with files: those that get the token, and those that do not.
    file_hosts: tuple[str, ...] = ()
    public_hosts: tuple[str, ...] = ()


def _since(_context: Any, _option: Any, value: str | None) -> int | None:
    if value is None:
        return None
    try:
        return dates.moment(value)
    except (ValueError, OverflowError) as error:
        raise click.BadParameter(messages.USE_A_DAY) from error


def _authorities(_context: Any, _option: Any, value: str | None) -> str | None:
    pem_file({"--ca-bundle": value or ""}, "--ca-bundle")
    return value


_OPTIONS = (
    click.option("--project", "key", required=True, help="Key of the project to import into."),
    click.option("--as", "username", help="The person who imports. Required if there are several."),
    click.option("--dry-run", is_flag=True, help="Download, and preview without importing."),
    click.option(
        "--since", callback=_since, help="Only issues updated since this date or time (UTC)."
    ),
    click.option(
        "--history/--no-history",
        default=True,
        help="Changes of state, labels and assignees, as a comment. On by default.",
    ),
    click.option(
        "--files/--no-files",
        default=True,
        help="Images and files of issues and comments. On by default.",
    ),
    NAMED_USERS,
    click.option(
        "--users",
        "users_file",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help='A JSON file of such names, {"octocat": "ada"}.',
    ),
    click.option(
        "--ca-bundle",
        callback=_authorities,
        help="PEM file of the authorities of a tracker with a private certificate.",
    ),
    click.option(
        "--fresh",
        is_flag=True,
        help="Discard what an earlier run downloaded, and ask again for files that were gone.",
    ),
    WITHOUT_WEBHOOKS,
    click.option("--json", "as_json", is_flag=True, help="Print the report as JSON."),
    click.option("--verbose", is_flag=True, help="List every row and every change."),
)


def _common(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of all trackers, as the argument ``options`` of the command."""
    names = list(MoveOptions.__dataclass_fields__)

    @wraps(command)
    def gathered(**values: Any) -> None:
        options = MoveOptions(**{name: values.pop(name) for name in names})
        with reading():
            # Check the project before asking for the token.
            live_project_id(options.key)
        try:
            command(options=options, **values)
        except TrackerError as error:
            raise click.ClickException(str(error)) from error
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise click.ClickException(messages.download_not_kept(reason)) from error

    for option in reversed(_OPTIONS):
        gathered = option(gathered)
    return gathered


@click.group("import")
def import_from() -> None:
    """Import issues from the API of another tracker."""


@import_from.command("github")
@click.argument("repository", metavar="OWNER/NAME")
@click.option(
    "--url",
    default=github.BASE,
    show_default=True,
    help="API of a GitHub Enterprise Server: https://HOST/api/v3.",
)
@_common
def import_github(options: MoveOptions, repository: str, url: str) -> None:
    """Import issues from GitHub.

    The token is read from GITHUB_TOKEN, or asked for. Leave it empty for a public repository.
    If the import is interrupted, run the same command again to continue.
    """
    token = _token("GITHUB_TOKEN", messages.ASK_GITHUB_TOKEN, optional=True)
    connection = ApiConnection(
        github.TITLE,
        url,
        github.headers(token),
        github.limit_rule,
        {"tracker": "github", "url": url, "repository": repository.casefold()},
        github.file_hosts(url.rstrip("/")),
        (github.PUBLIC_FILE_HOST,),
    )
    _move(
        options,
        connection,
        lambda client: github.GitHub(
            client, repository, since=options.since, with_history=options.history
        ),
    )


@import_from.command("gitlab")
@click.argument("gitlab_project", metavar="GROUP/NAME")
@click.option("--url", default=gitlab.BASE, show_default=True, help="URL of your GitLab.")
@_common
def import_gitlab(options: MoveOptions, gitlab_project: str, url: str) -> None:
    """Import issues from GitLab.

    The token is read from GITLAB_TOKEN, or asked for. Leave it empty for a public project.
    If the import is interrupted, run the same command again to continue.
    """
    token = _token("GITLAB_TOKEN", messages.ASK_GITLAB_TOKEN, optional=True)
    connection = ApiConnection(
        gitlab.TITLE,
        url,
        gitlab.headers(token),
        None,
        {"tracker": "gitlab", "url": url, "project": gitlab_project.casefold()},
    )
    _move(
        options,
        connection,
        lambda client: gitlab.GitLab(
            client, gitlab_project, since=options.since, with_history=options.history
        ),
    )


@import_from.command("jira")
@click.argument("jira_project", metavar="JIRA_PROJECT")
@click.option("--url", required=True, help="URL of your Jira, such as https://NAME.atlassian.net.")
@click.option("--account", default="", help="Jira Cloud: the email address of the token's account.")
@_common
def import_jira(options: MoveOptions, jira_project: str, url: str, account: str) -> None:
    """Import issues from Jira Cloud (with --account) or Data Center.

    The token is read from JIRA_TOKEN, or asked for.
    If the import is interrupted, run the same command again to continue.
    """
    if not account and (urlsplit(checked_base(url)).hostname or "").endswith(".atlassian.net"):
        raise click.UsageError(messages.JIRA_CLOUD_NEEDS_ACCOUNT)
    token = _token("JIRA_TOKEN", messages.ASK_JIRA_TOKEN)
    connection = ApiConnection(
        jira_api.TITLE,
        url,
        jira_api.headers(account, token),
        None,
        {"tracker": "jira", "url": url, "project": jira_project.upper()},
    )
    _move(
        options,
        connection,
        lambda client: jira_api.Jira(
            client,
            jira_project,
            is_cloud=bool(account),
            since=options.since,
            with_history=options.history,
        ),
    )


@import_from.command("linear")
@click.argument("team", metavar="TEAM")
@click.option("--url", default=linear.BASE, show_default=True, help="URL of the API.")
@_common
def import_linear(options: MoveOptions, team: str, url: str) -> None:
    """Import issues of a team from Linear.

    The key is read from LINEAR_API_KEY, or asked for.
    If the import is interrupted, run the same command again to continue.
    """
    token = _token("LINEAR_API_KEY", messages.ASK_LINEAR_KEY)
    connection = ApiConnection(
        linear.TITLE,
        url,
        linear.headers(token),
        linear.limit_rule,
        {"tracker": "linear", "url": url, "team": team.upper()},
        (linear.FILE_HOST,),
    )
    _move(
        options,
        connection,
        lambda client: linear.Linear(
            client, team, since=options.since, with_history=options.history
        ),
    )


def _token(variable: str, question: str, *, optional: bool = False) -> str:
    """The token from the environment or a prompt; kept only in memory."""
    token = os.environ.get(variable)
    if token is None:
        empty = "" if optional else None
        token = click.prompt(question, hide_input=True, default=empty, show_default=False, err=True)
    token = str(token).strip()
    if not (token.isascii() and token.isprintable()) or (not token and not optional):
        raise click.ClickException(messages.NO_TOKEN)
    return token


def _move(
    options: MoveOptions, connection: ApiConnection, tracker_of: Callable[[ApiClient], Tracker]
) -> None:
    with reading():
        actor = acting_human(options.username)
        project_id = live_project_id(options.key)
        usernames = named_users(options.known, options.users_file)
        unknown = People(project_id, usernames).unknown
    if unknown:
        raise click.ClickException(no_such_user(unknown[0], options.key))
    client = ApiClient(
        connection.title,
        connection.base,
        connection.headers,
        tell=_tell,
        ca_bundle=options.ca_bundle,
        limit_rule=connection.limit_rule,
    )
    settings: Settings = current_app.config["SETTINGS"]
    source = connection.source | {
        "into": project_id,
        "since": options.since,
        "history": options.history,
    }
    tracker = tracker_of(client)
    file = DownloadFile(settings.instance_dir, source, fresh=options.fresh)
    is_done = False
    try:
        _download(tracker, file)
        supply = None
        if options.files and not options.dry_run:
            # Trackers and webhooks have separate CA bundles.
            allowed = replace(limits(current_app), ca_bundle=options.ca_bundle)
            supply = FileDownloads(
                client, settings, allowed, connection.file_hosts, connection.public_hosts
            )
        report = _import(options, tracker, file, actor, project_id, usernames, supply)
        is_done = not options.dry_run
    except KeyboardInterrupt as interrupt:
        raise KeyboardInterrupt(messages.INTERRUPTED) from interrupt
    finally:
        file.close(remove=is_done)
    _print(options, report)


def _download(tracker: Tracker, file: DownloadFile) -> None:
    if file.has_earlier:
        when = iso(round(file.started_at * 1000))[:16].replace("T", " ")
        _tell(messages.continuing(when))
    is_terminal = sys.stderr.isatty()

    def tell(step: str, count: int) -> None:
        if is_terminal:
            click.echo(f"\r{step}: {count:,} ", nl=False, err=True)

    download(tracker, file, tell)
    if is_terminal:
        click.echo(err=True)


def _import(
    options: MoveOptions,
    tracker: Tracker,
    file: DownloadFile,
    actor: Actor,
    project_id: str,
    usernames: dict[str, str],
    supply: FileSupply | None,
) -> ImportReport:
    report = ImportReport()
    issues = tracker.issues(file, report)
    if not options.files:
        issues = [replace(issue, files=()) for issue in issues]
    planned = plan(unique(issues, report), report)
    kind = DryRun if options.dry_run else Importer
    importer = kind(
        actor, project_id, report, usernames, supply=supply, asks_for_gone=options.fresh
    )
    label = PREVIEWING if options.dry_run else IMPORTING
    progress = click.progressbar(length=len(planned), label=label, file=sys.stderr)
    with progress as bar, forwarding_to_webhooks(not options.without_webhooks):
        try:
            importer.run(planned, bar.update)
        except (TrackerError, KeyboardInterrupt):
            # The next run continues from here and does not report these again.
            _tell(messages.so_far(report.as_text(verbose=options.verbose)))
            raise
    return report


def _print(options: MoveOptions, report: ImportReport) -> None:
    if options.as_json:
        click.echo(json.dumps(report.as_json()))
        return
    if options.dry_run:
        if not options.verbose:
            for row in report.rows[:SHOWN_ROWS]:
                click.echo(row.as_text())
            left = len(report.rows) - SHOWN_ROWS
            if left > 0:
                click.echo(messages.and_more(left))
        click.echo(messages.PREVIEW_AND_DOWNLOAD_KEPT)
    click.echo(report.as_text(verbose=options.verbose))


def _tell(message: str) -> None:
    click.echo(message, err=True)
