"""Jira's export as CSV ("all fields"): columns repeat, comments are ``time;author;text``."""

import re
from dataclasses import replace

from app.importing.issues import PARENT_LINK, Issue, IssueComment, IssueLink
from app.importing.report import ImportReport
from app.importing.table import Options, Sheet, Times, priority

_BLOCK = re.compile(r"\{(code|noformat)(?::([^{}\n]*))?\}")
_QUOTE = re.compile(r"\{quote\}(.*?)\{quote\}", re.DOTALL)
_HEADING = re.compile(r"^h([1-6])\.[ \t]+", re.MULTILINE)
_BULLET = re.compile(r"^[ \t]*([*#-]+)[ \t]+(?=\S)", re.MULTILINE)
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


def as_markdown(text: str) -> str:
    """The text with its markup as Markdown; code stays as it was written."""
    text = text.replace("\r\n", "\n")
    parts, place, unended = [], 0, set()
    while opening := _BLOCK.search(text, place):
        mark = f"{{{opening.group(1)}}}"
        end = text.find(mark, opening.end()) if mark not in unended else -1
        if end < 0:
            # Neither has any later one an end.
            unended.add(mark)
            parts.append(_prose(text[place : opening.end()]))
            place = opening.end()
            continue
        content = text[opening.end() : end]
        parts += [_prose(text[place : opening.start()]), _fenced(opening.group(2), content)]
        place = end + len(mark)
    return "".join([*parts, _prose(text[place:])])


def _fenced(options: str | None, content: str) -> str:
    named = (options or "").partition("|")[0]
    language = named if re.fullmatch(r"\w+", named) else ""
    content = content.strip("\n")
    fence = "````" if "```" in content else "```"
    return f"\n{fence}{language}\n{content}\n{fence}\n"


def _prose(text: str) -> str:
    text = _QUOTE.sub(_quoted, text)
    text = _BULLET.sub(_listed, text)
    text = _HEADING.sub(lambda found: "#" * int(found.group(1)) + " ", text)
    for pattern, replacement in _INLINE:
        text = pattern.sub(replacement, text)
    return _HEAD_ROW.sub(_head_row, text)


def _quoted(found: re.Match[str]) -> str:
    lines = found.group(1).strip().split("\n")
    return "\n".join(f"> {line}" for line in lines)


def _listed(found: re.Match[str]) -> str:
    marks = found.group(1)
    if marks.startswith("--"):  # a dash or a rule
        return found.group(0)
    kind = "1. " if marks.endswith("#") else "- "
    return "   " * (len(marks) - 1) + kind


def _head_row(found: re.Match[str]) -> str:
    cells = [cell.strip() for cell in found.group(1).split("||")]
    return f"| {' | '.join(cells)} |\n|{'---|' * len(cells)}"


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

Row = dict[str, list[str]]


def is_jira(header: tuple[str, ...]) -> bool:
    """Whether a file with this header comes from Jira."""
    return KEY in header and SUMMARY in header


def read(sheet: Sheet, options: Options, report: ImportReport) -> list[Issue]:
    """The issues of a sheet, linked among each other by their keys."""
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
    blocked: list[tuple[str, str]] = []
    for where, row in sheet.rows:
        if KEY not in row or SUMMARY not in row:
            report.refuse(where, "has no key or no summary")
            continue
        issue = _issue(where, row, keys, Times(options, report))
        issues.setdefault(issue.id, issue)
        blocked += [
            (other.strip(), issue.id) for other in row.get(f"{OUTWARD}Blocks)", ()) if other.strip()
        ]
    # What an issue blocks is written at the other end here.
    for other, blocker in blocked:
        if other in issues:
            link = IssueLink("blocks", blocker)
            if link not in issues[other].links:
                issues[other] = replace(issues[other], links=(*issues[other].links, link))
        else:
            report.note(blocker, "blocks an issue that is not in the file", other)
    return list(issues.values())


def _first(row: Row, *names: str) -> str:
    return next((row[name][0].strip() for name in names if name in row), "")


def _all(row: Row, *names: str) -> list[str]:
    return [value.strip() for name in names for value in row.get(name, ())]


def _issue(where: str, row: Row, keys: dict[str, str], times: Times) -> Issue:
    name = _first(row, KEY)
    remarks = tuple(_remark(name, text, times) for text in row.get("Comment", ()))
    resolution = _first(row, "Resolution")
    created_at = times.moment(name, "created", _first(row, "Created"))
    updated_at = times.moment(name, "updated", _first(row, "Updated"))
    closed_at = times.moment(name, "resolved", _first(row, "Resolved"))
    due_date = times.day(name, _first(row, "Due Date", "Due date"))
    told = [f"{column} {value}" for column in ORIGINS for value in _all(row, column)]
    return Issue(
        id=name,
        title=_first(row, SUMMARY),
        sections=tuple(_sections(row)),
        status=_first(row, "Status").casefold() or "open",
        status_meaning=_first(row, "Status Category"),
        priority=priority(name, _first(row, "Priority"), times.report),
        kind=_first(row, "Issue Type").casefold() or "task",
        assignee=_first(row, "Assignee"),
        author=_first(row, "Reporter", "Creator"),
        labels=tuple(_all(row, *LABELS)),
        links=tuple(_links(row, keys)),
        remarks=remarks,
        due_date=due_date,
        created_at=created_at,
        updated_at=updated_at,
        closed_at=closed_at,
        closing="" if resolution in ("Unresolved", "Done", "Fixed") else resolution,
        origins=(*told, *times.unread),
        where=where,
    )


def _sections(row: Row) -> list[tuple[str, str]]:
    found = [
        (heading, as_markdown(text))
        for column, heading in (("Description", ""), ("Environment", "Environment"))
        for text in row.get(column, ())
    ]
    files = [_attachment(text) for text in row.get("Attachment", ())]
    return [*found, ("Attachments", "\n".join(files))] if files else found


def _attachment(text: str) -> str:
    """``time;author;name;address``."""
    parts = text.split(";")
    return f"- [{parts[-2]}]({parts[-1]})" if len(parts) > PARTS_OF_A_COMMENT else f"- {text}"


def _remark(issue: str, text: str, times: Times) -> IssueComment:
    parts = text.split(";", PARTS_OF_A_COMMENT - 1)
    if len(parts) < PARTS_OF_A_COMMENT:
        return IssueComment("", as_markdown(text), None)
    when, author, said = parts
    before = len(times.unread)
    moment = times.moment(issue, "commented", when)
    # The unread time stands with the comment, not with the ticket.
    del times.unread[before:]
    return IssueComment(author, as_markdown(said), moment, "" if moment else when)


def _links(row: Row, keys: dict[str, str]) -> list[IssueLink]:
    parents = [keys.get(value, value) for value in _all(row, *PARENTS)]
    found = [IssueLink(PARENT_LINK, parent) for parent in dict.fromkeys(parents)]
    for column in row:
        if column.startswith((OUTWARD, INWARD)):
            kind = LINK_KINDS.get(column.partition("(")[2].rstrip(")"), "related")
            is_inward = column.startswith(INWARD)
            # The other end says these: what this one blocks, and who is its duplicate.
            if (kind == "blocks" and not is_inward) or (kind == "duplicates" and is_inward):
                continue
            found += [IssueLink(kind, other) for other in _all(row, column)]
    return found
