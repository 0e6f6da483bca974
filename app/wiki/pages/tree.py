"""A tree made of flat slugs: pages whose slugs begin alike stand below one another."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

# So many pages with a common beginning make a group where no page has that slug itself.
GROUP = 3


@dataclass(slots=True)
class Node:
    """A page, or a group named by the words its pages share, with what stands below it."""

    name: str
    page: Any = None
    children: list["Node"] = field(default_factory=list)


@dataclass(slots=True)
class _Branch:
    page: Any = None
    below: dict[str, "_Branch"] = field(default_factory=dict)


def grow(pages: Iterable[Any]) -> list[Node]:
    """The tree of these pages, each level by name."""
    root = _Branch()
    for page in pages:
        branch = root
        for word in page.slug.split("-"):
            branch = branch.below.setdefault(word, _Branch())
        branch.page = page
    return _level(root, "")


def _level(branch: _Branch, prefix: str) -> list[Node]:
    """What stands below a branch; a group too small to be one gives its pages to its parent."""
    nodes: list[Node] = []
    for word, below in branch.below.items():
        words = f"{prefix} {word}".strip()
        children = _level(below, words)
        if below.page is not None:
            nodes.append(Node(below.page.title, below.page, children))
        elif len(children) >= GROUP:
            nodes.append(Node(words.capitalize(), None, children))
        else:
            nodes += children
    return sorted(nodes, key=lambda node: node.name.lower())
