"""Markdown with front matter: one ``name: value`` a line, each value JSON, and so YAML too."""

from typing import Any

import orjson


def document(matter: dict[str, Any], body: str) -> bytes:
    """A Markdown file of these fields and this text, which stands in it as it is."""
    lines = [f"{name}: {orjson.dumps(value).decode()}\n" for name, value in matter.items()]
    return f"---\n{''.join(lines)}---\n\n{body}".encode()
