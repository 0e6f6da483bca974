"""flask import-wiki: a folder of Markdown files as wiki pages, one page per file.

The title is that of the front matter, else the first heading, else the file name. The slug comes
from the front matter, else from the path, where ``--`` counts as ``/``. Relative links to other
files become wikilinks. An existing page gets a new revision if its file has changed.
"""

import json
import posixpath
import re
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import click
from sqlalchemy import func, or_, select

from app.audit.service import forwarding_to_webhooks
from app.core import text
from app.core.actor import Actor
from app.core.errors import DomainError
from app.database.session import reading, savepoint, session, transaction
from app.importing import messages
from app.importing.foreign_markdown import without_comments
from app.projects.command_line import WITHOUT_WEBHOOKS, acting_human, live_project_id
from app.wiki import service, slugs
from app.wiki.models import WikiPage, WikiRevision

BATCH = 25

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?)^---[ \t]*\n", re.DOTALL | re.MULTILINE)
_ENTRY = re.compile(r"([A-Za-z_][A-Za-z0-9_-]*):[ \t]*(.*)")
_HEADING = re.compile(r"^#{1,6}[ \t]++(.+)$", re.MULTILINE)
_TITLE_LINE = re.compile(r"\A\s*^#[ \t]++(.+)(?:\n\s*^|\Z)", re.MULTILINE)
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")
# A code span, which stays unchanged, or a link whose target has no space.
_SPAN_OR_LINK = re.compile(r"(`+)[^`]*?\1|(?<!!)\[([^\[\]\n]{1,300})\]\(([^()\s]{1,500})\)")
# What makes words code or bold.
_SIGNS = re.compile(r"`|\*\*")
# Files without a suffix that are not pages.
_NAMED_FILES = frozenset({"Caddyfile", "Dockerfile", "LICENSE", "Makefile"})


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file; ``path`` is relative to the folder and has no suffix."""

    path: str
    title: str
    slug: str
    body: str


@dataclass(slots=True)
class WikiImportReport:
    """Counts of pages by outcome, and notes by path."""

    counts: Counter[str] = field(default_factory=Counter)
    notes: list[tuple[str, str]] = field(default_factory=list)

    def as_text(self) -> str:
        lines = [
            f"{count:6d} {text.pluralize(count, kind)}"
            for kind, count in sorted(self.counts.items())
        ]
        return "\n".join([*lines, *(f"{path}: {note}" for path, note in self.notes)])


def read(folder: Path, report: WikiImportReport) -> list[SourceFile]:
    """The Markdown files below a folder, sorted by path; of two with the same slug, the first."""
    sources = []
    slugs_in_use: set[str] = set()
    for path in sorted(folder.rglob("*.md")):
        name = path.relative_to(folder).as_posix()
        try:
            content = path.read_text(encoding="utf-8-sig").replace("\x00", "")
        except (OSError, UnicodeDecodeError) as error:
            problem = error.strerror if isinstance(error, OSError) else messages.IS_NOT_UTF8
            report.notes.append((name, messages.cannot_be_read(problem)))
            continue
        source = _source(name, content)
        if source.slug in slugs_in_use:
            report.notes.append((name, messages.same_slug(source.slug)))
            continue
        slugs_in_use.add(source.slug)
        sources.append(source)
    return sources


def _source(name: str, content: str) -> SourceFile:
    content = content.replace("\r\n", "\n")
    fields: dict[str, str] = {}
    front = _FRONT_MATTER.match(content)
    if front:
        entries = (_ENTRY.match(line) for line in front.group(1).splitlines())
        fields = {entry.group(1): _unquoted(entry.group(2)) for entry in entries if entry}
        content = content[front.end() :]
    content = without_comments(content).lstrip("\n")
    path = name.removesuffix(".md").replace("--", "/")
    heading = _HEADING.search(content)
    title = fields.get("title") or (_words(heading) if heading else path.rpartition("/")[2])
    title = title.strip()[: text.NAME_LENGTH].rstrip() or path
    return SourceFile(
        path=path,
        title=title,
        slug=slugs.from_words(fields.get("slug", "").strip("/") or path),
        body=_without_title(content, title),
    )


def _without_title(content: str, title: str) -> str:
    """The text without a first heading that repeats the title."""
    first = _TITLE_LINE.match(content)
    return content[first.end() :] if first and _words(first) == title else content


def _words(heading: re.Match[str]) -> str:
    """The words of a heading, without the signs that close it."""
    return heading[1].rstrip(" \t").rstrip("#").rstrip(" \t")


def _unquoted(value: str) -> str:
    value = value.strip()
    if len(value) < 2 or value[0] != value[-1] or value[0] not in "\"'":
        return value
    if value[0] == '"':
        with suppress(ValueError):
            return str(json.loads(value))
    return value[1:-1]


def with_wikilinks(source: SourceFile, by_path: dict[str, str], report: WikiImportReport) -> str:
    """The body with links to other files as wikilinks; code stays unchanged."""
    lines = []
    fence = ""
    link = partial(_wikilink, source=source, by_path=by_path, report=report)
    for line in source.body.split("\n"):
        mark = _FENCE.match(line)
        if mark and not fence:
            fence = mark.group(1)
        elif mark and mark.group(1).startswith(fence):
            fence = ""
        lines.append(line if fence or mark else _SPAN_OR_LINK.sub(link, line))
    return "\n".join(lines)


def _wikilink(
    match: re.Match[str], source: SourceFile, by_path: dict[str, str], report: WikiImportReport
) -> str:
    label, target = match.group(2), match.group(3)
    if label is None or ":" in target or target.startswith(("#", "//")):
        return match.group(0)
    path, _, _ = target.partition("#")
    base = "" if path.startswith("/") else posixpath.dirname(source.path)
    resolved = posixpath.normpath(posixpath.join(base, path.lstrip("/")))
    if _is_no_page(path, resolved):
        report.notes.append((source.path, messages.link_to_no_page(target)))
        return f"`{path}`" if label.strip("`") == path else f"{label} (`{path}`)"
    if not path.endswith(".md"):
        return match.group(0)
    slug = by_path.get(resolved.removesuffix(".md").replace("--", "/"))
    if slug is None:
        report.notes.append((source.path, messages.link_to_missing_file(target)))
        return match.group(0)
    # The words of a wikilink are plain text.
    words = _SIGNS.sub("", label).replace("|", "/")
    return f"[[{slug}|{words}]]" if words else f"[[{slug}]]"


def _is_no_page(path: str, resolved: str) -> bool:
    """Whether a link leads to another type of file, or out of the folder."""
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
    """Write the files as pages, in batches and each in its own savepoint."""
    by_path = {source.path: source.slug for source in sources}
    for start in range(0, len(sources), BATCH):
        with transaction():
            for source in sources[start : start + BATCH]:
                body = with_wikilinks(source, by_path, report)
                try:
                    with savepoint():
                        report.counts[_write(actor, project_id, source, body, report)] += 1
                except DomainError as error:
                    report.notes.append((source.path, messages.rejected(error.message)))
                progress(1)


def _write(
    actor: Actor, project_id: str | None, source: SourceFile, body: str, report: WikiImportReport
) -> str:
    """Write a file as a page; returns what happened to the page, in words of the report."""
    scope = WikiPage.project_id == project_id if project_id else WikiPage.project_id.is_(None)
    page = session.scalar(
        select(WikiPage).where(WikiPage.slug == source.slug, scope, WikiPage.deleted_at.is_(None))
    )
    if page is None:
        service.create_page(
            actor, title=source.title, slug=source.slug, body=body, project_id=project_id
        )
        return messages.PAGES_CREATED
    before = page.revision_number
    imported = _last_imported(page.id)
    is_edited = imported < before
    is_here = (page.title, page.body) == (source.title, body)
    if is_edited and not is_here and _has_had(page.id, imported, source.title, body):
        return messages.PAGES_KEPT
    after = service.update_page(
        actor, page.id, title=source.title, body=body, summary=messages.IMPORTED
    ).revision_number
    if after == before:
        return messages.PAGES_UNCHANGED
    if is_edited:
        report.notes.append((source.path, messages.replaced_edit(before)))
    return messages.PAGES_REVISED


def _last_imported(page_id: str) -> int:
    """The last revision from a file. A created page does not say whether it is from one."""
    is_imported = or_(WikiRevision.summary == messages.IMPORTED, WikiRevision.revision_number == 1)
    newest = select(func.max(WikiRevision.revision_number))
    return session.scalars(newest.where(WikiRevision.page_id == page_id, is_imported)).one()


def _has_had(page_id: str, since: int, title: str, body: str) -> bool:
    """Whether the page had this text in a revision from ``since`` on."""
    found = select(WikiRevision.id).where(
        WikiRevision.page_id == page_id,
        WikiRevision.revision_number >= since,
        WikiRevision.title == title,
        WikiRevision.body == body,
    )
    return session.scalar(found.limit(1)) is not None


@click.command("import-wiki")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--project", "key", help="Key of the project. Default: the workspace wiki.")
@click.option("--as", "username", help="The person who imports. Required if there are several.")
@WITHOUT_WEBHOOKS
def import_wiki(
    folder: Path, key: str | None, username: str | None, without_webhooks: bool
) -> None:
    """Import a folder of Markdown files as wiki pages.

    Importing the same folder again changes nothing; a file that changed becomes a new revision. A
    page that was edited here stays as it is until its file changes.
    """
    with reading():
        actor = acting_human(username)
        project_id = live_project_id(key) if key is not None else None
    report = WikiImportReport()
    sources = read(folder, report)
    progress = click.progressbar(length=len(sources), label=messages.IMPORTING, file=sys.stderr)
    with progress as bar, forwarding_to_webhooks(not without_webhooks):
        run(actor, project_id, sources, report, bar.update)
    click.echo(report.as_text())
