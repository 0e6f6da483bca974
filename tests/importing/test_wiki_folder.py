"""``flask import-wiki``."""

import re
import time
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import func, select

from app.database.session import reading, session
from app.webhooks.models import OutboxEntry
from tests.conftest import REAL_DATA
from tests.support.cast import Cast
from tests.support.story import ok, walk

REAL = REAL_DATA / "wiki"


def run(app: Flask, folder: Path, *options: str) -> Any:
    result = app.test_cli_runner().invoke(
        args=["import-wiki", str(folder), "--as", "ada", *options]
    )
    assert result.exit_code == 0, result.output
    return result.stdout


def write(folder: Path, name: str, content: str) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)


def pages(cast: Cast) -> dict[str, Any]:
    rows = walk(cast.ada, "/wiki/pages", 200)
    return {row["slug"]: ok(cast.ada.get(f"/wiki/pages/{row['id']}")) for row in rows}


def test_titles_slugs_and_links(cast: Cast, app, tmp_path: Path) -> None:
    write(
        tmp_path,
        "index.md",
        "---\ntitle: 'Start here'\nslug: /\n---\n\nSee [set up](guide/set-up.md#x).",
    )
    write(
        tmp_path,
        "guide/set-up.md",
        "# Setting *up*\n\n[back](../index.md) [next](./go-on.md) [web](https://a.b/c.md) "
        "[gone](nope.md) ![i](x.md) `[code](go-on.md)` [conf](a.conf) [LICENSE](../../LICENSE)"
        "\n\n```\n[code](go-on.md)\n```\n",
    )
    write(tmp_path, "guide--go-on.md", "<!-- A\nnote -->\nNo heading. [`u|p`, **up**](set-up.md)")
    write(tmp_path, "named.md", "---\ntitle: Named\n---\n# Otherwise\n\n# Named\n")
    long = "words " * 40
    write(tmp_path, "long.md", f"# {long}\n\nText.")
    output = run(app, tmp_path)
    found = pages(cast)
    assert set(found) == {"index", "guide-set-up", "guide-go-on", "named", "long"}
    # A heading that is too long for the title also stays in the body.
    assert found["long"]["body"].startswith(f"# {long.strip()}")
    assert found["index"]["title"] == "Start here"
    assert found["index"]["body"] == "See [[guide-set-up|set up]]."
    assert found["guide-set-up"]["title"] == "Setting *up*"
    assert found["guide-set-up"]["body"] == (
        "[[index|back]] [[guide-go-on|next]] [web](https://a.b/c.md) "
        "[gone](nope.md) ![i](x.md) `[code](go-on.md)` conf (`a.conf`) LICENSE (`../../LICENSE`)"
        "\n\n```\n[code](go-on.md)\n```\n"
    )
    assert found["guide-go-on"]["title"] == "go-on"
    assert found["guide-go-on"]["body"] == "No heading. [[guide-set-up|u/p, up]]"
    # A first heading that repeats the title is removed; any other stays.
    assert found["named"]["body"] == "# Otherwise\n\n# Named\n"
    assert "5 pages created" in output
    assert "guide/set-up: links to a missing file (nope.md)" in output


def test_again_changes_nothing_and_a_change_is_a_revision(cast: Cast, app, tmp_path: Path) -> None:
    write(tmp_path, "a.md", "# A\none")
    write(tmp_path, "b.md", "# B")
    run(app, tmp_path, "--project", "OPEN")
    assert "2 pages unchanged" in run(app, tmp_path, "--project", "OPEN")
    write(tmp_path, "a.md", "# A\ntwo")
    assert "1 page with a new revision" in run(app, tmp_path, "--project", "OPEN")
    page = pages(cast)["a"]
    assert (page["revision_number"], page["project_id"]) == (2, cast.open_project)


def test_an_edit_stays_until_the_file_changes(cast: Cast, app, tmp_path: Path) -> None:
    write(tmp_path, "a.md", "# A\none")
    write(tmp_path, "b.md", "# B\none")
    run(app, tmp_path)
    write(tmp_path, "b.md", "# B\ntwo")
    run(app, tmp_path)
    for page in pages(cast).values():
        ok(cast.ada.patch(f"/wiki/pages/{page['id']}", {"body": "edited"}))
    output = run(app, tmp_path)
    assert "2 pages kept as edited here" in output
    assert {page["body"] for page in pages(cast).values()} == {"edited"}
    # A file may also return to an earlier text.
    write(tmp_path, "b.md", "# B\none")
    output = run(app, tmp_path)
    assert "1 page kept as edited here" in output
    assert "1 page with a new revision" in output
    assert "b: replaces an edit made here (revision 3)" in output
    found = pages(cast)
    assert (found["a"]["body"], found["b"]["body"]) == ("edited", "one")
    output = run(app, tmp_path)
    assert "1 page kept as edited here" in output
    assert "1 page unchanged" in output


def test_an_edit_stays_where_the_file_has_one_before_it(cast: Cast, app, tmp_path: Path) -> None:
    write(tmp_path, "a.md", "# A\none")
    run(app, tmp_path)
    (page,) = pages(cast).values()
    ok(cast.ada.patch(f"/wiki/pages/{page['id']}", {"body": "two"}))
    write(tmp_path, "a.md", "# A\ntwo")
    assert "1 page unchanged" in run(app, tmp_path)
    ok(cast.ada.patch(f"/wiki/pages/{page['id']}", {"body": "three"}))
    assert "1 page kept as edited here" in run(app, tmp_path)
    assert pages(cast)["a"]["body"] == "three"


def test_an_edit_stays_where_the_title_is_cut_at_a_space(cast: Cast, app, tmp_path: Path) -> None:
    write(tmp_path, "a.md", f"# {'w' * 199} more\none")
    run(app, tmp_path)
    (page,) = pages(cast).values()
    ok(cast.ada.patch(f"/wiki/pages/{page['id']}", {"body": "edited"}))
    assert "1 page kept as edited here" in run(app, tmp_path)


def test_what_cannot_be_read_is_told(cast: Cast, app, tmp_path: Path) -> None:
    (tmp_path / "bad.md").write_bytes(b"\xff\xfe")
    (tmp_path / "dir.md").mkdir()
    write(tmp_path, "one.md", "---\nslug: same\n---\nx")
    write(tmp_path, "two.md", "---\nslug: same\n---\ny")
    output = run(app, tmp_path)
    assert "bad.md: cannot be read (it is not UTF-8)" in output
    assert "dir.md: cannot be read (Is a directory)" in output
    assert "two.md: same slug as another file (same); skipped" in output
    assert set(pages(cast)) == {"same"}


def test_a_byte_order_mark_is_no_text(cast: Cast, app, tmp_path: Path) -> None:
    write(tmp_path, "a.md", "\ufeff# Marked\n\nText.")
    run(app, tmp_path)
    page = pages(cast)["a"]
    assert (page["title"], page["body"]) == ("Marked", "Text.")


@pytest.mark.real_data
@pytest.mark.one_database
def test_the_real_pages(cast: Cast, app) -> None:
    output = run(app, REAL)
    assert "72 pages created" in output
    # The export contains only part of the documentation: files reported missing are missing.
    missing = re.findall(r"missing file \(\./(.+)\)", output)
    assert missing
    assert not [name for name in missing if (REAL / f"cli-reference--{name}").exists()]
    assert walk(cast.ada, "/wiki/broken-links", 200) == []
    index = pages(cast)["cli-reference-index"]
    assert "[[cli-reference-assign|" in index["body"]
    assert "72 pages unchanged" in run(app, REAL)


def test_webhooks_are_left_in_peace_if_one_says_so(cast: Cast, app, tmp_path: Path) -> None:
    hook = {"url": "https://a.example/", "secret": "0123456789abcdef", "event_types": ["wiki.*"]}
    ok(cast.ada.post("/webhooks", hook), 201)

    def due() -> int | None:
        with app.app_context(), reading():
            return session.scalar(select(func.count()).select_from(OutboxEntry))

    write(tmp_path, "quiet.md", "One")
    run(app, tmp_path, "--without-webhooks")
    assert due() == 0
    write(tmp_path, "quiet.md", "Two")
    run(app, tmp_path)
    assert due() == 1


def test_blanks_in_a_heading_take_no_time(cast: Cast, app, tmp_path: Path) -> None:
    write(tmp_path, "blank.md", f"# a{' ' * 30_000}b ##\n\nText.")
    began = time.process_time()
    run(app, tmp_path)
    assert time.process_time() - began < 5
    assert pages(cast)["blank"]["title"] == "a"
