"""``flask import-export`` refuses and names what has a wrong type in a manifest or a row."""

import json
import shutil

import pytest

from tests.commands.test_export import rows_in, spoiled
from tests.support.story import make_label

MANIFEST = {
    "format_version": ["1", 1.0, True, 0, -1, None, [1]],
    "schema": [56, "", None, {}],
    "secret_key_mark": [7, None],
    "rows": [[], "x", None, {"users": "1"}, {"users": 1.5}, {"users": True}, {"users": -1}],
    "files": [[], None, {"data/users.jsonl": 5}],
}
# Of the file with this name, in its first row.
VALUES = {
    "users": {
        "id": [5, "x", "01A221CA-73E0-7000-9683-4D9A98A12F20", None],
        "username": [5, None, ["ada"], {}, True],
        "is_active": [1, 0, "true", None],
        "rate_limit_per_minute": ["5", 1.5, True, 1 << 63],
        "created_at": [1_700_000_000_000, "yesterday", "2026-11-20T19:23:58", None, ""],
    },
    "labels": {"color": [7, None], "project_id": ["OPEN", 1]},
    "webhooks": {"sealed_secret": ["!", 5, None], "event_types": ["*", None, {}], "form": ["fax"]},
    "audit_events": {"payload": [5, "x", [], None]},
}


@pytest.fixture
def good(app, cast, database, flask, tmp_path):
    """An export; the database is empty afterwards."""
    make_label(cast.ada, cast.open_project, "bug")
    hook = {"url": "https://a.example/", "secret": "0123456789abcdef", "event_types": ["*"]}
    assert cast.ada.post("/webhooks", hook).status_code == 201
    flask("export", str(tmp_path / "good"))
    database.empty()
    return tmp_path / "good"


@pytest.fixture
def refuses(app, good, flask, tmp_path):
    """Import a changed copy of the export; return what was said."""

    def refused(change):
        bad = tmp_path / "bad"
        shutil.copytree(good, bad)
        change(bad)
        said = flask("import-export", str(bad), code=1)
        assert rows_in(app) == 0
        shutil.rmtree(bad)
        return said

    return refused


def with_manifest(change):
    def changing(folder):
        place = folder / "manifest.json"
        manifest = json.loads(place.read_text())
        change(manifest)
        place.write_text(json.dumps(manifest))

    return changing


@pytest.mark.one_database
def test_a_manifest_with_a_value_of_a_wrong_type(refuses):
    for name, values in MANIFEST.items():
        for value in values:
            said = refuses(with_manifest(lambda manifest: manifest.update({name: value})))  # noqa: B023
            assert f"manifest.json: {name} must be " in said, (name, value)
        said = refuses(with_manifest(lambda manifest: manifest.pop(name)))  # noqa: B023
        assert f"manifest.json: {name} must be " in said
    for content in ("[]", "{", '{"format": "other"}', '"docket-export"'):
        said = refuses(lambda at: (at / "manifest.json").write_text(content))  # noqa: B023
        assert "is not a Docket export" in said


@pytest.mark.one_database
def test_a_manifest_that_leaves_rows_out(refuses):
    said = refuses(with_manifest(lambda manifest: manifest.update(rows={})))
    assert "manifest has no number of rows of data/audit_checkpoints.jsonl." in said
    said = refuses(with_manifest(lambda manifest: manifest.update(rows={}, files={})))
    assert "manifest does not list data/users.jsonl." in said
    said = refuses(with_manifest(lambda manifest: manifest["rows"].pop("comments")))
    assert "manifest has no number of rows of data/comments.jsonl." in said
    said = refuses(with_manifest(lambda manifest: manifest["files"].pop("data/comments.jsonl")))
    assert "manifest does not list data/comments.jsonl." in said
    for name in ("../secret", "a\0b", "x" * 300, "data"):
        said = refuses(with_manifest(lambda manifest: manifest["files"].update({name: "0"})))  # noqa: B023
        assert "is missing from the export" in said


def test_a_row_with_a_value_of_a_wrong_type(refuses):
    for table, columns in VALUES.items():
        for column, values in columns.items():
            for value in values:
                said = refuses(changed_row(table, column, value))
                wanted = f"data/{table}.jsonl, line 1: {column} must be "
                assert wanted in said, (table, column, value)
    said = refuses(lambda at: spoiled(at, "data/users.jsonl", lambda _: b"{\n"))
    assert "data/users.jsonl, line 1: it is not valid JSON." in said


def changed_row(table, column, value):
    def change(content):
        first, rest = content.split(b"\n", 1)
        return json.dumps(json.loads(first) | {column: value}).encode() + b"\n" + rest

    return lambda folder: spoiled(folder, f"data/{table}.jsonl", change)
