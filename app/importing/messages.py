"""Messages of imports, and the texts that they write into tickets and pages."""

from pathlib import Path


# What is asked for
def takes_pairs(option: str, pair: str) -> str:
    return f"{option} takes A=B, not {pair!r}."


def no_valid_json(file: Path) -> str:
    return f"{file} is not valid JSON."


def not_an_object_of(file: Path, meaning: str) -> str:
    return f"{file} must contain an object of {meaning}."


NAMES_AND_USERNAMES = "names and usernames"
FIELDS_AND_COLUMNS = "fields and columns"


def no_such_user(username: str, key: str) -> str:
    return f"No active user named {username} has access to {key}."


def column_for(field: str) -> str:
    return f"Column for {field}"


def columns(names: str, none: str) -> str:
    return f"Columns: {names}\nEnter {none} for none."


def unknown_column(name: str) -> str:
    return f"Unknown column: {name}."


def unknown_field(field: str, fields: str) -> str:
    return f"Unknown field: {field}. Fields: {fields}."


def unknown_column_of(column: str, columns: str) -> str:
    return f"Unknown column: {column}. Columns: {columns}."


def title_column(columns: str) -> str:
    return f"Which column is the title? Columns: {columns}."


def unknown_time_zone(name: str) -> str:
    return f"Unknown time zone: {name}."


def not_a_format(format: str) -> str:
    return f"{format!r} is not a format of times such as '%m/%d/%Y %H:%M'."


def not_a_time(value: str) -> str:
    return f"{value!r} is not a valid time"


# What is chosen on the page
DETECT = "Detect automatically"
CSV = "CSV (any tracker or spreadsheet)"
JIRA_CSV = "Jira CSV"
GITHUB_JSON = "GitHub JSON"
JSON_LINES = "JSON lines"
WINDOWS_1252 = "Windows-1252 (Western Europe)"
DAY_FIRST = "Day first, 31/12/2026"
MONTH_FIRST = "Month first, 12/31/2026"
NO_COLUMN = "No column"
SELECT_A_FILE = "Select a file."


def file_empty(name: str) -> str:
    return f"{name} is empty."


def unknown_format(name: str) -> str:
    return f"Unknown format: {name}."


def unknown_encoding(name: str) -> str:
    return f"Unknown encoding: {name}."


SELECT_DAY_OR_MONTH = "Select whether the day or the month comes first."


def use_a_time_zone(problem: Exception) -> str:
    return f"{problem} Use a name such as Europe/Berlin."


def write_pairs(line: int) -> str:
    return f"Line {line}: write NAME = USERNAME."


SELECT_A_PROJECT = "Select a project."


def project_deleted(key: str) -> str:
    return f"Project {key} was deleted."


def project_not_found(key: str) -> str:
    return f"Project {key} not found."


# Files that cannot be read
def too_many_rows(limit: int) -> str:
    return f"The file has more than {limit:,} rows"


def too_many_columns(limit: int) -> str:
    return f"The file has more than {limit} columns"


def too_much(rows: int) -> str:
    return f"The file has {rows:,} tickets, comments, labels and relations"


def upload_too_large(problem: Exception, rows: int, limit: int) -> str:
    return (
        f"{problem}. An upload can have up to {rows:,} rows and {limit:,} tickets, comments, "
        "labels and relations. Split the file, or ask an administrator to run 'flask "
        "import-issues', which has no limit."
    )


def not_utf8(name: str) -> str:
    return f"{name} is not UTF-8"


def at_line(line: str, problem: str) -> str:
    return f"{line}: {problem}"


def other_encoding(name: str, encoding: str) -> str:
    return f"{name} is not {encoding}; select another encoding"


def not_csv(name: str, problem: Exception) -> str:
    return f"{name} is not CSV: {problem}"


def not_text(name: str) -> str:
    return f"{name} is an Excel or ZIP file; save it as CSV"


def no_header(name: str) -> str:
    return f"{name} has no header"


def file_has_too_many_columns(name: str, limit: int) -> str:
    return f"{name} has more than {limit:,} columns"


# Issues that cannot be read
def id_too_long(limit: int) -> str:
    return f"id longer than {limit} characters"


DUPLICATE = "duplicate in the file; the first one was used"
NOT_AN_ISSUE = "not an issue"


THE_ENTRY = "it"
A_STRING = "a string"
AN_INTEGER = "an integer"
AN_ARRAY = "an array"
AN_OBJECT = "an object"


def a_string_or(key: str) -> str:
    return f"a string or an object with {key!r}"


def a_time(value: str) -> str:
    return f"a time such as 2026-11-20T19:23:58Z, not {value[:40]!r}"


def must_be(place: str, kind: str) -> str:
    return f"{place} must be {kind}"


FIELD_CANNOT_BE_READ = "field cannot be read; left out"
IS_NOT_JSON = "it is not valid JSON"


def not_json(problem: Exception) -> str:
    # The rules of JSON are those of a request, and so are their messages.
    return str(problem).replace("The body", "it").rstrip(".")


def field_label(name: str) -> str:
    return "ID" if name == "id" else name.replace("_", " ").capitalize()


NO_ID_OR_TITLE = "it has no id or no title"
NEITHER_ISSUE_NOR_COMMENT = "neither an issue nor a comment"
PULL_REQUEST = "pull request; skipped"
NO_TITLE_GIVEN = "it has no title"
NO_NUMBER_OR_TITLE = "it has no number or no title"
NO_KEY_OR_SUMMARY = "no key or no summary"
NOT_VALID_CSV = "not valid CSV; the rest was skipped"


def wrong_cells(cells: str, columns: int) -> str:
    return f"{cells}, but the header has {columns}"


NO_TITLE = "no title"

# What differs from the file
ASSIGNEE_NOT_A_USER = "assignee is not a user here"
TITLE_TOO_LONG = "title too long; the full title is in the description"
UNKNOWN_PRIORITY = "unknown priority; set to medium"
UNKNOWN_STATUS = "unknown status; set to an active state"
NO_SUCH_STATE = "no such state here; set to the first state of its category"
LABEL_TOO_LONG = "label too long; truncated"
COMMENT_TOO_LONG = "comment too long; truncated"
DESCRIPTION_TOO_LONG = "description too long; truncated"
BLOCKS_MISSING_ISSUE = "blocks an issue that is not in the file"
UNKNOWN_DEPENDENCY = "unknown dependency type"
DEPENDS_ON_MISSING_ISSUE = "depends on an issue that was not imported"


def second_value(field: str) -> str:
    return f"second value of {field}; the first one was used"


def relation_rejected(message: str) -> str:
    return f"relation rejected: {message}"


def relations_of(kind: str) -> str:
    return f"relations ({kind})"


OWN_ANCESTOR = "is its own ancestor; parent removed"
PARENT_NOT_IN_FILE = "parent is not in the file"
SECOND_PARENT = "second parent; added as a relation"
NESTED_TOO_DEEPLY = "nested too deeply; moved to the story above, with its parent as a relation"
EPIC_WITH_PARENT = "epic with a parent; the parent became a relation"
DELETED_THERE = "deleted in the other tracker; skipped"
PARENT_NOT_IMPORTED = "parent was not imported"
UNKNOWN_DATE_FORMAT = "unknown date format; kept in the description"


# What an import did
PREVIEWING = "Previewing"
IMPORTING = "Importing"


def nothing_imported(problem: Exception) -> str:
    return f"Nothing was imported: {problem}"


def preview_of(format: str) -> str:
    return f"Preview of {format}: nothing was imported."


NOTHING_TO_IMPORT = "nothing to import"
CHANGED = "Changed during import:"


def reason(count: int, text: str, example: str) -> str:
    return f"{count:6d} x {text} (such as {example})"


def detail_in(detail: str, issue: str) -> str:
    return f"“{detail}” in {issue}"


ALREADY_IMPORTED = "already imported"


# What an import writes into tickets
def wrote(author: str, moment: str) -> str:
    return f"**{author}** wrote{f' on {moment}' if moment else ''}:\n\n"


def imported_from(name: str) -> str:
    return f"Imported from {name}"


def created_by(author: str) -> str:
    return f"created by {author}"


def assigned_to(assignee: str) -> str:
    return f"assigned to {assignee}"


DESIGN = "Design"
ACCEPTANCE_CRITERIA = "Acceptance criteria"
NOTES = "Notes"


def also_assigned_to(people: str) -> str:
    return f"also assigned to {people}"


ENVIRONMENT = "Environment"
ATTACHMENTS = "Attachments"


def closed(reason: str, by: str) -> str:
    return f"closed it{f' as {reason}' if reason else ''}{by}"


def waiting(reason: str, seconds: int) -> str:
    return f"{reason}; waiting {seconds} s"


# Folders of wiki pages
IMPORTED = "Imported"


IS_NOT_UTF8 = "it is not UTF-8"


def cannot_be_read(problem: str | None) -> str:
    return f"cannot be read ({problem})"


def same_slug(slug: str) -> str:
    return f"same slug as another file ({slug}); skipped"


def link_to_no_page(target: str) -> str:
    return f"links to a file that is not a page ({target})"


def link_to_missing_file(target: str) -> str:
    return f"links to a missing file ({target})"


def rejected(message: str) -> str:
    return f"rejected: {message}"


PAGES_CREATED = "pages created"
PAGES_UNCHANGED = "pages unchanged"
PAGES_REVISED = "pages with a new revision"
PAGES_KEPT = "pages kept as edited here"


def replaced_edit(revision: int) -> str:
    return f"replaces an edit made here (revision {revision})"


# Files of issues
def file_not_imported(reason: object) -> str:
    return f"file not imported: {reason}"
