"""Files linked in texts of other trackers: recognized by their addresses, and served from here."""

import pytest

from app.importing import file_links
from app.importing.file_links import StoredAs
from app.importing.issues import Issue, IssueComment
from app.importing.trackers import github, linear

ONE = "https://x.example/files/1/a.png"
TWO = "https://x.example/files/1/a.png2"
STORED = {ONE: StoredAs("id-1", "a.png", True), TWO: StoredAs("id-2", "b]", False)}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"![b]({ONE})", "![b](/files/id-1)"),
        (f"![b](<{ONE}>)", "![b](/files/id-1)"),
        (f'[b]({ONE} "title")', "[b](/files/id-1)"),
        (f"![b]({ONE}){{width=300 height=200}}", "![b](/files/id-1)"),
        (f'<img width="8" alt="b" src="{ONE}" />', "![b](/files/id-1)"),
        (f'<img src="{ONE}">', "![a.png](/files/id-1)"),
        (f'<video src="{TWO}" controls></video> x', "[b](/files/id-2) x"),
        (f"see {ONE}, <{TWO}>.", "see ![a.png](/files/id-1), [b](/files/id-2)."),
        (f"`{ONE}` and\n```\n{ONE}\n```", f"`{ONE}` and\n```\n{ONE}\n```"),
        (f"{ONE}/more {ONE}?x x{ONE}", f"{ONE}/more ![a.png](/files/id-1)?x x{ONE}"),
        (f"[a]({ONE}?x) <a href='{ONE}'>", None),
        ("![" * 5_000 + f"]({ONE}", None),
    ],
)
def test_texts_show_files_from_here(text, shown):
    issue = Issue("1", "One", sections=(("", text),), comments=(IssueComment("", text, None),))
    found = file_links.with_stored(issue, STORED)
    if shown is not None:
        assert found.sections == (("", shown),)
        assert found.comments[0].text == shown
    assert file_links.with_stored(issue, {}) is issue


@pytest.mark.parametrize(
    ("base", "text", "found"),
    [
        (
            github.BASE,
            '<img alt="Image" src="https://github.com/user-attachments/assets/'
            '01234567-89ab-cdef-0123-456789abcdef" /> https://github.com/user-attachments/files/12/'
            "a%20b.zip) [log.txt](https://github.com/octo/lamp/files/1/log.txt) "
            "`https://github.com/user-attachments/files/1/no.txt`",
            [
                ("/user-attachments/assets/01234567-89ab-cdef-0123-456789abcdef", "Image"),
                ("/user-attachments/files/12/a%20b.zip", "a b.zip"),
                ("/octo/lamp/files/1/log.txt", "log.txt"),
            ],
        ),
        (
            "https://git.example/api/v3",
            "![s](https://git.example/user-attachments/assets/01234567-89ab-cdef-0123-456789abcdef)"
            " https://github.com/user-attachments/files/12/a.zip "
            "https://git.example/octo/other/files/1/a.txt https://git.example/octo/lamp/issues/1",
            [("/user-attachments/assets/01234567-89ab-cdef-0123-456789abcdef", "s")],
        ),
    ],
)
def test_addresses_of_files_at_github(base, text, found):
    files = file_links.found(text, github.file_pattern(base, "octo/lamp"), str)
    web = base.replace("api.", "").removesuffix("/api/v3")
    assert [(one.address, one.name) for one in files] == [
        (web + path, name) for path, name in found
    ]
    assert bool(github.file_hosts(base)) is (base == github.BASE)


def test_addresses_of_files_at_linear():
    text = "![image.png](https://uploads.linear.app/a-1/b/c). https://uploads.linear.app.evil/a/b"
    files = file_links.found(text, linear.FILES, str)
    assert [(one.address, one.name) for one in files] == [
        ("https://uploads.linear.app/a-1/b/c", "image.png")
    ]
