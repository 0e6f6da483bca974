"""The _meta that clients send: the trace of a call, and the tokens and cost of its model."""

import pytest
from sqlalchemy import select

from app.audit.models import BotUsage
from app.database.session import reading, session
from tests.support.cases import cases
from tests.support.story import make_ticket, ok

TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
USED = {"input_tokens": 1200, "output_tokens": 85, "cost_usd": 0.0061}


@pytest.fixture(name="call")
def _call(smith):
    """A function that calls a tool with this ``_meta`` and returns the result."""

    def run(meta, tool="get_self", who=smith, **arguments):
        params = {"name": tool, "arguments": arguments, "_meta": meta}
        return who.result("tools/call", params)

    return run


@pytest.fixture(name="log")
def _log(ada):
    """A function that returns the newest row of the tool log."""
    return lambda: ok(ada.get("/audit/tools?limit=1"))["data"][0]


@pytest.fixture(name="sums")
def _sums(app):
    """A function that returns the sums by ticket; those of the bot itself are under None."""

    def run():
        columns = (BotUsage.calls, BotUsage.input_tokens, BotUsage.output_tokens)
        with app.app_context(), reading():
            rows = session.execute(select(BotUsage.ticket_id, *columns, BotUsage.cost_micros))
            return {row[0]: tuple(row[1:]) for row in rows}

    return run


@pytest.fixture(name="ticket")
def _ticket(ada, cast):
    return make_ticket(ada, cast.open_project, "Mend the gate")


def test_both_are_kept_with_the_call(call, log):
    call({"traceparent": TRACE, "usage": USED})
    assert (log()["traceparent"], log()["usage"]) == (TRACE, USED)
    call({})
    assert (log()["traceparent"], log()["usage"]) == (None, None)


def test_usage_is_added_up_for_the_bot_and_each_ticket(call, sums, ticket, ada, cast):
    other = make_ticket(ada, cast.open_project, "Paint the fence")
    call({"usage": USED})
    call({"usage": USED}, "get_ticket", ticket="open-1")
    call({"usage": {"input_tokens": 5}}, "add_comment", ticket="1", project="OPEN", body="Hi")
    call({"usage": {"output_tokens": 7}}, "list_comments", ticket="ticket://OPEN-1")
    call({"usage": {"cost_usd": 2}}, "update_ticket", ticket="OPEN-2", priority="high")
    call({"usage": None}, "get_ticket", ticket="OPEN-2")
    assert sums() == {
        None: (5, 2405, 177, 2_012_200),
        ticket["id"]: (3, 1205, 92, 6100),
        other["id"]: (1, 0, 0, 2_000_000),
    }


def test_what_is_created_or_claimed_is_what_the_call_was_about(call, sums):
    call({"usage": USED}, "create_ticket", project="OPEN", title="New")
    call({"usage": USED}, "update_ticket", ticket="next")
    sent = call({"usage": USED}, "add_comment", ticket="OPEN-1", body="Hi")["structuredContent"]
    call({"usage": USED}, "update_comment", comment=sent["id"], body="Ho")
    assert sorted(calls for calls, *_ in sums().values()) == [4, 4]


def test_a_failed_call_counts_for_the_bot_alone(call, sums, ticket, fenced):
    assert call({"usage": USED}, "get_ticket", fenced, ticket="OPEN-1")["isError"]
    assert call({"usage": USED}, "add_comment", ticket="OPEN-1")["isError"]
    assert set(sums()) == {None}


@pytest.mark.one_database
@cases(
    "usage",
    [
        "much",
        [1],
        {},
        {"input_tokens": -1},
        {"input_tokens": 1.5},
        {"input_tokens": True},
        {"input_tokens": "12"},
        {"input_tokens": None},
        {"output_tokens": 1_000_000_001},
        {"cost_usd": 10_000.01},
        {"cost_usd": -0.5, "input_tokens": 3},
        {"cost_usd": 1e300},
        {"input_tokens": 0, "output_tokens": 0},
        {"total": 7},
    ],
)
def test_usage_that_is_not_valid_is_ignored(call, log, sums, usage):
    assert not call({"usage": usage})["isError"]
    assert log()["usage"] is None
    assert sums() == {}


@pytest.mark.one_database
@cases(
    "trace",
    [
        7,
        "",
        TRACE.upper(),
        TRACE[:-1],
        f"{TRACE}-00",
        f"ff{TRACE[2:]}",
        f"00-{'0' * 32}-00f067aa0ba902b7-01",
        f"{TRACE}\n",
    ],
)
def test_a_trace_that_is_not_valid_is_ignored(call, log, trace):
    assert not call({"traceparent": trace})["isError"]
    assert log()["traceparent"] is None


@cases("meta", [None, 7, "x", [1], {"progressToken": 1, "com.example/x": {}}])
def test_no_meta_fails_a_call(call, meta):
    assert not call(meta)["isError"]


def test_the_stateless_era_sends_it_beside_its_envelope(smith, log):
    smith.modern = True
    sent = {"traceparent": TRACE, "usage": USED}
    smith.result("tools/call", {"name": "get_self", "arguments": {}, "_meta": sent})
    assert log()["traceparent"] == TRACE


def test_the_largest_numbers_are_added_up(call, sums):
    most = {"input_tokens": 10**9, "output_tokens": 10**9, "cost_usd": 10_000}
    for _ in range(3):
        call({"usage": most})
    assert sums()[None] == (3, 3 * 10**9, 3 * 10**9, 30_000 * 10**6)


def test_the_pages_show_it(call, ticket, ada):
    client = ada.client
    call({"usage": USED, "traceparent": TRACE}, "add_comment", ticket="OPEN-1", body="Hi")
    call({"usage": {"input_tokens": 1}}, "get_ticket", ticket="OPEN-1")
    said = "1,201 tokens in, 85 out, less than $0.01 in 2 calls"
    assert said in client.get("/tickets/OPEN-1/bots").get_data(as_text=True)
    assert said in client.get("/bots/smith").get_data(as_text=True)
    assert f"Trace <code>{TRACE}</code>" in client.get("/bots/smith/review").get_data(as_text=True)
    text = client.get("/audit/tools?span=all").get_data(as_text=True)
    assert TRACE in text
    assert "1,200 tokens in, 85 out, $0.0061" in " ".join(text.split())
    call({"usage": {"cost_usd": 1234.5}}, "get_ticket", ticket="OPEN-1")
    assert "$1,234.51" in client.get("/bots/smith").get_data(as_text=True)
