"""Moving a folder of Markdown files in as wiki pages; again is harmless.

Each file is a page: its title comes from the front matter, else from its first heading, else from
its name; its slug from the front matter's ``slug`` path, else from its own path, in which ``--``
counts as ``/``. Relative links between the files become wikilinks, those to other files text. A
page that is there already gets a new revision if the file says something else, and is left alone
otherwise.
"""

import json
import posixpath
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import click
from sqlalchemy import select

from app.core import text
from app.core.actor import Actor
from app.core.context import telling_webhooks
from app.core.errors import DomainError
from app.database.session import reading, savepoint, session, transaction
from app.projects.command_line import (
    WITHOUT_WEBHOOKS,
    acting_human,
    live_project_id,
)
from app.wiki import service, slugs
from app.wiki.models import WikiPage

BATCH = 25
SUMMARY = "Imported"

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?)^---[ \t]*\n", re.DOTALL | re.MULTILINE)
_ENTRY = re.compile(r"([A-Za-z_][A-Za-z0-9_-]*):[ \t]*(.*)")
_HEADING = re.compile(r"^#{1,6}[ \t]+(.+?)[ \t]*#*$", re.MULTILINE)
_TITLE_LINE = re.compile(r"\A\s*^#[ \t]+(.+?)[ \t]*#*(?:\n\s*^|\Z)", re.MULTILINE)
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")
# A code span, which stays as it is, or a link whose target has no scheme and no blank.
_SPAN_OR_LINK = re.compile(r"(`+)[^`]*?\1|(?<!!)\[([^\[\]\n]{1,300})\]\(([^()\s]{1,500})\)")


# Files that are known by their names, having no suffix.
_NAMED_FILES = frozenset({"Caddyfile", "Dockerfile", "LICENSE", "Makefile"})


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file: where it stands among the others, and what it says."""

    path: str
    title: str
    slug: str
    body: str


@dataclass(slots=True)
class WikiImportReport:
    """What was done, and what could not be."""

    made: Counter[str] = field(default_factory=Counter)
    notes: list[tuple[str, str]] = field(default_factory=list)

    def as_text(self) -> str:
        """The report for a person."""
        lines = [
            f"{count:6d} {text.named(count, what)}" for what, count in sorted(self.made.items())
        ]
        return "\n".join([*lines, *(f"{path}: {note}" for path, note in self.notes)])


def read(folder: Path, report: WikiImportReport) -> list[SourceFile]:
    """The Markdown files below a folder, in the order of their paths."""
    found = []
    taken: set[str] = set()
    for path in sorted(folder.rglob("*.md")):
        name = path.relative_to(folder).as_posix()
        try:
            content = path.read_text(encoding="utf-8").replace("\x00", "")
        except (OSError, UnicodeDecodeError) as error:
            report.notes.append((name, f"cannot be read ({error})"))
            continue
        source = _source(name, content)
        if source.slug in taken:
            report.notes.append((name, f"has the slug of another file ({source.slug}); left out"))
            continue
        taken.add(source.slug)
        found.append(source)
    return found


def _source(name: str, content: str) -> SourceFile:
    content = content.replace("\r\n", "\n")
    matter: dict[str, str] = {}
    front = _FRONT_MATTER.match(content)
    if front:
        entries = (_ENTRY.match(line) for line in front.group(1).splitlines())
        matter = {found.group(1): _unquoted(found.group(2)) for found in entries if found}
        content = content[front.end() :].lstrip("\n")
    path = name.removesuffix(".md").replace("--", "/")
    heading = _HEADING.search(content)
    title = matter.get("title") or (heading.group(1) if heading else path.rpartition("/")[2])
    title = title.strip()[: text.NAME_LENGTH] or path
    return SourceFile(
        path=path,
        title=title,
        slug=slugs.from_words(matter.get("slug", "").strip("/") or path),
        body=_without_title(content, title),
    )


def _without_title(content: str, title: str) -> str:
    """The text without a first line that is the title again, which the page shows anyway."""
    first = _TITLE_LINE.match(content)
    return content[first.end() :] if first and first.group(1) == title else content


def _unquoted(value: str) -> str:
    value = value.strip()
    if len(value) < 2 or value[0] != value[-1] or value[0] not in "\"'":
        return value
    if value[0] == '"':
        with suppress(ValueError):
            return str(json.loads(value))
    return value[1:-1]


def with_wikilinks(source: SourceFile, by_path: dict[str, str], report: WikiImportReport) -> str:
    """The file's body with its links to other files as wikilinks; code stays as it is."""
    lines = []
    fence = ""
    link = partial(_linked, source=source, by_path=by_path, report=report)
    for line in source.body.split("\n"):
        mark = _FENCE.match(line)
        if mark and not fence:
            fence = mark.group(1)
        elif mark and mark.group(1).startswith(fence):
            fence = ""
        lines.append(line if fence or mark else _SPAN_OR_LINK.sub(link, line))
    return "\n".join(lines)


def _linked(
    found: re.Match[str], source: SourceFile, by_path: dict[str, str], report: WikiImportReport
) -> str:
    shown, target = found.group(2), found.group(3)
    if shown is None or ":" in target or target.startswith(("#", "//")):
        return found.group(0)
    path, _, _ = target.partition("#")
    base = "" if path.startswith("/") else posixpath.dirname(source.path)
    resolved = posixpath.normpath(posixpath.join(base, path.lstrip("/")))
    if _is_no_page(path, resolved):
        report.notes.append((source.path, f"links to a file that is no page ({target})"))
        return f"`{path}`" if shown.strip("`") == path else f"{shown} (`{path}`)"
    if not path.endswith(".md"):
        return found.group(0)
    slug = by_path.get(resolved.removesuffix(".md").replace("--", "/"))
    if slug is None:
        report.notes.append((source.path, f"links to a file that is not there ({target})"))
        return found.group(0)
    return f"[[{slug}|{shown.replace('|', '/')}]]"


def _is_no_page(path: str, resolved: str) -> bool:
    """Whether a link leads to a file beside or outside the pages, which no wiki can show."""
    suffix = posixpath.splitext(path)[1]
    is_other = suffix not in ("", ".md") or posixpath.basename(path) in _NAMED_FILES
    return not path.startswith("/") and (is_other or resolved.startswith("../"))


def run(
    actor: Actor,
    project_id: str | None,
    sources: list[SourceFile],
    report: WikiImportReport,
    progress: Callable[[int], None],
) -> None:
    """Write the files as pages through the verbs, in batches; each page whole or not at all."""
    by_path = {source.path: source.slug for source in sources}
    for batch in _batches(sources):
        with transaction():
            for source in batch:
                body = with_wikilinks(source, by_path, report)
                try:
                    with savepoint():
                        report.made[_write(actor, project_id, source, body)] += 1
                except DomainError as error:
                    report.notes.append((source.path, f"was refused: {error.message}"))
                progress(1)


def _write(actor: Actor, project_id: str | None, source: SourceFile, body: str) -> str:
    scope = WikiPage.project_id == project_id if project_id else WikiPage.project_id.is_(None)
    page_id = session.scalar(
        select(WikiPage.id).where(
            WikiPage.slug == source.slug, scope, WikiPage.deleted_at.is_(None)
        )
    )
    if page_id is None:
        service.create_page(
            actor, title=source.title, slug=source.slug, body=body, project_id=project_id
        )
        return "pages made"
    before = session.get_one(WikiPage, page_id).revision_number
    after = service.update_page(
        actor, page_id, title=source.title, body=body, summary=SUMMARY
    ).revision_number
    return "pages unchanged" if after == before else "pages with a new revision"


def _batches(sources: list[SourceFile]) -> Iterator[list[SourceFile]]:
    for start in range(0, len(sources), BATCH):
        yield sources[start : start + BATCH]


@click.command("import-wiki")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--project", "key", help="The key of the project to import into; global if absent.")
@click.option("--as", "username", help="The human who imports; needed if there are several.")
@WITHOUT_WEBHOOKS
def import_wiki(
    folder: Path, key: str | None, username: str | None, without_webhooks: bool
) -> None:
    """Import a folder of Markdown files as wiki pages.

    Importing the same folder again changes nothing; a file that changed becomes a new revision.
    """
    with reading():
        actor = acting_human(username)
        project_id = live_project_id(key) if key else None
    report = WikiImportReport()
    sources = read(folder, report)
    progress = click.progressbar(length=len(sources), label="Importing", file=sys.stderr)
    with progress as bar, telling_webhooks(not without_webhooks):
        run(actor, project_id, sources, report, bar.update)
    click.echo(report.as_text())
