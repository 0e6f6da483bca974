"""Issues are written in batches: the effects of a refusal or a collision, and the cost."""

import pytest

from app.database.session import run_write
from app.importing.issues import Issue, IssueComment
from app.tickets.searching import COMMENT_LENGTH, COMMENTS_LENGTH, MAX_COMMENTS, indexed
from tests.importing.reading import comments
from tests.support.statements import statements
from tests.support.story import ok

DAY = 86_400_000


def issue(identifier, title, labels=(), *said):
    texts = [IssueComment("eve", text, day * DAY) for day, text in enumerate(said, start=1)]
    return Issue(identifier, title, labels=labels, comments=tuple(texts), created_at=0)


def test_a_refused_issue_holds_no_other_back(cast, imported, tickets):
    report = imported(
        issue("a", "Alpha", ("x",), "first quokka", "then wombat"),
        issue("b", "\x00", ("x", "y"), "lost numbat"),
        issue("c", "Gamma", ("y",)),
    )
    assert report.created == {"labels": 2, "stories": 2, "comments": 2}
    assert [(name, reason) for name, reason, _ in report.notes] == [("b", "rejected")]
    assert [row.outcome for row in report.rows] == ["ticket", "skipped", "ticket"]
    found = tickets()
    alpha, gamma = found["Alpha"], found["Gamma"]
    assert gamma["ticket_number"] == alpha["ticket_number"] + 1
    assert [label["name"] for label in gamma["labels"]] == ["y"]
    assert [one["body"][-6:] for one in comments(cast, alpha)] == ["quokka", "wombat"]
    assert alpha["last_activity_at"] == "1970-01-03T00:00:00.000Z"
    for word, hits in (("quokka", 1), ("wombat", 1), ("numbat", 0)):
        assert len(ok(cast.ada.get(f"/search?q={word}"))["data"]) == hits


def test_a_label_that_is_cut_at_a_blank_is_found_again(imported, tickets):
    # A batch of 50 is written before the labels are read anew.
    label = "x" * 199 + " tail"
    report = imported(*(issue(str(number), f"No {number}", (label,)) for number in range(51)))
    assert report.created == {"labels": 1, "stories": 51}
    assert [one.count for one in report.reasons()] == [51]
    assert {reason for _, reason, _ in report.notes} == {"label too long; truncated"}
    assert {row["labels"][0]["name"] for row in tickets().values()} == {"x" * 199}


def test_a_batch_that_collides_runs_again(imported, tickets):
    class CollisionError(Exception):
        pass

    def collide(work):
        work()
        raise CollisionError

    def twice(work):
        with pytest.raises(CollisionError):
            run_write(lambda: collide(work))
        return run_write(work)

    issues = [issue(str(number), f"No {number}", ("z",), "Hi") for number in range(3)]
    report = imported(*issues, write=twice)
    assert report.created == {"labels": 1, "stories": 3, "comments": 3}
    assert sorted(tickets()) == ["No 0", "No 1", "No 2"]


def test_an_issue_takes_few_statements(app, imported):
    issues = [issue(str(number), f"No {number}", ("x",), "Said") for number in range(100)]
    with statements(app) as seen:
        imported(*issues)
    assert len(seen) / len(issues) < 13


def test_of_many_comments_the_newest_are_indexed():
    assert indexed(["a", "b"]) == ["a", "b"]
    assert len(indexed(["a"] * 150)) == MAX_COMMENTS
    long = indexed(["x" * 10_000] * 20)
    assert {len(body) for body in long} == {COMMENT_LENGTH}
    assert sum(map(len, long)) == COMMENTS_LENGTH
