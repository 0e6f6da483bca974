"""Whether one OpenAPI document can replace another without a client noticing.

Version 1 accepts additions only. What a client may send must still be accepted, and what it was
promised must still be answered. ``python -m tests.contract.compatibility`` keeps today's document
as the released one.
"""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

from app import registry
from app.rest.openapi import document
from tests.contract.comparison import Schema
from tests.support.settings import settings_for

RELEASED = Path(__file__).parent / "released" / "openapi.json"
CHANGELOG = Path(__file__).resolve().parents[2] / "CHANGELOG.md"
# Mistakes of the kept document, which the code never followed, as sentences of ``breaks``; a test
# shows the facts. Once a new document is kept, nothing is left to be corrected.
CORRECTED: frozenset[str] = frozenset()
# Keys whose values only people read.
PROSE = frozenset({"description", "summary", "example", "examples", "title"})


def today() -> Schema:
    """The document of the current code."""
    found: Schema = json.loads(_today())
    return found


@cache
def _today() -> str:
    settings = settings_for("sqlite:///none.db", Path())
    return json.dumps(document(registry.routes(), settings))


def without_prose(value: Any, *, named: bool = False) -> Any:
    """The document without text for people. ``named``: its keys are names of the API."""
    if isinstance(value, list):
        return [without_prose(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {
        key: without_prose(inner, named=key in ("properties", "schemas") and not named)
        for key, inner in value.items()
        if named or key not in PROSE
    }


def released() -> Schema:
    """The last released document."""
    found: Schema = json.loads(RELEASED.read_text())
    return found


def is_released(version: str, changelog: str) -> bool:
    """Whether CHANGELOG.md lists this version as released; it must list the version."""
    (date,) = re.findall(rf"^## \[{re.escape(version)}\] - (.+)$", changelog, re.M)
    return date != "Unreleased"


def version_to_raise(kept: Schema, now: Schema, changelog: str) -> str:
    """The version above whose minor this document's must be raised, or "" if it is right.

    Additions to a release raise the minor version.
    """
    old, new = kept["info"]["version"], now["info"]["version"]
    if not is_released(old, changelog):
        return ""
    grew = {**kept, "info": ""} != {**now, "info": ""}
    return old if grew and number(new)[:2] <= number(old)[:2] else ""


def number(version: str) -> tuple[int, ...]:
    """A version as a tuple that can be compared."""
    return tuple(int(part) for part in version.split("."))


def keep() -> None:
    """Keep today's document as the released one, with a line for each path and schema."""
    found = without_prose(today())
    if old := version_to_raise(released(), found, CHANGELOG.read_text()):
        raise SystemExit(
            f"It has more than version {old}, which is released: raise the minor version."
        )
    rest = {key: value for key, value in found.items() if key not in ("paths", "components")}
    parts = [f'"components": {_lines(found["components"], _lines)}']
    parts.append(f'"paths": {_lines(found["paths"])}')
    parts += [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in rest.items()]
    RELEASED.write_text("{" + ",\n".join(parts) + "}\n")


def _lines(entries: Schema, shown: Any = json.dumps) -> str:
    lines = [f"{json.dumps(key)}: {shown(value)}" for key, value in sorted(entries.items())]
    return "{\n" + ",\n".join(lines) + "\n}"


if __name__ == "__main__":
    keep()
