"""Days and times in CSV files, in the forms that trackers and spreadsheets write."""

from tests.support.cases import cases


@cases("format", ["%Q", "%", "%Y %Y", "%d \u00e9%"])
def test_a_format_that_no_time_can_have_is_refused(run, tickets, format):
    said = run("title,created\nA,1\n", options=["--date-format", format], code=2)
    assert "is not a format of times such as '%m/%d/%Y %H:%M'." in said
    assert tickets() == {}


def test_days_and_times_are_known_in_many_forms(run, tickets):
    days = (
        *("20.11.2024", "20 Nov. 2024", "2024/11/20", "2024.11.20", "20241120", "20/Nov/24"),
        *("20-Nov-2024", "20 Nov 2024", "20 november 2024", "Nov 20, 2024", "November 20 2024"),
        *("Wed, 20 Nov 2024", "Wednesday, November 20, 2024", "Wed Nov 20 2024", "2024-W47-3"),
    )
    times = (
        *("2024-11-20 22:05 UTC", "2024-11-20 10:05 PM", "Wed Nov 20 22:05:00 2024"),
        *("Wed, 20 Nov 2024 22:05:00 GMT", "20/Nov/24 10:05 PM", "20-Nov-24 22:05:00"),
        *("November 20, 2024 at 10:05 PM", "Wed Nov 20 2024 23:05:00 GMT+0100 (CET)"),
        *("Nov 20, 2024, 10:05pm", "20.11.2024 22:05"),
        *("2024-11-20T22:05:00.000Z", "2024/11/20 22:05:00.000", "2024-11-21 00:05 +0200"),
    )
    rows = [f'"{day}","{day}",' for day in days] + [f'"{time}",,"{time}"' for time in times]
    assert run("\n".join(["title,due,created", *rows]))["notes"] == []
    found = tickets()
    assert {found[day]["due_date"] for day in days} == {"2024-11-20"}
    assert {found[time]["created_at"] for time in times} == {"2024-11-20T22:05:00.000Z"}


@cases(
    "value",
    [
        *("6/7/2025", "20-11-2025", "1763632800", "12:30", "2025-02-30", "May", "soon 2025"),
        *("24.01.15", "24.01.15 10:00", "24 Jan 15", "3 Marathon 2020", "1 Decline 2020"),
    ],
)
def test_what_could_be_another_day_stays_text(run, tickets, value):
    assert [note["detail"] for note in run(f"title,created\n{value},{value}\n")["notes"]] == [value]
    assert f"created {value}" in tickets()[value]["body"]
