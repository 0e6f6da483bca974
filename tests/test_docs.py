"""The pages of docs/: true to the code, and a wiki of their own."""

import re
from pathlib import Path

from app.commands.exporting import layout

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"


def text(name):
    return (DOCS / name).read_text()


def test_the_export_format_lists_every_file_and_field():
    rows = re.findall(r"^\| `(\w+)\.jsonl` \| .+ \| (.+) \|$", text("export-format.md"), re.M)
    told = {name: re.findall(r"`(\w+)`", fields) for name, fields in rows}
    assert told == {
        table.name: [column.name for column in table.columns] for table in layout.exported()
    }
