"""``flask import-issues`` with CSV files as they go wrong in practice."""

import time

from app.importing import table
from tests.support.cases import cases


@cases(
    "content, options, sentence",
    [
        ("title,id\nx,1\n".encode("utf-16-le"), [], "is not UTF-8; select another encoding"),
        ("title\nx\n", ["--encoding", "klingon"], "Unknown encoding: klingon."),
        ("title\nx\n", ["--encoding", "zlib_codec"], "Unknown encoding: zlib_codec."),
        (b"PK\x03\x04\x14\x00", [], "is an Excel or ZIP file; save it as CSV"),
        ("\n , \n", [], "has no header"),
    ],
)
def test_files_that_are_refused_whole(run, tickets, content, options, sentence):
    assert sentence in run(content, options=options, code=1)
    assert tickets() == {}


def test_json_that_is_cut_off_is_said_in_words(run, tickets):
    said = run('[{"number": 1, "title": "x"},\n{"number": 2,', code=1)
    assert "Nothing was imported: line 2: it is not valid JSON" in said
    assert tickets() == {}


def test_lines_before_the_header_that_are_blank_are_skipped(run, tickets):
    report = run("\n;\n\ntitle;id\nLate;1\n;\n")
    assert (report["notes"], set(tickets())) == ([], {"Late"})
    assert [row["where"] for row in report["rows"]] == ["line 5"]


def test_a_nul_is_left_out(run, tickets):
    assert run("title,id,reporter,labels\nA\0b,1\0,z\0ed,u\0i\n")["notes"] == []
    assert tickets()["Ab"]["body"] == "Imported from 1, created by zed"
    assert [label["name"] for label in tickets()["Ab"]["labels"]] == ["ui"]


def test_values_that_are_left_out_are_named(run, tickets):
    report = run("title,title,id,description,description,parent\nOne,Two,a,x,y,a\n")
    assert [(note["issue"], note["reason"], note["detail"]) for note in report["notes"]] == [
        ("a", "second value of title; the first one was used", "Two"),
        ("a", "is its own ancestor; parent removed", ""),
    ]
    assert tickets()["One"]["body"].startswith("x\n\ny\n\n---")


def test_a_label_that_is_too_long_is_named(run, tickets):
    long = "x" * 201
    report = run(
        f"title,id,labels,type\nOne,1,{long},task\nTwo,2,y,{long}\nThree,3,{'z' * 200},task\n"
    )
    assert [(note["issue"], note["reason"], note["detail"]) for note in report["notes"]] == [
        ("1", "label too long; truncated", long[:200]),
        ("2", "label too long; truncated", long[:200]),
    ]
    labels = {title: [one["name"] for one in row["labels"]] for title, row in tickets().items()}
    assert labels == {"One": ["x" * 200], "Two": ["x" * 200, "y"], "Three": ["z" * 200]}


@cases(
    "first, delimiter",
    [
        ("sep=;\r\n", ";"),
        ('"sep=;"\n', ";"),
        ("\ufeffSEP=,\n", ","),
        ("sep=\t\r\n", "\t"),
        # Not one of those that the header is searched for.
        ("\nsep=:\n", ":"),
        # Padded by a spreadsheet.
        ("sep=;;;\n", ";"),
        ('"sep=,",,\n', ","),
    ],
)
def test_a_first_line_that_names_the_delimiter_is_not_the_header(run, tickets, first, delimiter):
    rows = [("title", "id", "labels"), ("One", "1", "a, b; c | d")]
    lines = [delimiter.join(f'"{cell}"' for cell in row) for row in rows]
    report = run(first + "\r\n".join(lines) + "\r\n")
    assert (report["notes"], set(tickets())) == ([], {"One"})
    assert [row["where"] for row in report["rows"]] == [f"line {first.count(chr(10)) + 2}"]


def test_jiras_file_is_recognized_after_a_line_that_names_the_delimiter(run, tickets):
    run("sep=;\r\nIssue key;Summary;Status Category\r\nA-1;One;Done\r\n")
    assert tickets()["One"]["state"]["category"] == "done"


@cases("first", ["", "sep=;\r"])
def test_lines_may_end_with_carriage_returns(run, tickets, first):
    report = run(f"{first}Issue key;Status Category;Summary\rA-1;Done;One, two, three, four\r")
    assert (report["notes"], set(tickets())) == ([], {"One, two, three, four"})
    assert tickets()["One, two, three, four"]["state"]["category"] == "done"


def test_a_long_line_like_it_takes_no_longer():
    started = time.process_time()
    assert table.named_delimiter("sep=\t" + "\t" * 50_000 + "x") is None
    assert time.process_time() - started < 1


def test_a_column_may_be_named_like_such_a_line(run, tickets):
    report = run("title;id;sep=\nOne;1;x\n")
    assert (report["notes"], set(tickets())) == ([], {"One"})
