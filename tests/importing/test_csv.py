"""``flask import-issues`` with any CSV: mapping, guesses, dry run, and refusals."""

from sqlalchemy import func, select

from app.database.session import reading, session
from app.webhooks.models import OutboxEntry
from tests.support.cases import cases
from tests.support.story import events, ok

CSV = """\
Nr;Aufgabe;Wer;Stand;Wann;Tags;Teil von
1;Big;ada;Doing;05.03.2024;;
2;Small;Nobody;done;31.12.2024 10:00;"ui, dark";1
;Nameless;;;32.13.2024;;
4;  ;;;;;
"""
MAPPING = {
    "id": "Nr",
    "title": "Aufgabe",
    "assignee": "Wer",
    "status": "Stand",
    "created_at": "Wann",
    "labels": "Tags",
    "parent": "Teil von",
}
OPTIONS = [f"--map={field}={column}" for field, column in MAPPING.items()]


def test_csv_by_a_mapping(run, tickets):
    report = run(CSV, options=OPTIONS)
    found = tickets()
    assert found["Small"]["parent"]["title"] == "Big"
    assert found["Small"]["created_at"] == "2024-12-31T10:00:00.000Z"
    assert [label["name"] for label in found["Small"]["labels"]] == ["dark", "ui"]
    assert (found["Big"]["state"]["name"], found["Big"]["assignee"]["username"]) == (
        "In progress",
        "ada",
    )
    # Unreadable values are kept verbatim, and reported.
    assert "created 32.13.2024" in found["Nameless"]["body"]
    assert {note["issue"]: note["reason"] for note in report["notes"]}["line 5"] == "no title"
    assert run(CSV, options=OPTIONS)["made"] == {}


def test_a_dry_run_tells_of_each_row_and_writes_nothing(app, run, tickets):
    said = run(CSV, options=[*OPTIONS, "--dry-run"])
    assert tickets() == {}
    for line in (
        "line 2: 1: ticket: story  In progress  medium  ada  Big",
        "line 3: 2: ticket: subtask  Done  medium  Small",
        "line 5: ?: skipped",
        "     2 stories",
        "Preview of csv",
    ):
        assert line in said
    run(CSV.partition("2;Small")[0], options=OPTIONS)
    assert "line 2: 1: already imported: OPEN-1  Big" in run(CSV, options=[*OPTIONS, "--dry-run"])


def test_columns_are_asked_for_or_guessed(run, tickets, tmp_path):
    answers = [MAPPING.get(field, "-") for field in ("title", "id", "description")]
    run("Nr;Aufgabe\n1;Asked", options=["--ask"], text="\n".join(answers) + "\n" * 20)
    run('Title,Priority,Labels\nGuessed,P1,"a;b"\n', options=["--no-ask"])
    (tmp_path / "mapping.json").write_text('{"title": "Nr"}')
    run("Nr;Aufgabe\n1;Asked", options=["--mapping", str(tmp_path / "mapping.json")])
    found = tickets()
    assert set(found) == {"Asked", "Guessed", "1"}
    assert "Imported from 1" in found["Asked"]["body"]
    assert (found["Guessed"]["priority"], len(found["Guessed"]["labels"])) == ("high", 2)


def test_a_column_is_understood_however_it_is_typed(run, tickets):
    # A missing title is asked for again; Enter skips fields without a column.
    said = run(
        "Nr,Aufgabe\n1,Asked",
        options=["--ask", "--dry-run"],
        text="-\naufgabe\nNR\n" + "\n" * 20,
    )
    assert "line 2: 1: ticket: story  Backlog  medium  Asked" in said
    assert "Error: Unknown column: -." in said
    # Columns that differ only in case are distinguished.
    run("title,Title\nSmall,Large", options=["--ask"], text="Title\n" + "\n" * 20)
    assert set(tickets()) == {"Large"}


@cases(
    "content, options, sentence",
    [
        ("a,b\n1,2\n", [], "Which column is the title?"),
        ("a,b\n1,2\n", ["--map", "title=c"], "Unknown column: c"),
        ("a,b\n1,2\n", ["--map", "titel=a"], "Unknown field: titel"),
        (
            "title\nT\xe4\n".encode("latin-1"),
            [],
            "is not UTF-8; select another encoding",
        ),
        ("", [], "has no header"),
        (b'["\xff"]', [], "Nothing was imported"),
    ],
)
def test_files_that_are_refused_whole(run, tickets, content, options, sentence):
    assert sentence in run(content, options=options, code=1)
    assert tickets() == {}


def test_odd_files(run, tickets):
    run("title\nT\xe4\n".encode("latin-1"), options=["--encoding", "latin-1"])
    long = "word " * 50
    report = run(f'title,description\n{long},"{"x" * 70_000}"\n"open,\n')
    assert {note["reason"] for note in report["notes"]} == {
        "title too long; the full title is in the description",
        "description too long; truncated",
        "not valid CSV; the rest was skipped",
    }
    assert len(tickets()) == 2
    run("title\nT\n", options=["--time-zone", "Mars"], code=2)
    run("title\nT\n", options=["--user", "x"], code=2)
    refused = run("title\nT\n", options=["--user", "x=nobody"], code=1)
    assert "No active user named nobody has access to OPEN" in refused


def test_the_columns_of_well_known_trackers_are_guessed(run, tickets):
    """Headers as Trello, Linear, Asana, GitLab and Redmine write them."""
    files = [
        "Card ID,Card Name,Card Description,Labels,Members,Due Date,List Name\n"
        "t1,Trello,Words,ui (green),bo,2026-10-01T09:00:00.000Z,Doing\n",
        "ID,Team,Title,Description,Status,Priority,Creator,Assignee,Labels,Created,Completed,"
        "Due Date,Parent issue\nL-1,L,Linear,Words,Done,Urgent,Zed,bo,ui,"
        "Tue Jul 01 2025 10:00:00 GMT+0200 (CEST),,,\n",
        "Task ID,Created At,Completed At,Last Modified,Name,Section/Column,Assignee,Due Date,Tags,"
        "Notes,Parent task\n1,2025-01-02,,,Asana,Doing,bo,,ui,Words,\n2,,,,Below,,,,,,Asana\n",
        "Title,Description,Issue ID,State,Author,Author Username,Assignee,Assignee Username,"
        "Due Date,Created At (UTC),Labels\nGitLab,Words,7,Open,Jane Roe,zed,Bo Bo,bo,,"
        "2025-01-02 10:00:00,ui\n",
        "#,Tracker,Status,Priority,Subject,Author,Assignee,Description,Created\n"
        "9,Bug,In Progress,Urgent,Redmine,zed,bo,Words,6/21/2025 16:14\n"
        "10,Bug,New,Low,Later,zed,bo,Words,6/7/2025 4:05 PM\n",
    ]
    for content in files:
        assert run(content)["notes"] == []
    found = tickets()
    for name in ("Trello", "Linear", "Asana", "GitLab", "Redmine"):
        assert found[name]["body"].startswith("Words"), name
        assert found[name]["assignee"]["username"] == "bo", name
    assert (found["Trello"]["due_date"], found["Trello"]["state"]["category"]) == (
        "2026-10-01",
        "active",
    )
    assert found["Linear"]["created_at"] == "2025-07-01T08:00:00.000Z"
    assert found["Below"]["parent"]["title"] == "Asana"
    assert "created by zed" in found["GitLab"]["body"]
    # The unambiguous date shows how to read the other one.
    assert found["Redmine"]["created_at"] == "2025-06-21T16:14:00.000Z"
    assert found["Later"]["created_at"] == "2025-06-07T16:05:00.000Z"


def test_days_that_could_be_months_are_not_guessed(run, tickets):
    content = "title,created\nA,6/7/2025\n"
    reasons = [note["reason"] for note in run(content)["notes"]]
    assert reasons == ["unknown date format; kept in the description"]
    run(content.replace("A", "B"), options=["--date-format", "%d/%m/%Y"])
    assert tickets()["B"]["created_at"] == "2025-07-06T00:00:00.000Z"


def test_states_are_known_however_they_are_written(run, tickets):
    report = run(
        "Title,Status,Priority\nOne,Todo,No priority\nTwo,TO_DO,\nThree,Doing,\nFour,started,\n"
        "Five,Selected for Development,\nSix,Canceled,\n",
        options=["--no-ask"],
    )
    assert report["notes"] == []
    # An empty body needs no separator.
    assert tickets()["One"]["body"].startswith("Imported from ")
    assert {title: row["state"]["name"] for title, row in tickets().items()} == {
        "One": "To do",
        "Two": "To do",
        "Three": "In progress",
        "Four": "In progress",
        "Five": "To do",
        "Six": "Done",
    }


def test_webhooks_are_left_in_peace_if_one_says_so(app, cast, run):
    hook = {"url": "https://a.example/", "secret": "0123456789abcdef", "event_types": ["*"]}
    ok(cast.ada.post("/webhooks", hook), 201)

    def due():
        with app.app_context(), reading():
            return session.scalar(select(func.count()).select_from(OutboxEntry))

    before = due()
    run("title,id\nQuiet,1\n", options=["--without-webhooks"])
    assert due() == before
    assert len(events(app, event_type="ticket.created")) == 1
    run("title,id\nLoud,2\n")
    assert due() == before + 1
