"""Scripts as browsers get them: one file a page's entry, without what only people read.

The sources are small ES modules with one purpose each. Sent one by one they cost a request each,
and more bytes, as each is packed alone. So at start the modules that an entry imports are put into
it, each in a scope of its own that hands out what it exports, in the order in which a browser would
run them. What ``app.js`` holds is on every page: the other entries import it from there. Nothing is
renamed, and no tool is needed.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

# On every page; the others stand on it.
FIRST = "app.js"
IMPORT = re.compile(r'^import \{([^}]+)\} from "\./([\w-]+\.js)";\n', re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:async function|function|const) (\w+))", re.MULTILINE)
# Whole lines that are comments, empty lines, and indentation: what a browser does not read.
UNREAD = re.compile(r"^[ \t]*(?://.*|/\*\*.*\*/)?(?:\n|(?=\S))", re.MULTILINE)
# Where a line may be joined with the next: neither a comment nor a text reaches over its end.
END = re.compile(r"(?<=[;{,(])\n")
# A comment behind code, which would take the next line along.
BESIDE = re.compile(r"\S[ \t]+//[ \t]")
# Any other way to import or export than the two that are understood here.
OTHER = re.compile(r"^\s*(?:import|export)\b", re.MULTILINE)


class ScriptWrong(Exception):
    """A script cannot be joined with the others; the message names it."""


@dataclass(frozen=True, slots=True)
class Module:
    """A source file: what it takes from others, what it gives, and the rest of its text."""

    imports: Mapping[str, tuple[str, ...]]
    exports: tuple[str, ...]
    body: str


def read(name: str, source: str) -> Module:
    """Take a source apart; raises ScriptWrong for what this does not understand."""
    if any(line.count("`") % 2 for line in source.splitlines()):
        # Its lines could look like comments.
        raise ScriptWrong(f"{name}: a text goes over several lines.")
    if any(BESIDE.search(line) for line in source.splitlines()):
        raise ScriptWrong(f"{name}: a comment stands behind code; it belongs above it.")
    imports: dict[str, tuple[str, ...]] = {}
    for names, other in IMPORT.findall(source):
        imports[other] = tuple(one.strip() for one in names.split(",") if one.strip())
    body = IMPORT.sub("", source)
    exports = tuple(EXPORT.findall(body))
    body = END.sub("", UNREAD.sub("", EXPORT.sub("", body)))
    if OTHER.search(body) or any(" " in one for names in imports.values() for one in names):
        raise ScriptWrong(f"{name}: imports and exports are written in another way than elsewhere.")
    return Module(imports, exports, body.rstrip("\n"))


def join(sources: Mapping[str, str]) -> dict[str, str]:
    """The entries with all that they need; raises ScriptWrong where that does not fit together."""
    modules = {name: read(name, source) for name, source in sources.items()}
    graph = {name: tuple(module.imports) for name, module in modules.items()}
    try:
        order = [name for name in TopologicalSorter(graph).static_order() if name in modules]
    except CycleError as error:
        raise ScriptWrong(f"Scripts import each other: {error.args[1]}.") from error
    for name, module in modules.items():
        for other, names in module.imports.items():
            missing = set(names) - set(modules[other].exports if other in modules else ())
            if missing:
                raise ScriptWrong(f"{name}: {other} has no {', '.join(sorted(missing))}.")
    everywhere = _needs(FIRST, graph)
    imported = {other for names in graph.values() for other in names}
    joined: dict[str, str] = {}
    asked: set[str] = set()
    for entry in sorted(modules.keys() - imported - {FIRST}):
        own = [one for one in order if one in _needs(entry, graph) - everywhere]
        taken = _taken(modules, own, everywhere)
        asked |= taken
        head = f'import {{ {", ".join(sorted(taken))} }} from "./{FIRST}";\n' if taken else ""
        joined[entry] = head + _joined(modules, own, taken)
    first = _joined(modules, [one for one in order if one in everywhere], set())
    joined[FIRST] = first + (f"export {{ {', '.join(sorted(asked))} }};\n" if asked else "")
    return joined


def _needs(entry: str, graph: Mapping[str, tuple[str, ...]]) -> set[str]:
    found = {entry}
    for other in graph[entry]:
        found |= _needs(other, graph)
    return found


def _taken(modules: Mapping[str, Module], own: list[str], everywhere: set[str]) -> set[str]:
    """What these modules import from those that are everywhere."""
    return {
        name
        for one in own
        for other, names in modules[one].imports.items()
        if other in everywhere
        for name in names
    }


def _joined(modules: Mapping[str, Module], own: list[str], taken: set[str]) -> str:
    """These modules in this order as one; ``taken`` are the names that it has from elsewhere."""
    given = [name for one in own for name in modules[one].exports]
    twice = sorted({name for name in given if given.count(name) > 1 or name in taken})
    if twice:
        raise ScriptWrong(f"Several scripts of {own[-1]} export {', '.join(twice)}.")
    return "\n".join(_scoped(modules[one]) for one in own) + "\n"


def _scoped(module: Module) -> str:
    if not module.exports:
        return "{\n" + module.body + "\n}"
    names = ", ".join(module.exports)
    return f"const {{ {names} }} = (() => {{\n{module.body}\nreturn {{ {names} }};\n}})();"
