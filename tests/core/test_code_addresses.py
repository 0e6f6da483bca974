"""Short names for addresses at code hosts."""

import pytest

from app.core import code_addresses
from app.core.code_addresses import CodeKind

pytestmark = pytest.mark.one_database


@pytest.mark.parametrize(
    ("address", "kind", "name"),
    [
        ("https://github.com/docket/app/pull/5", CodeKind.PULL_REQUEST, "docket/app#5"),
        ("https://github.com/docket/app/issues/5/", CodeKind.ISSUE, "docket/app#5"),
        (f"https://github.com/o/r/commit/{'a1' * 20}", CodeKind.COMMIT, "o/r@a1a1a1a"),
        ("https://gitlab.com/a/b/c/-/merge_requests/7", CodeKind.PULL_REQUEST, "a/b/c!7"),
        ("https://gitlab.com/a/b/-/issues/7", CodeKind.ISSUE, "a/b#7"),
        ("https://codeberg.org/o/r.js/pulls/12", CodeKind.PULL_REQUEST, "o/r.js#12"),
        ("https://git.example.org:8443/o/r/pulls/1", CodeKind.PULL_REQUEST,
         "git.example.org:8443/o/r#1"),
    ],
)  # fmt: skip
def test_what_has_a_short_name(address, kind, name):
    assert code_addresses.read(address) == code_addresses.CodeAddress(kind, name)


@pytest.mark.parametrize(
    "address",
    [
        "http://github.com/o/r/pull/5",
        "https://github.com/o/r/pull/5#issuecomment-1",
        "https://github.com/o/r/pull/5?w=1",
        "https://github.com/o/r/pull/5/files",
        "https://github.com/o/r/pull/0",
        "https://github.com/o/r/pull/12345678901",
        "https://github.com/o/r/pull/\u0665",
        "https://github.com/o/r/tree/5",
        "https://github.com/r/pull/5",
        "https://github.com/a/b/c/pull/5",
        "https://github.com/../r/pull/5",
        "https://github.com//r/pull/5",
        "https://ada@github.com/o/r/pull/5",
        "https://github.com\\o/r/pull/5",
        "https://gitlab.com/a/b/merge_requests/7",
        "https://gitlab.com/-/merge_requests/7",
        "https://GITHUB.com/o/r/pull/5",
        f"https://gitlab.com/{'a/' * 200}b/-/issues/1",
        "https://",
        "",
    ],
)
def test_what_has_none(address):
    assert code_addresses.read(address) is None
