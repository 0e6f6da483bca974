"""Reading an export: first all of it is checked, then its rows are taken one by one."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import orjson
from sqlalchemy import Table

from app.exporting import layout


@dataclass(frozen=True, slots=True)
class Export:
    """An export whose files are whole and as they were written."""

    folder: Path
    rows: dict[str, int]
    secret_key_mark: str

    def count(self, table: Table) -> int:
        """How many rows of a table it has."""
        return self.rows.get(table.name, 0)

    def rows_of(self, table: Table) -> Iterator[dict[str, Any]]:
        """A table's rows; raises ClickException naming file and line."""
        name = layout.data_name(table)
        if table.name not in self.rows:
            return
        with (self.folder / name).open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                try:
                    yield layout.row_of(table, line)
                except (ValueError, TypeError) as error:
                    raise click.ClickException(f"{name}, line {number}: {error}.") from error


def opened(folder: Path, revision: str) -> Export:
    """The export in a folder, checked; raises ClickException where it is none, or not as written.

    ``revision`` is this release's schema: an export of a later one may hold what is unknown here.
    """
    try:
        manifest = orjson.loads((folder / layout.MANIFEST).read_bytes())
        if manifest["format"] != layout.FORMAT:
            raise ValueError(layout.MANIFEST)
        version, schema = int(manifest["format_version"]), str(manifest["schema"])
        digests = {str(name): str(value) for name, value in manifest["files"].items()}
        rows = {str(name): int(value) for name, value in manifest["rows"].items()}
        mark = str(manifest["secret_key_mark"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise click.ClickException(f"{folder} is no export of Docket.") from error
    if version > layout.FORMAT_VERSION or schema > revision:
        raise click.ClickException("The export is of a newer Docket; install that one first.")
    unknown = rows.keys() - {table.name for table in layout.exported()}
    if unknown:
        raise click.ClickException(f"The export has rows of an unknown kind, {min(unknown)}.")
    for name in (f"{layout.DATA}/{table}.jsonl" for table in rows):
        if name not in digests:
            raise click.ClickException(f"The export's manifest does not vouch for {name}.")
    for name, digest in digests.items():
        _check(folder, name, digest)
    return Export(folder, rows, mark)


def _check(folder: Path, name: str, digest: str) -> None:
    place = folder / name
    if not place.resolve().is_relative_to(folder.resolve()) or not place.is_file():
        raise click.ClickException(f"The export lacks {name}.")
    with place.open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != digest:
            raise click.ClickException(f"{name} is not as it was exported.")
