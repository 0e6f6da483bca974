"""The documents' claims about the code are true."""

import re
from dataclasses import MISSING, fields
from pathlib import Path

import pytest

from app.config import Settings

ROOT = Path(__file__).resolve().parent.parent
# Not settable by environment variables (app/config.py).
INTERNAL = ("password_time_", "password_memory_", "password_parallelism", "has_", "key_kept_")


def text(name):
    return (ROOT / name).read_text()


def settings_table():
    rows = re.findall(
        r"^\| `([A-Z_]+)` \| (.+?) \| (.+?) \|$", text("docs/settings.md"), re.MULTILINE
    )
    return {name: (default, meaning) for name, default, meaning in rows}


def known_settings():
    return {
        field.name.upper(): field
        for field in fields(Settings)
        if not field.name.startswith(INTERNAL)
    }


def test_the_settings_page_lists_exactly_the_settings():
    assert set(settings_table()) == set(known_settings())


def test_the_settings_page_states_the_defaults_that_hold():
    for name, (shown, meaning) in settings_table().items():
        default = known_settings()[name].default
        assert meaning.endswith("."), name
        if default in (MISSING, None, "") or isinstance(default, Path):
            assert shown.startswith("("), name
        else:
            expected = str(default).lower() if isinstance(default, bool) else str(default)
            assert shown == f"`{expected}`", name


@pytest.mark.parametrize("name", ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_every_file_and_folder_that_is_named_exists(name):
    named = set(
        re.findall(
            r"`((?:app|tests|migrations|templates|static|core|rest|audit)/[\w./]*|[A-Z]+\.md)`",
            text(name),
        )
    )
    assert named
    missing = [
        path for path in named if not (ROOT / path).exists() and not (ROOT / "app" / path).exists()
    ]
    assert missing == []


def test_every_package_stands_in_the_architecture():
    packages = {path.parent.name for path in (ROOT / "app").glob("*/__init__.py")}
    drawn = text("ARCHITECTURE.md").split("```")[1]
    assert packages - set(re.findall(r"[a-z_]+", drawn)) == set()


def test_every_make_target_that_is_named_exists():
    targets = set(re.findall(r"^([a-z-]+):", text("Makefile"), re.MULTILINE))
    guides = [f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md"))]
    for name in ("README.md", "CONTRIBUTING.md", *guides):
        named = set(re.findall(r"(?:`|^    )make ([a-z-]+)", text(name), re.MULTILINE))
        assert named <= targets, name


@pytest.mark.parametrize(("name", "most"), [("ARCHITECTURE.md", 200), ("PERFORMANCE.md", 120)])
def test_reference_documents_stay_short(name, most):
    assert len(text(name).splitlines()) <= most


def test_no_document_names_a_place_outside():
    pages = [f"docs/{path.relative_to(ROOT / 'docs')}" for path in (ROOT / "docs").rglob("*.md")]
    for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", *pages):
        assert not re.search(r"/(work|home|root|tmp)/", text(name)), name


def sentence_lengths(page):
    """Return the word count of each sentence; a code span is one word, a table cell a sentence."""
    page = re.sub(r"^```[\s\S]*?^```$|^(?: {4}|#|<).*", "", page, flags=re.MULTILINE)
    page = re.sub(r"`[^`\n]+`", "Code", page)
    page = re.sub(r"\]\([^)\s]+\)|[*\[\]!]", "", page)
    sentences = re.split(r"(?<=[.!?:])\s+(?=[A-Z(])|\n\s*\n|\n *- |\n *\d\. |\|", page)
    lengths = (len(sentence.split()) for sentence in sentences)
    return sorted(length for length in lengths if length > 2)


def test_sentences_are_short():
    """In each document, nine of ten sentences have at most 25 words."""
    pages = (ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").glob("*.md"))
    lengths = {path.name: sentence_lengths(path.read_text()) for path in pages}
    assert len(lengths) > 20
    ninth = {name: words[len(words) * 9 // 10] for name, words in lengths.items()}
    assert {name: words for name, words in ninth.items() if words > 25} == {}


def test_the_pictures_of_the_documents_are_there_and_small():
    named = set(re.findall(r"docs/pictures/[\w-]+\.png", text("README.md")))
    for path in (ROOT / "docs").glob("*.md"):
        found = re.findall(r"[(\"](pictures/[\w-]+\.png)[)\"]", path.read_text())
        named |= {f"docs/{one}" for one in found}
    sizes = {
        str(path.relative_to(ROOT)): path.stat().st_size
        for path in (ROOT / "docs" / "pictures").iterdir()
    }
    assert named == set(sizes)
    assert max(sizes.values()) < 150_000
