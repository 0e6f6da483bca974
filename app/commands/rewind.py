"""flask bots rewind: undo what a bot did in a time span."""

import sys
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import islice
from typing import Any, TypeVar

import click

from app.audit.service import forwarding_to_webhooks
from app.commands import AS, messages
from app.core import ids
from app.core.actor import Actor
from app.core.ids import on_behalf_of
from app.core.text import pluralize
from app.database.session import reading, run_write
from app.projects.command_line import acting_human, bot_id_of, live_project_id
from app.rewind.others import LogReading
from app.rewind.previewing import preview_steps
from app.rewind.scope import RewindScope, end_of_now, moment_of
from app.rewind.service import count_events, rewind_step
from app.rewind.wording import RewindSummary, kept_lines, named_subjects

T = TypeVar("T")

# The command lists everything.
ALL = sys.maxsize
MAX_EVENTS = 100_000_000
NAME_BATCH = 500


class MomentType(click.ParamType[int]):
    """A time (``2026-11-25T13:00``, UTC unless it says otherwise) or how long ago (``90m``)."""

    name = "time"

    def convert(self, value: Any, _: Any, __: Any) -> int:
        try:
            return moment_of(value)
        except ValueError:
            self.fail(messages.no_time(value))


@click.command("rewind")
@click.argument("name")
@click.option("--since", type=MomentType(), required=True, help="Start: a time, or an age as 4h.")
@click.option("--until", type=MomentType(), help="End, not included. Default: now.")
@click.option("--project", "key", help="Only changes in this project.")
@click.option("--dry-run", is_flag=True, help="List what would change, and change nothing.")
@click.option("--without-webhooks", is_flag=True, help="Do not send webhooks for this rewind.")
@AS
def rewind(
    name: str,
    since: int,
    until: int | None,
    key: str | None,
    dry_run: bool,
    without_webhooks: bool,
    username: str | None,
) -> None:
    """Undo everything that a bot did in a span, newest first.

    What others changed since is kept and listed. Run it again to continue after an interruption.
    """
    with reading():
        actor, bot_id = acting_human(username), bot_id_of(name)
        project_id = live_project_id(key) if key is not None else None
        end = end_of_now() if until is None else until
        scope = RewindScope(bot_id, since, end, project_id)
        if scope.since >= scope.until:
            raise click.BadParameter(messages.UNTIL_BEFORE_SINCE)
        total = count_events(actor, scope, MAX_EVENTS)
    label = messages.PREVIEWING if dry_run else messages.REWINDING
    progress = click.progressbar(length=total, label=label, file=sys.stderr)
    summary = RewindSummary(max_listed=ALL)
    with progress as bar, on_behalf_of(ids.new_id()), forwarding_to_webhooks(not without_webhooks):
        run = _preview if dry_run else _rewind
        run(actor, scope, summary, bar)
    _show(summary, dry_run=dry_run)


def _rewind(actor: Actor, scope: RewindScope, summary: RewindSummary, bar: Any) -> None:
    beyond: str | None = None
    log = LogReading()
    while True:
        step = run_write(partial(rewind_step, actor, scope, beyond=beyond, log=log))
        summary.add(step)
        bar.update(step.events)
        beyond = step.beyond
        if beyond is None:
            return


def _preview(actor: Actor, scope: RewindScope, summary: RewindSummary, bar: Any) -> None:
    for step in preview_steps(actor, scope):
        summary.add(step)
        bar.update(step.events)


def _chunks(values: Iterable[T]) -> Iterator[list[T]]:
    rest = iter(values)
    while chunk := list(islice(rest, NAME_BATCH)):
        yield chunk


def _show(summary: RewindSummary, *, dry_run: bool) -> None:
    if dry_run:
        click.echo(messages.NOTHING_CHANGED)
        for subjects in _chunks(summary.subjects.items()):
            with reading():
                names = named_subjects(subject for subject, _ in subjects)
            for subject, (back, kept) in subjects:
                one = names[subject]
                sums = messages.sums(back, kept)
                click.echo(f"{one.name}: {sums}: {one.title}".rstrip(": "))
    for count, action in summary.counts():
        click.echo(f"{count:6d} {action}")
    if not summary.back:
        click.echo(messages.NOTHING_TO_PUT_BACK if dry_run else messages.NOTHING_LEFT)
    if summary.kept:
        click.echo(
            messages.values_kept(summary.kept_count, pluralize(summary.kept_count, "values kept"))
        )
    for values in _chunks(summary.kept):
        with reading():
            lines = kept_lines(values)
        for line in lines:
            click.echo(f"  {line.subject.name}: {line.field}: {line.why}")
