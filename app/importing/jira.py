"""Jira's export as CSV ("all fields"): columns repeat, comments are ``time;author;text``."""

import re
from collections.abc import Mapping
from dataclasses import replace

from app.importing import messages
from app.importing.issues import PARENT_LINK, Issue, IssueComment, IssueLink
from app.importing.report import ImportReport
from app.importing.table import Cells, Options, Sheet, Times, priority

KEY, SUMMARY = "Issue key", "Summary"
PARENTS = (
    *("Parent key", "Parent", "Parent id", "Custom field (Epic Link)", "Epic Link"),
    "Custom field (Parent Link)",
)
LINK_KINDS = {"Blocks": "blocks", "Duplicate": "duplicates"}
OUTWARD, INWARD = "Outward issue link (", "Inward issue link ("
LABELS = ("Labels", "Component/s", "Components")
ORIGINS = ("Fix Version/s", "Fix versions", "Affects Version/s", "Sprint")
TIMES = ("Created", "Updated", "Resolved", "Due Date", "Due date", "Comment")
PARTS_OF_A_COMMENT = 3

_BLOCK = re.compile(r"\{(code|noformat)(?::([^{}\n]*))?\}")
_QUOTE = re.compile(r"\{quote\}(.*?)\{quote\}", re.DOTALL)
_HEADING = re.compile(r"^h([1-6])\.[ \t]+", re.MULTILINE)
_BULLET = re.compile(r"^[ \t]*([*#-]+)[ \t]+(?=\S)", re.MULTILINE)
# An image, or a link to an attachment.
_ATTACHED = re.compile(r"!([^!|\n]{1,200})(?:\|[^!\n]*)?!|\[\^([^\[\]\n]{1,200})\]")
_HEAD_ROW = re.compile(r"^\|\|(.+?)\|\|[ \t]*$", re.MULTILINE)
_INLINE = (
    (re.compile(r"\{\{([^{}\n]+)\}\}"), r"`\1`"),
    (re.compile(r"\[([^\[\]|\n]+)\|([^\[\]|\s]+)(?:\|[^\[\]\n]*)?\]"), r"[\1](\2)"),
    (re.compile(r"\[(https?://[^\[\]\s]+)\]"), r"<\1>"),
    (re.compile(r"!([^!\s|]+\.\w{2,4})(?:\|[^!\n]*)?!"), r"(\1)"),
    (re.compile(r"\[~(?:accountid:)?([^\[\]\s]+)\]"), r"@\1"),
    (re.compile(r"(?<![\w*])\*(\S(?:[^*\n]*\S)?)\*(?![\w*])"), r"**\1**"),
    (re.compile(r"(?<![\w-])-(\S(?:[^-\n]*\S)?)-(?![\w-])"), r"~~\1~~"),
    (re.compile(r"\{color(?::[^{}\n]*)?\}"), ""),
)


def read(sheet: Sheet, options: Options, report: ImportReport) -> list[Issue]:
    """The issues of a sheet; rows without key or summary are reported and left out."""
    options = options.fitting(
        cell for _, row in sheet.rows for column in TIMES for cell in row.get(column, ())
    )
    keys = {
        number: row[KEY][0].strip()
        for _, row in sheet.rows
        if KEY in row
        for number in row.get("Issue id", [])
    }
    issues: dict[str, Issue] = {}
    blocks: list[tuple[str, str]] = []
    for where, row in sheet.rows:
        if KEY not in row or SUMMARY not in row:
            report.refuse(where, messages.NO_KEY_OR_SUMMARY)
            continue
        issue = _issue(where, row, keys, Times(options, report))
        issues.setdefault(issue.id, issue)
        blocks += [(issue.id, other) for other in _all(row, f"{OUTWARD}Blocks)") if other]
    # The blocked issue holds the link, so add each outward "blocks" to the other issue.
    for blocker, blocked in blocks:
        if blocked in issues:
            link = IssueLink("blocks", blocker)
            if link not in issues[blocked].links:
                issues[blocked] = replace(issues[blocked], links=(*issues[blocked].links, link))
        else:
            report.note(blocker, messages.BLOCKS_MISSING_ISSUE, blocked)
    return list(issues.values())


def _first(row: Cells, *names: str) -> str:
    return next((row[name][0].strip() for name in names if name in row), "")


def _all(row: Cells, *names: str) -> list[str]:
    return [value.strip() for name in names for value in row.get(name, ())]


def _issue(where: str, row: Cells, keys: dict[str, str], times: Times) -> Issue:
    key = _first(row, KEY)
    comments = tuple(_comment(key, text, times) for text in row.get("Comment", ()))
    resolution = _first(row, "Resolution")
    created_at = times.moment(key, "created", _first(row, "Created"))
    updated_at = times.moment(key, "updated", _first(row, "Updated"))
    closed_at = times.moment(key, "resolved", _first(row, "Resolved"))
    due_date = times.day(key, _first(row, "Due Date", "Due date"))
    origins = [f"{column} {value}" for column in ORIGINS for value in _all(row, column)]
    return Issue(
        id=key,
        title=_first(row, SUMMARY),
        sections=tuple(_sections(row)),
        status=_first(row, "Status").casefold() or "open",
        status_meaning=_first(row, "Status Category"),
        priority=priority(key, _first(row, "Priority"), times.report),
        kind=_first(row, "Issue Type").casefold() or "task",
        assignee=_first(row, "Assignee"),
        author=_first(row, "Reporter", "Creator"),
        labels=tuple(_all(row, *LABELS)),
        links=tuple(_links(row, keys)),
        comments=comments,
        due_date=due_date,
        created_at=created_at,
        updated_at=updated_at,
        closed_at=closed_at,
        closing="" if resolution in ("Unresolved", "Done", "Fixed") else resolution,
        origins=(*origins, *times.unread),
        where=where,
    )


def _sections(row: Cells) -> list[tuple[str, str]]:
    sections = [
        (heading, as_markdown(text))
        for column, heading in (("Description", ""), (messages.ENVIRONMENT, messages.ENVIRONMENT))
        for text in row.get(column, ())
    ]
    files = [_attachment(text) for text in row.get("Attachment", ())]
    return [*sections, (messages.ATTACHMENTS, "\n".join(files))] if files else sections


def _attachment(text: str) -> str:
    """A link from ``time;author;name;address``."""
    parts = text.split(";")
    return f"- [{parts[-2]}]({parts[-1]})" if len(parts) > PARTS_OF_A_COMMENT else f"- {text}"


def _comment(issue: str, text: str, times: Times) -> IssueComment:
    parts = text.split(";", PARTS_OF_A_COMMENT - 1)
    if len(parts) < PARTS_OF_A_COMMENT:
        return IssueComment("", as_markdown(text), None)
    when, author, body = parts
    unread = len(times.unread)
    written_at = times.moment(issue, "commented", when)
    # An unparsed time belongs to the comment, not to the ticket's text.
    del times.unread[unread:]
    return IssueComment(author, as_markdown(body), written_at, "" if written_at else when)


def _links(row: Cells, keys: dict[str, str]) -> list[IssueLink]:
    parents = [keys.get(value, value) for value in _all(row, *PARENTS)]
    links = [IssueLink(PARENT_LINK, parent) for parent in dict.fromkeys(parents)]
    for column in row:
        if column.startswith((OUTWARD, INWARD)):
            kind = LINK_KINDS.get(column.partition("(")[2].rstrip(")"), "related")
            is_inward = column.startswith(INWARD)
            # The other issue holds these links: it is blocked by, or a duplicate of, this one.
            if (kind == "blocks" and not is_inward) or (kind == "duplicates" and is_inward):
                continue
            links += [IssueLink(kind, other) for other in _all(row, column)]
    return links


def as_markdown(text: str, files: Mapping[str, str] | None = None) -> str:
    """Jira's markup as Markdown; the content of code blocks stays unchanged.

    ``files`` maps names of attachments to their addresses.
    """
    files = files or {}
    text = text.replace("\r\n", "\n")
    parts, position, unclosed = [], 0, set()
    while opening := _BLOCK.search(text, position):
        mark = f"{{{opening.group(1)}}}"
        end = text.find(mark, opening.end()) if mark not in unclosed else -1
        if end < 0:
            # Later openings of this mark have no end either, so do not search again.
            unclosed.add(mark)
            parts.append(_prose(text[position : opening.end()], files))
            position = opening.end()
            continue
        content = text[opening.end() : end]
        before = _prose(text[position : opening.start()], files)
        parts += [before, _fenced(opening.group(2), content)]
        position = end + len(mark)
    return "".join([*parts, _prose(text[position:], files)])


def _fenced(options: str | None, content: str) -> str:
    name = (options or "").partition("|")[0]
    language = name if re.fullmatch(r"\w+", name) else ""
    content = content.strip("\n")
    fence = "````" if "```" in content else "```"
    return f"\n{fence}{language}\n{content}\n{fence}\n"


def _prose(text: str, files: Mapping[str, str]) -> str:
    def shown(match: re.Match[str]) -> str:
        name = match[1] or match[2]
        address = files.get(name.strip())
        words = re.sub(r"[\[\]|!]", "", name)
        return f"{'!' if match[1] else ''}[{words}]({address})" if address else match[0]

    if files:
        text = _ATTACHED.sub(shown, text)
    text = _QUOTE.sub(_quoted, text)
    text = _BULLET.sub(_list_item, text)
    text = _HEADING.sub(lambda match: "#" * int(match.group(1)) + " ", text)
    for pattern, replacement in _INLINE:
        text = pattern.sub(replacement, text)
    return _HEAD_ROW.sub(_head_row, text)


def _quoted(match: re.Match[str]) -> str:
    lines = match.group(1).strip().split("\n")
    return "\n".join(f"> {line}" for line in lines)


def _list_item(match: re.Match[str]) -> str:
    marks = match.group(1)
    if marks.startswith("--"):  # a dash or a rule
        return match.group(0)
    kind = "1. " if marks.endswith("#") else "- "
    return "   " * (len(marks) - 1) + kind


def _head_row(match: re.Match[str]) -> str:
    cells = [cell.strip() for cell in match.group(1).split("||")]
    return f"| {' | '.join(cells)} |\n|{'---|' * len(cells)}"
