"""Messages about invalid exports, and the README of exported Markdown."""

from collections.abc import Sequence

# An export that cannot be read
NOT_JSON = "it is not valid JSON"
NOT_AN_OBJECT = "it is not a JSON object"
A_TIME = "a time such as 2026-11-20T19:23:58.000Z"
A_UUID = "a UUID"
A_DAY = "a day such as 2026-11-20"
A_COUNT = "an integer of 0 or more"
A_NUMBER = "a number of 0 or more"
MILLISECONDS = "milliseconds since 1970"
AN_ARRAY = "an array"
AN_OBJECT = "an object"
A_PAIR = "an array of two values"
A_CHOICE = "a string, true or false"
OF_A_PROJECT = "named by the UUID of a project"
KINDS: dict[type, str] = {
    str: "a string",
    int: "an integer",
    bool: "true or false",
    bytes: "base64",
}
# What each field of the manifest must be.
MANIFEST = {
    "format_version": "an integer of 1 or more",
    "schema": "a string",
    "secret_key_mark": "a string",
    "rows": "an object of integers",
    "files": "an object of SHA-256 digests",
}


def must_be(name: str, kind: str) -> str:
    return f"{name} must be {kind}"


def one_of(words: Sequence[str]) -> str:
    return f"one of {', '.join(words)}"


def in_manifest(problem: str) -> str:
    return f"manifest.json: {problem}."


def unknown_field(name: str) -> str:
    return f"it has an unknown field, {name}"


def lacks_column(name: str) -> str:
    return f"it has no {name}"


def at_line(name: str, line: int, problem: str) -> str:
    return f"{name}, line {line}: {problem}."


def not_an_export(folder: str) -> str:
    return f"{folder} is not a Docket export."


OF_A_NEWER_VERSION = "The export is from a newer Docket. Update Docket first."


def unknown_rows(kind: str) -> str:
    return f"The export has an unknown kind of row: {kind}."


def not_listed(name: str) -> str:
    return f"The export's manifest does not list {name}."


def not_counted(name: str) -> str:
    return f"The export's manifest has no number of rows of {name}."


def file_missing(name: str) -> str:
    return f"{name} is missing from the export."


def file_changed(name: str) -> str:
    return f"{name} was changed after the export."


# Beside exported Markdown
README = """\
Exported from Docket{of}.

Markdown files with front matter: one `name: value` per line, each value valid JSON and YAML.

- projects/KEY.md: a project's description, states and labels
- tickets/KEY/KEY-1.md: a ticket with its comments
- wiki/global/slug.md, wiki/KEY/slug.md: a wiki page
- sticky-notes/KEY/id.md: a project note; sticky-notes/personal: your private notes
- audit/events-1.jsonl: the audit log, if included, newest first, one JSON object per line

Changes made during the export may not be included. Deleted items and page history are not
included. For a full backup, an administrator can run `flask export` or `flask backup`.
"""


def of_project(key: str) -> str:
    return f": the project {key}"
