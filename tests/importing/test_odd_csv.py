"""``flask import-issues`` with CSV files as they go wrong in practice."""

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
