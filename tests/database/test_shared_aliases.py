"""Aliases that several threads first use at the same moment, as after a start."""

import ast
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from sqlalchemy import select

from app.database.columns import shared_alias
from app.projects.models import WorkflowState
from app.tickets.models import Ticket, TicketRelation
from tests.support.serving import ROOT

THREADS = 4
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@pytest.fixture
def rapid_thread_switching():
    """Make threads switch after each step."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


@pytest.mark.one_database
def test_threads_that_ask_at_once_get_the_same_columns(rapid_thread_switching):
    at_once = Barrier(THREADS)

    def ask(alias):
        at_once.wait()
        return [getattr(alias, name).expression for name in ("id", "title", "state_id")]

    with ThreadPoolExecutor(THREADS) as threads:
        for _ in range(20):
            other = shared_alias(Ticket, "other")
            list(threads.map(ask, [other] * THREADS))
            is_source = other.id == TicketRelation.source_ticket_id
            # Raises if the columns of the condition do not belong to the alias.
            str(select(TicketRelation.id, other.title, WorkflowState.name).join(other, is_source))


@pytest.mark.one_database
def test_module_level_aliases_use_shared_alias():
    def calls_aliased(path):
        statements = ast.parse(path.read_text()).body
        at_import = [one for one in statements if not isinstance(one, FUNCTIONS)]
        calls = [node for one in at_import for node in ast.walk(one) if isinstance(node, ast.Call)]
        return any(getattr(call.func, "id", "") == "aliased" for call in calls)

    assert [str(path) for path in ROOT.glob("app/**/*.py") if calls_aliased(path)] == []
