"""Backups, exports and the doctor handle files and report missing ones."""

import shutil
from dataclasses import replace

import pytest

from app.commands.doctor import _files
from app.exporting import layout
from app.files.copying import copy_contents, damaged, known_contents
from app.files.store import ContentMissing, FolderStore, NewContent, store_of
from tests.files.hostile import picture
from tests.support.story import add_file, make_ticket


@pytest.fixture(name="settings")
def _settings(app, cast, tmp_path):
    """Settings with a store for this test, and a ticket with an image and a text."""
    before = app.config["SETTINGS"]
    app.config["SETTINGS"] = replace(before, instance_dir=tmp_path)
    ticket = f"/tickets/{make_ticket(cast.ada, cast.open_project)['id']}"
    add_file(cast.ada, ticket, picture("PNG"), "a.png")
    add_file(cast.ada, ticket, b"Words" * 30_000, "a.txt")
    yield app.config["SETTINGS"]
    app.config["SETTINGS"] = before


def contents(settings):
    return sorted(settings.files_dir.glob("??/*"))


def test_contents_are_copied_with_their_hashes_checked(app, settings, tmp_path):
    paths = contents(settings)
    assert len(paths) == 3
    target = tmp_path / "copy"
    target.mkdir()
    paths[0].write_bytes(b"damaged")
    paths[1].unlink()
    with app.app_context():
        known = [sha256 for sha256, _ in known_contents()]
        lost = copy_contents(known, store_of(settings), FolderStore(target), target)
    assert sorted(lost) == [path.name for path in paths[:2]]
    assert [path.name for path in target.glob("??/*")] == [paths[2].name]
    assert list(target.glob("copied-*")) == []


def test_a_damaged_copy_is_replaced_while_the_original_is_whole(app, settings, tmp_path):
    target = tmp_path / "copy"
    target.mkdir()
    with app.app_context():
        known = [sha256 for sha256, _ in known_contents()]
        for _ in range(2):
            assert copy_contents(known, store_of(settings), FolderStore(target), target) == []
            copies = sorted(target.glob("??/*"))
            assert [NewContent.of(path).sha256 for path in copies] == known
            copies[0].write_bytes(b"damaged")
            copies[1].write_bytes(copies[1].read_bytes()[:-1])
        # The intact copy outlives the original.
        contents(settings)[2].unlink()
        assert copy_contents(known, store_of(settings), FolderStore(target), target) == []


def test_the_doctor_finds_what_is_missing_and_damaged(app, settings):
    with app.app_context():
        (good,) = _files(settings)
        assert (good.mark, good.message) == ("ok  ", "3 contents, 0 missing, 0 damaged")
        paths = contents(settings)
        paths[0].write_bytes(paths[0].read_bytes()[:-1] + b"?")
        paths[1].unlink()
        (bad,) = _files(settings)
        assert (bad.mark, bad.message) == ("FAIL", "3 contents, 1 missing, 1 damaged")
        with pytest.raises(ContentMissing):
            damaged(paths[1].name, 1, store_of(settings))


def test_an_export_has_the_contents_that_its_rows_name(app, settings, tmp_path):
    folder = layout.Folder(tmp_path / "export")
    folder.path.mkdir()
    with app.app_context(), layout.snapshot() as connection:
        assert folder.write_contents(connection, store_of(settings)) == []
    written = sorted((folder.path / "files").glob("??/*"))
    assert [path.name for path in written] == [path.name for path in contents(settings)]
    assert set(folder.digests) == {f"files/{path.name[:2]}/{path.name}" for path in written}
    # An import restores them.
    shutil.rmtree(settings.files_dir)
    settings.incoming_dir.mkdir(parents=True)
    with app.app_context():
        known = [sha256 for sha256, _ in known_contents()]
        source = FolderStore(folder.path / layout.FILES)
        assert copy_contents(known, source, store_of(settings), settings.incoming_dir) == []
    assert len(contents(settings)) == 3
