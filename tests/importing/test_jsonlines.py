"""``flask import-issues``."""

import json
from pathlib import Path
from typing import Any

from flask import Flask

from tests.support.cast import Cast
from tests.support.story import ok, walk


def run(app: Flask, path: Path, *options: str) -> Any:
    runner = app.test_cli_runner()
    return runner.invoke(
        args=["import-issues", str(path), "--project", "OPEN", "--as", "ada", *options]
    )


def write(tmp_path: Path, *issues: Any) -> Path:
    path = tmp_path / "issues.jsonl"
    lines = [issue if isinstance(issue, str) else json.dumps(issue) for issue in issues]
    path.write_text("\n".join(lines))
    return path


def issue(identifier: str, **fields: Any) -> dict[str, Any]:
    return {"id": identifier, "title": f"Issue {identifier}", "status": "open", **fields}


def under(*parents: str) -> list[dict[str, str]]:
    return [{"depends_on_id": parent, "type": "parent-child"} for parent in parents]


def tickets(cast: Cast) -> dict[str, Any]:
    rows = walk(cast.ada, f"/projects/{cast.open_project}/tickets", 200)
    return {row["title"].removeprefix("Issue "): row for row in rows}


def report(result: Any) -> dict[str, Any]:
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.output[result.output.index("{") :])
    return found


def test_fields_are_mapped(cast: Cast, app, tmp_path: Path) -> None:
    path = write(
        tmp_path,
        issue(
            "a",
            description="What",
            design="How",
            status="in_progress",
            priority=0,
            issue_type="bug",
            labels=["ui", "UI"],
            assignee="bo",
            created_by="someone",
            created_at="2025-12-25T00:59:03.667211-08:00",
            updated_at="2025-12-26T01:00:00Z",
            comments=[{"author": "zed", "text": "Hm", "created_at": "2025-12-25T10:00:00Z"}],
        ),
        issue("b", status="closed", priority=4, close_reason="fixed"),
    )
    assert run(app, path).exit_code == 0
    found = tickets(cast)
    first = found["a"]
    assert first["body"].startswith("What\n\n## Design\n\nHow")
    assert "Imported from a, created by someone" in first["body"]
    assert (first["state"]["name"], first["priority"]) == ("In progress", "urgent")
    assert [label["name"] for label in first["labels"]] == ["bug", "ui"]
    assert first["assignee"]["username"] == "bo"
    assert first["reporter"]["username"] == "ada"
    assert first["created_at"] == "2025-12-25T08:59:03.667Z"
    assert first["updated_at"] == "2025-12-26T01:00:00.000Z"
    (comment,) = ok(cast.ada.get(f"/tickets/{first['id']}/comments"))["data"]
    assert comment["body"] == "**zed** wrote:\n\nHm"
    assert comment["created_at"] == "2025-12-25T10:00:00.000Z"
    assert (found["b"]["state"]["category"], found["b"]["priority"]) == ("done", "low")
    assert "closed: fixed" in found["b"]["body"]


def test_any_hierarchy_fits_and_what_does_not_is_told(cast: Cast, app, tmp_path: Path) -> None:
    path = write(
        tmp_path,
        issue("leaf", dependencies=under("deep")),
        issue("deep", dependencies=under("sub")),
        issue("sub", dependencies=under("story")),
        issue("story", dependencies=under("epic", "other")),
        issue("epic", issue_type="epic"),
        issue("other", issue_type="epic", dependencies=under("epic")),
        issue("orphan", dependencies=under("nowhere")),
        issue("loop1", dependencies=under("loop2")),
        issue("loop2", dependencies=under("loop1")),
    )
    notes = {
        (note["issue"], note["reason"].split(";")[0])
        for note in report(run(app, path, "--json"))["notes"]
    }
    found = tickets(cast)
    placed = {
        name: (row["type"], row["parent"] and row["parent"]["title"].removeprefix("Issue "))
        for name, row in found.items()
    }
    assert placed["epic"] == ("epic", None)
    assert placed["other"] == ("epic", None)
    assert placed["story"] == ("story", "epic")
    assert placed["sub"] == ("subtask", "story")
    assert placed["deep"] == ("subtask", "story")
    assert placed["leaf"] == ("subtask", "story")
    assert placed["orphan"] == ("story", None)
    assert {placed["loop1"][0], placed["loop2"][0]} == {"story", "subtask"}
    assert ("orphan", "parent is not in the file") in notes
    assert ("other", "epic with a parent") in notes
    assert ("story", "second parent") in notes
    relations = ok(cast.ada.get(f"/tickets/{found['deep']['id']}/relations"))["data"]
    assert {row["ticket"]["title"] for row in relations} == {"Issue sub", "Issue leaf"}


def test_dependencies_become_relations(cast: Cast, app, tmp_path: Path) -> None:
    path = write(
        tmp_path,
        issue("a", dependencies=[{"depends_on_id": "b", "type": "blocks"}]),
        issue(
            "b",
            dependencies=[
                {"depends_on_id": "a", "type": "blocks"},
                {"depends_on_id": "a", "type": "discovered-from"},
                {"depends_on_id": "zzz", "type": "related"},
                {"depends_on_id": "a", "type": "tracks"},
            ],
        ),
    )
    notes = report(run(app, path, "--json"))["notes"]
    found = tickets(cast)
    relations = ok(cast.ada.get(f"/tickets/{found['a']['id']}/relations"))["data"]
    assert {(row["type"], row["direction"]) for row in relations} == {
        ("blocks", "incoming"),
        ("relates_to", "incoming"),
    }
    assert len(notes) == 3


def test_bad_lines_are_told_and_the_rest_goes_on(cast: Cast, app, tmp_path: Path) -> None:
    path = write(
        tmp_path, "{", '{"id": "x"}', "[]", "", issue("a"), issue("a"), issue("b", priority=9)
    )
    notes = report(run(app, path, "--json"))["notes"]
    assert [note["issue"] for note in notes] == ["line 1", "line 2", "line 3", "a", "b"]
    assert set(tickets(cast)) == {"a", "b"}


def test_an_unknown_project_or_human(app, cast: Cast, tmp_path: Path) -> None:
    path = write(tmp_path, issue("a"))
    runner = app.test_cli_runner()
    for project, username, said in (
        ("NOPE", "ada", "Project NOPE not found."),
        ("OPEN", "smith", "No active person named smith."),
    ):
        options = ["--project", project, "--as", username]
        result = runner.invoke(args=["import-issues", str(path), *options])
        assert result.exit_code == 1
        assert said in result.output
    result = runner.invoke(args=["import-issues", str(path), "--project", "OPEN"])
    assert (result.exit_code, "several people" in result.output) == (1, True)


def test_a_dry_run_counts_and_notes_what_the_run_will(cast: Cast, app, tmp_path: Path) -> None:
    path = write(
        tmp_path,
        issue("gone", status="tombstone", deleted_at="2025-01-01T00:00:00Z"),
        issue("orphan", dependencies=under("gone"), labels=["lamp", "Lamp"], issue_type="bug"),
        issue(
            "both",
            labels=["lamp"],
            comments=[{"author": "eve", "text": "Hm", "created_at": "2025-01-01T00:00:00Z"}],
            dependencies=[
                {"depends_on_id": "orphan", "type": "blocks"},
                {"depends_on_id": "orphan", "type": "related"},
                {"depends_on_id": "nowhere", "type": "blocks"},
            ],
        ),
        issue("back", dependencies=[{"depends_on_id": "both", "type": "related"}]),
        issue("again", dependencies=[{"depends_on_id": "back", "type": "related"}] * 2),
    )
    told = report(run(app, path, "--dry-run", "--json"))
    assert tickets(cast) == {}
    done = report(run(app, path, "--json"))
    assert told["made"] == done["made"]
    assert told["notes"] == done["notes"]
    assert {"labels", "comments", "relations (blocks)"} < set(told["made"])
    assert told["made"]["stories"] == 4
    assert {note["reason"] for note in told["notes"]} == {
        "deleted in the other tracker; skipped",
        "parent was not imported",
        "depends on an issue that was not imported",
    }
    assert report(run(app, path, "--dry-run", "--json"))["made"] == {}


WRONG = {
    "description": {"a": 1},
    "design": 1,
    "acceptance_criteria": True,
    "notes": [],
    "status": 0,
    "priority": "high",
    "issue_type": {},
    "assignee": 7,
    "created_by": ["ada"],
    "labels": "abc",
    "dependencies": {"type": "blocks"},
    "comments": "x",
    "created_at": 1_700_000_000,
    "updated_at": "yesterday",
    "closed_at": "2026-13-01",
    "close_reason": False,
}
WRONG_WITHIN = {
    "labels[0]": ("labels", [{"a": 1}]),
    "labels[1]": ("labels", [None, 1]),
    "dependencies[0]": ("dependencies", ["b"]),
    "dependencies[0].type": ("dependencies", [{"type": 1}]),
    "dependencies[0].depends_on_id": ("dependencies", [{"depends_on_id": 1}]),
    "comments[0]": ("comments", ["x"]),
    "comments[0].author": ("comments", [{"author": {}}]),
    "comments[1].text": ("comments", [{}, {"text": 5}]),
    "comments[0].created_at": ("comments", [{"created_at": "x"}]),
    "priority": ("priority", 1.5),
}


def test_a_field_of_a_wrong_type_is_named_and_left_out(
    cast: Cast, app: Flask, tmp_path: Path
) -> None:
    wrong = [(name, name, value) for name, value in WRONG.items()]
    wrong += [(place, name, value) for place, (name, value) in WRONG_WITHIN.items()]
    lines = [issue(f"n{number}") | {name: value} for number, (_, name, value) in enumerate(wrong)]
    notes = report(run(app, write(tmp_path, issue("good"), *lines), "--json"))["notes"]
    for number, (place, _, _) in enumerate(wrong):
        note = notes[number]
        assert note["issue"] == f"line {number + 2}"
        assert note["detail"].startswith(f"{place} must be a"), note
        assert note["reason"] == "field cannot be read; left out"
    others = {note["reason"] for note in notes[len(wrong) :]}
    assert others == {"unknown dependency type"}
    found = tickets(cast)
    assert set(found) == {"good", *(f"n{number}" for number in range(len(wrong)))}
    assert {row["priority"] for row in found.values()} == {"medium"}


def test_without_id_or_title_a_line_is_no_issue(cast: Cast, app: Flask, tmp_path: Path) -> None:
    lines = [issue("a", title=["x"], labels=5), issue("b") | {"id": 5}]
    notes = report(run(app, write(tmp_path, *lines), "--json"))["notes"]
    assert [(note["reason"], note["detail"]) for note in notes] == [
        ("not an issue", "title must be a string"),
        ("not an issue", "id must be a string"),
    ]
    assert tickets(cast) == {}


def test_values_that_other_types_say_clearly_are_taken(
    cast: Cast, app: Flask, tmp_path: Path
) -> None:
    path = write(
        tmp_path,
        issue("a", priority="1", labels=[{"name": "ui"}, None, "api"]),
        issue("b", priority=1.0, comments=[None]),
        issue("gone", deleted_at=1_700_000_000_000),
    )
    notes = report(run(app, path, "--json"))["notes"]
    assert [note["reason"] for note in notes] == ["deleted in the other tracker; skipped"]
    found = tickets(cast)
    assert {row["priority"] for row in found.values()} == {"high"}
    assert [label["name"] for label in found["a"]["labels"]] == ["api", "ui"]


def test_a_line_that_is_no_object_is_named(cast: Cast, app: Flask, tmp_path: Path) -> None:
    lines = ["[1]", '"x"', "null", "{", '{"id": "a", "id": "b"}', "\ud800"]
    path = tmp_path / "lines.jsonl"
    path.write_bytes("\n".join(lines).encode("utf-8", "surrogatepass"))
    notes = report(run(app, path, "--json", "--format=jsonl"))["notes"]
    assert [note["detail"] for note in notes] == [
        *["it must be an object"] * 3,
        "it is not valid JSON",
        "An object has a duplicate key",
        "it is not UTF-8",
    ]


def test_null_is_as_good_as_nothing(cast: Cast, app: Flask, tmp_path: Path) -> None:
    empty = dict.fromkeys([*WRONG, "deleted_at"])
    assert report(run(app, write(tmp_path, issue("a") | empty), "--json"))["notes"] == []
    assert tickets(cast)["a"]["priority"] == "medium"
