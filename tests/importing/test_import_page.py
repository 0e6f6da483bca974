"""/import: a trial run, the import itself, and invalid submissions."""

import csv
import html
import io
import re
import threading

import pytest
from sqlalchemy import func, select
from werkzeug.datastructures import MultiDict

from app.database.session import reading, session
from app.importing import import_form, pages
from app.importing.report import SoFar
from app.webhooks.models import OutboxEntry
from tests.support.cases import cases
from tests.support.story import events, make_ticket, ok, walk

CSV = "Key,Summary,Owner,Nr of parent\n1,Big,Jane Roe,\n2,Small,,1\n"
MANY = "title,blocked by\n" + "".join(f"Issue {n},\n" for n in range(30))


def titles(cast):
    rows = walk(cast.ada, f"/projects/{cast.open_project}/tickets", 200)
    return sorted(row["title"] for row in rows)


def words(page):
    return " ".join(re.sub(r"<[^>]+>", " ", page).split())


def rows_of(report):
    return list(csv.DictReader(io.StringIO(report.removeprefix("\ufeff"))))


def test_a_try_says_what_would_become_of_each_row_and_writes_nothing(cast, send):
    page = send(("issues.csv", CSV), do=None)
    assert "Preview: nothing was imported" in page
    assert "2 stories" in words(page)
    assert "1 assignee is not a user here such as “Jane Roe” in 1" in words(page)
    assert "line 3 2 New ticket Small" in words(page)
    # Without a script the browser forgets the file.
    assert "Select the file again" in page
    assert titles(cast) == []
    assert 'formaction="/import/report"' in page
    rows = rows_of(send(("issues.csv", CSV), path="/import/report"))
    assert titles(cast) == []
    assert [row["outcome"] for row in rows] == ["ticket", "ticket", "note"]
    assert rows[2]["reason"] == "assignee is not a user here"


def test_columns_are_guessed_chosen_and_kept(cast, send):
    page = send(("issues.csv", CSV), htmx=True)
    assert page.lstrip().startswith('<div id="answer"')
    assert '<option value="Summary" selected>' in page
    header = re.search(r'name="header" value="([^"]+)"', page)[1]
    chosen = {"column-title": "Summary", "column-id": "Key", "column-parent": "Nr of parent"}
    people = {"people": "Jane Roe = bo", "column-assignee": "Owner"}
    send(("issues.csv", CSV), htmx=True, do="import", header=header, **chosen, **people)
    rows = walk(cast.ada, f"/projects/{cast.open_project}/tickets", 200)
    found = {row["title"]: row for row in rows}
    assert found["Small"]["parent"]["title"] == "Big"
    assert found["Big"]["assignee"]["username"] == "bo"
    # A file with another header has other columns.
    assert "1 story" in words(send(("b.csv", "title\nNew\n"), header=header, **chosen))


def test_an_import_writes_once(app, cast, send):
    assert "Imported" in send(("issues.csv", CSV), do="import")
    page = send(("issues.csv", CSV), do="import")
    assert "Nothing to import" in page
    assert "OPEN-1" in page
    assert titles(cast) == ["Big", "Small"]
    assert [event.actor_user_id for event in events(app, event_type="ticket.created")] == [
        cast.ada.user_id
    ] * 2


def test_an_import_of_several_requests_is_rewound(cast, send, monkeypatch):
    monkeypatch.setattr(pages, "MAX_REQUEST_ROWS", 8)
    make_ticket(cast.ada, cast.open_project, "By hand")
    labelled = "title,labels\n" + "".join(f"Issue {n},red\n" for n in range(12))
    first = send(("many.csv", labelled), do="import")
    so_far = html.unescape(re.search(r'name="so-far" value="([^"]*)"', first)[1])
    last = send(("many.csv", labelled), do="import", **{"so-far": so_far})
    address = html.unescape(re.search(r'href="(/rewind\?[^"]+)">Rewind this import', last)[1])
    assert address.count("request=") == 2
    preview = cast.ada.client.get(address, headers={"Accept": "text/html"}).text
    assert "12 tickets deleted" in words(preview)
    assert "1 label deleted" in words(preview)
    sent = [("request", one) for one in re.findall(r"request=([\w-]+)", address)]
    answer = cast.ada.client.post("/rewind/step", data=MultiDict(sent)).get_json()
    assert (answer["back"], answer["kept"], answer["beyond"]) == (13, 0, None)
    assert titles(cast) == ["By hand"]
    assert ok(cast.ada.get(f"/projects/{cast.open_project}/labels"))["data"] == []
    # Nobody else can rewind it.
    theirs = cast.bo.client.post("/rewind/step", data=MultiDict(sent)).get_json()
    assert theirs["events"] == 0


@pytest.mark.parametrize("sent", ["[7]", "7", '"x"', "null", '["a", "b"]'])
def test_requests_that_are_none_are_passed_over(sent):
    found = SoFar.parse(f'{{"made": [["stories", 1]], "reasons": [], "requests": {sent}}}')
    assert found.request_ids == []


def test_webhooks_hear_of_it_unless_they_should_not(app, cast, send):
    hook = {"url": "https://10.0.0.1/", "secret": "x" * 16, "event_types": ["ticket.*"]}
    ok(cast.ada.post("/webhooks", hook), 201)

    def waiting():
        with app.app_context(), reading():
            return session.scalar(select(func.count()).select_from(OutboxEntry))

    send(("a.csv", "title\nQuiet\n"), do="import", webhooks=None)
    assert waiting() == 0
    send(("b.csv", "title\nLoud\n"), do="import")
    assert waiting() == 1


def test_one_request_makes_a_bounded_number_and_the_next_goes_on(cast, send, monkeypatch):
    monkeypatch.setattr(pages, "MAX_REQUEST_ROWS", 12)
    content = "id,title,blocked by\n" + "".join(f"{n},Issue {n:02},{n + 1}\n" for n in range(20))
    page = send(("many.csv", content), do="import")
    assert "8 of 20 remaining. Continue the import to add the rest." in words(page)
    assert 'hx-post="/import" hx-trigger' not in page
    assert len(titles(cast)) == 12
    page = send(("many.csv", content), do="import")
    assert "All 20 imported. 16 still need relations." in words(page)
    for _ in range(2):
        page = send(("many.csv", content), do="import")
    assert "are here, but" not in page
    assert len(titles(cast)) == 20
    found = ok(cast.ada.get("/tickets/OPEN-1/relations"))["data"]
    assert [row["ticket"]["title"] for row in found] == ["Issue 01"]


def test_with_a_script_an_import_runs_to_its_end_by_itself(cast, send, monkeypatch):
    monkeypatch.setattr(pages, "MAX_REQUEST_ROWS", 12)
    content = "id,title,blocked by,assignee\n" + "".join(
        f"{n},Issue {n:02},{n + 1},Jane Roe\n" for n in range(20)
    )
    shown, so_far = [], ""
    for _ in range(10):
        page = send(
            ("many.csv", content), do="import", htmx=True, **({"so-far": so_far} if so_far else {})
        )
        progress = re.search(r'<progress max="(\d+)" value="(\d+)"', page)
        assert (progress is None) == ("hx-trigger" not in page)
        if progress is None:
            break
        assert "Keep this page open" in page
        shown.append(int(progress[2]) / int(progress[1]))
        so_far = html.unescape(re.search(r'name="so-far" value="([^"]*)"', page)[1])
    assert shown == sorted(shown)
    assert 0 < shown[0] < shown[-1] < 1
    assert len(titles(cast)) == 20
    # The last page reports the whole import, not only what its own request created.
    assert "20 stories" in words(page)
    assert "19 relations (blocks)" in words(page)
    assert "20 assignee is not a user here" in words(page)


@pytest.mark.one_database
@pytest.mark.parametrize(
    "sent",
    [
        "",
        "{",
        "[]",
        "null",
        '{"made": [1], "reasons": []}',
        '{"made": 7}',
        '{"made": [["a", "b"]]}',
    ],
)
def test_what_is_no_progress_of_ours_is_passed_over(send, sent):
    assert SoFar.parse(sent) == SoFar()
    page = send(("a.csv", "title\nA\n"), do="import", **{"so-far": sent})
    assert "1 story" in words(page)


def test_what_is_brought_along_is_text_and_bounded():
    sent = '{"made": [["<b>", 1]], "reasons": [["' + "x" * 10_000 + '", 1, "y"]]}'
    found = SoFar.parse(sent)
    assert len(found.to_send()) < 1000
    assert found.counts() == [(1, "<b>")]


def test_the_first_rows_are_shown_and_the_report_has_all(send, monkeypatch):
    monkeypatch.setattr(pages, "SHOWN_ROWS", 10)
    page = send(("many.csv", MANY))
    assert "First 10 of 30" in words(page)
    assert "line 11" in page
    assert "line 12" not in page
    assert len(rows_of(send(("many.csv", MANY), path="/import/report"))) == 30


def test_the_report_of_what_is_there_names_its_tickets_and_says_what_was_not_mapped(send):
    send(("issues.csv", CSV), do="import")
    rows = rows_of(send(("issues.csv", CSV), path="/import/report"))
    assert [row["outcome"] for row in rows] == ["already imported", "already imported", "note"]
    assert rows[0]["ticket"] == "OPEN-1"
    assert rows[2]["reason"] == "assignee is not a user here"


def test_the_report_says_what_is_wrong_as_the_try_does(send):
    page = send(("a.csv", "Nr,Wer\n1,ada\n"), path="/import/report", status=422)
    assert "Which column is the title?" in page


def test_the_page_does_not_grow_with_the_file(send):
    row = "A title of some length,and more\n"
    few, many = (send(("a.csv", "title,more\n" + row * rows)) for rows in (500, 4500))
    assert len(many) < len(few) + 100


@pytest.mark.one_database
@cases(
    "content, said",
    [
        ("t\n" * 100_000, "The file has more than 5,000 rows."),
        ("title\n" + "\n" * 5001, "The file has more than 5,000 rows."),
        ('{"id": "1", "title": "a"}\n' * 5001, "The file has more than 5,000 rows."),
        ("[" + "{}," * 5000 + "{}]", "The file has more than 5,000 rows."),
        (
            '{"id": "1", "title": "a", "labels": [' + '"x",' * 20_000 + '"x"]}',
            "The file has 20,002 tickets, comments, labels and relations.",
        ),
        ("title," + ",".join(f"c{n}" for n in range(500)) + "\n", "more than 500 columns"),
        ("title," + "x," * 5000 + "\n", "large has more than 5,000 columns."),
    ],
)
def test_more_than_one_upload_may_bring_is_refused_in_a_sentence(cast, send, content, said):
    for path in ("/import", "/import/report"):
        page = send(("large", content), path=path, status=422)
        assert said in words(page)
        assert len(page) < 30_000
    if "columns" not in said:
        assert "flask import-issues" in words(page)
    assert titles(cast) == []


def test_rows_of_all_files_of_an_upload_count_together(send, monkeypatch):
    monkeypatch.setattr(import_form, "ROWS", 5)
    files = [(f"{name}.csv", "title\n" + f"{name}\n" * 3) for name in "ab"]
    assert "more than 5 rows" in words(send(*files, status=422))


NOT_UTF_8 = "title\nT\xe4\n".encode("latin-1")


@cases(
    "files, form, said",
    [
        ([], {}, "Select a file."),
        ([("a.csv", "")], {}, "a.csv is empty."),
        ([("a.csv", NOT_UTF_8)], {}, "a.csv is not UTF-8; select another encoding"),
        ([("a.json", b'[{"number": 1, "title": "\xff"}]')], {}, "a.json is not UTF-8"),
        ([("a.json", "[{")], {"format": "github"}, "line 1: it is not valid JSON"),
        ([("a.csv", "Nr,Wer\n1,ada\n")], {}, "Which column is the title? Columns: Nr, Wer."),
        ([("a.csv", '"a\nb')], {}, "a.csv is not CSV: unexpected end of data."),
        ([("a.csv", CSV)], {"format": "xls"}, "Unknown format: xls."),
        ([("a.csv", CSV)], {"encoding": "rot13"}, "Unknown encoding: rot13."),
        ([("a.csv", CSV)], {"days": "year"}, "Select whether the day"),
        ([("a.csv", CSV)], {"time_zone": "Mars/Base"}, "Unknown time zone: Mars/Base."),
        ([("a.csv", CSV)], {"time_zone": "../../etc/passwd"}, "Unknown time zone: ../"),
        ([("a.csv", CSV)], {"time_zone": "a" * 5000}, "Unknown time zone: aaa"),
        ([("a.csv", CSV)], {"people": "Jane"}, "Line 1: write NAME = USERNAME."),
        ([("a.csv", CSV)], {"people": "Jane = nix"}, "No active user named"),
        ([("a.csv", CSV)], {"project": ""}, "Select a project."),
        ([("a.csv", CSV)], {"project": "NONE"}, "Project NONE not found."),
    ],
)
def test_what_a_person_can_send_wrong_is_said_and_what_was_typed_stays(
    cast, send, files, form, said
):
    for do in ("try", "import"):
        page = send(*files, status=422, **{"do": do, "people": "Roe = bo", **form})
        assert said in words(page).replace("&#39;", "'")
        assert form.get("people", "Roe = bo") in page
    assert titles(cast) == []


def test_a_deleted_project_takes_nothing(cast, send):
    ok(cast.ada.delete(f"/projects/{cast.open_project}"), 204)
    assert "Project OPEN was deleted." in send(("a.csv", CSV), status=422)


def test_a_file_over_the_limit_leads_to_the_command(app, cast, send):
    large = "title\n" + "x" * app.config["SETTINGS"].max_request_bytes
    for htmx in (False, True):
        assert "flask import-issues" in send(("a.csv", large), status=413, htmx=htmx)


@cases(
    "content",
    [
        *(b"[[[[[[[[[[" * 5_000, b'{"a":' * 10_000, b"\x00\x01\xff" * 99, b"\xff\xfe\x00"),
        "title,parent\n" + "".join(f"{n},{n + 1}\n" for n in range(1100)),
        'title,created,due\n"\x00",0001-01-01T00:00:00+14:00,99999\n',
        '{"id": "1", "title": "\\ud800", "priority": 1e999}\n{"id": 1}\n[]\n',
        '{"number": 1, "issue_url": "x", "created_at": "0001-01-01T00:00:00+14:00"}',
        '[{"number": "x", "title": []}, 1, {"issue_url": 3}, {"number": 4, "title": "a"}]',
    ],
)
def test_no_file_is_a_failure_of_the_server(send, content):
    for form in ("", "csv", "jira", "github", "jsonl"):
        send(("odd", content), format=form, status=(200, 422))
    for encoding in ("windows-1252", "utf-16"):
        send(("odd", content), format="csv", encoding=encoding, status=(200, 422))


def test_the_same_file_twice_at_once_makes_each_ticket_once(app, cast, send):
    ready = threading.Barrier(2)
    content = "id,title,labels,blocked by\n" + "".join(
        f"{n},Issue {n},label {n % 7},{n + 1}\n" for n in range(25)
    )
    found = []

    def importing_it(by):
        ready.wait()
        found.append(send(("issues.csv", content), by=by, do="import"))

    threads = [threading.Thread(target=importing_it, args=(one,)) for one in (cast.ada, cast.bo)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 2
    assert titles(cast) == sorted(f"Issue {n}" for n in range(25))
    assert len(ok(cast.ada.get(f"/projects/{cast.open_project}/labels?limit=200"))["data"]) == 7
    assert len(events(app, event_type="ticket.relation_added")) == 24


def test_only_people_import_and_no_other_site_for_them(cast):
    for path in ("/import", "/export", "/export/archive.zip"):
        assert cast.smith.get(f"/{path}").status_code == 401
        assert (
            "/login"
            in cast.nobody.client.get(path, headers={"Accept": "text/html"}).headers["Location"]
        )
    foreign = {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
    answer = cast.ada.client.post("/import", data={"project": "OPEN"}, headers=foreign)
    assert answer.status_code == 403


def test_the_form_comes_with_the_project_that_one_is_in(cast):
    page = cast.ada.client.get("/import?project=OPEN", headers={"Accept": "text/html"}).text
    assert '<option value="OPEN" selected>' in page
    make_ticket(cast.ada, cast.open_project)
    assert "Preview" in page


def test_an_import_that_meets_other_writers_goes_through(cast, send):
    stopping = threading.Event()

    def write():
        while not stopping.wait(0.01):
            make_ticket(cast.smith, cast.open_project, "Of a bot")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        send(("many.csv", MANY), do="import")
    finally:
        stopping.set()
        writer.join()
    assert len([one for one in titles(cast) if one.startswith("Issue")]) == 30
