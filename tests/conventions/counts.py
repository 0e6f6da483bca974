"""Counts that keep the code easy to work with: `python -m tests.conventions.counts` prints them."""

import ast
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from importlib import metadata
from itertools import chain
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
APP = ROOT / "app"

# Documented names of libraries that begin with an underscore.
DOCUMENTED = {
    *("_asdict", "_fields", "_replace"),  # named tuples
    "_mapping",  # rows of SQLAlchemy
    *("_deserialize", "_serialize", "_validate"),  # fields of marshmallow
    "_get_current_object",  # proxies of Flask
    "_exit",  # os
    "_srcfile",  # logging, to turn off the lookup of callers
}
# Documents that are not in the repository.
OUTSIDE = re.compile(
    r"\b(interface|decisions|architecture|reliability|mcp|ui|dependencies|house|pages-review)\.md"
)
POSSESSIVE_GROUP = re.compile(r"\)(?:[*+?]|\{+[0-9,]+\}+)\+")
LONG_TEMPLATE_LINE = 140
LONG_FILE = 400
# Standard terms that contain banned words.
STANDARD = re.compile(r"front_matter|turn_o(?:n|ff)")
# Words with other meanings in the field, or none.
BANNED = {
    *("asked", "bell", "bells", "door", "doors", "eras", "furniture", "hasty", "hold", "leaving"),
    *("lent", "looks", "matter", "namesakes", "nearest", "playing", "pulse", "quiet", "sealing"),
    *("settle", "settled", "soon", "still", "told", "turn", "turns"),
}


@cache
def modules() -> dict[str, ast.Module]:
    """Every module of app by its path, parsed."""
    return {
        str(path.relative_to(ROOT)): ast.parse(path.read_text(), str(path))
        for path in sorted(APP.rglob("*.py"))
    }


@cache
def nodes() -> dict[str, list[ast.AST]]:
    """The nodes of each module, cached: walking all of them takes a second."""
    return {path: list(ast.walk(tree)) for path, tree in modules().items()}


def lines() -> int:
    """The number of lines of app."""
    return sum(len((ROOT / path).read_text().splitlines()) for path in modules())


def short_files() -> list[str]:
    """Files of fewer than 60 lines, except __init__.py."""
    return [
        path
        for path in modules()
        if not path.endswith("__init__.py") and len((ROOT / path).read_text().splitlines()) < 60
    ]


def core_modules() -> list[str]:
    """The modules of app/core."""
    return [
        path
        for path in modules()
        if path.startswith("app/core/") and not path.endswith("__init__.py")
    ]


def private_names() -> list[str]:
    """Uses of names that libraries keep to themselves."""
    return [found for path in modules() for found in _private_names(path)]


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name not in {"_", *DOCUMENTED}


def _private_names(path: str) -> Iterator[str]:
    ours = _own_names()
    for node in nodes()[path]:
        if isinstance(node, ast.Attribute) and _is_private(node.attr) and node.attr not in ours:
            yield f"{path}:{node.lineno} {node.attr}"
        if isinstance(node, ast.ImportFrom) and not (node.module or "").startswith("app"):
            for imported in node.names:
                if _is_private(imported.name):
                    yield f"{path}:{node.lineno} {imported.name}"
        if isinstance(node, ast.ClassDef):
            for method in _overridden(path, node):
                yield f"{path}:{node.lineno} {method}"


def _overridden(path: str, node: ast.ClassDef) -> Iterator[str]:
    """Private methods of this class that override those of a library's class."""
    ours = {
        one.name for one in node.body if isinstance(one, ast.FunctionDef) and _is_private(one.name)
    }
    if not node.bases or not ours:
        return
    module = __import__(path.removesuffix(".py").replace("/", "."), fromlist=["_"])
    made = getattr(module, node.name, None)
    if not isinstance(made, type):
        return
    libraries = [base for base in made.__mro__[1:] if not base.__module__.startswith("app")]
    for name in ours:
        if any(name in vars(base) for base in libraries):
            yield name


@cache
def _own_names() -> frozenset[str]:
    """All names that app itself defines or assigns."""
    found = set()
    for tree in nodes().values():
        for node in tree:
            match node:
                case (
                    ast.FunctionDef(name=name)
                    | ast.AsyncFunctionDef(name=name)
                    | ast.ClassDef(name=name)
                ):
                    found.add(name)
                case ast.Name(id=name, ctx=ast.Store()):
                    found.add(name)
                case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Store()):
                    found.add(name)
    return frozenset(found)


def outside_citations() -> list[str]:
    """Lines that cite a document outside the repository."""
    return [
        f"{path.relative_to(ROOT)}:{number}"
        for folder in ("app", "migrations", "templates", "static", "tests", "docs")
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in {".py", ".html", ".css", ".js", ".md", ".txt"}
        and path != Path(__file__)
        and not (ROOT / "docs" / path.name).exists()
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if OUTSIDE.search(line)
    ]


def undeclared_imports() -> list[str]:
    """Distributions that app imports and pyproject.toml does not declare."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = {
        _normal(re.split(r"[\[<>=~! ]", one)[0])
        for one in (*project["dependencies"], *chain(*project["optional-dependencies"].values()))
    }
    imported = set()
    for tree in nodes().values():
        for node in tree:
            if isinstance(node, ast.Import):
                imported.update(one.name.partition(".")[0] for one in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                imported.add(node.module.partition(".")[0])
    distributions = metadata.packages_distributions()
    return sorted(
        package
        for package in imported & distributions.keys()
        if not declared & {_normal(name) for name in distributions[package]}
    )


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def class_names_twice() -> dict[str, list[str]]:
    """Names that more than one class of app has, with their files."""
    found: dict[str, list[str]] = {}
    for path, tree in nodes().items():
        for node in tree:
            # marshmallow names the options of a schema Meta.
            if isinstance(node, ast.ClassDef) and node.name != "Meta":
                found.setdefault(node.name, []).append(path)
    return {name: paths for name, paths in sorted(found.items()) if len(paths) > 1}


def banned_names() -> list[str]:
    """Modules and names of app that contain a banned word."""
    found = [path for path in modules() if _words(Path(path).stem) & BANNED]
    for path, tree in nodes().items():
        for node in tree:
            name = _defined(node)
            if name and _words(name) & BANNED:
                found.append(f"{path}:{getattr(node, 'lineno', 0)} {name}")
    return found


def _defined(node: ast.AST) -> str | None:
    """The name of a class, function, argument, variable, constant or attribute."""
    match node:
        case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            return name
        case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()):
            return name
        case ast.Attribute(attr=name, ctx=ast.Store()):
            return name
    return None


def _words(name: str) -> set[str]:
    spelled = name.lower() if name.isupper() else re.sub(r"([A-Z])", r"_\1", name).lower()
    return set(re.findall(r"[a-z]+", STANDARD.sub("", spelled)))


def long_files() -> list[str]:
    """Files of app and tests over 400 lines."""
    tests = (str(path.relative_to(ROOT)) for path in sorted((ROOT / "tests").rglob("*.py")))
    return [
        path
        for path in (*modules(), *tests)
        if len((ROOT / path).read_text().splitlines()) > LONG_FILE
    ]


def possessive_groups() -> list[str]:
    """Lines in which a group of a regular expression is repeated possessively.

    Before Python 3.11.5 a match may continue after the text of a repetition that failed.
    """
    return [
        f"{path}:{number}"
        for path in modules()
        for number, line in enumerate((ROOT / path).read_text().splitlines(), 1)
        if POSSESSIVE_GROUP.search(line)
    ]


def long_template_lines() -> list[str]:
    """Lines of templates over 140 columns."""
    return [
        f"{path.relative_to(ROOT)}:{number}"
        for path in sorted((ROOT / "templates").rglob("*.html"))
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if len(line) > LONG_TEMPLATE_LINE
    ]


def counts() -> dict[str, int]:
    """All counts, by name."""
    return {
        "lines of app": lines(),
        "files of app": len(modules()),
        "files under 60 lines": len(short_files()),
        "modules of core": len(core_modules()),
        "private library names": len(private_names()),
        "outside citations": len(outside_citations()),
        "undeclared imports": len(undeclared_imports()),
        "class names twice": len(class_names_twice()),
        "banned names": len(banned_names()),
        "possessive groups": len(possessive_groups()),
        "files over 400 lines": len(long_files()),
        "template lines over 140 columns": len(long_template_lines()),
    }


if __name__ == "__main__":
    for about, number in counts().items():
        print(f"{number:>7,}  {about}")
    for finding in (
        *private_names(),
        *outside_citations(),
        *undeclared_imports(),
        *banned_names(),
        *long_files(),
    ):
        print(finding)
    by_name = Counter({name: len(paths) for name, paths in class_names_twice().items()})
    print(*(f"{name} {number}" for name, number in by_name.most_common()), sep=", ")
