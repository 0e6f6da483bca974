"""A field of tickets is in every place that has the others, where a new one is easily forgotten."""

import re

import pytest

from app.mcp.parameters import CLEAR_FIELDS
from app.tickets import messages
from app.tickets.fields import BY_PAGE_NAME, FIELDS, UPDATED
from app.tickets.pages import listing
from app.tickets.schemas import TicketPatch
from app.tools.ticket_fields import field_lines
from app.tools.tickets import toolbox
from tests.support.cases import cases

pytestmark = pytest.mark.one_database

# Fields that agents read outside the list of fields.
APART = {"title", "body"}
SHORT = {messages.DUE_DATE: messages.DUE}


@cases("name", BY_PAGE_NAME)
def test_every_editor_has_a_button_that_sends_it(ada, ticket, name):
    page = ada.get(f"/tickets/{ticket['display_id']}/fields/{name}").text
    form = page.partition(f'id="ticket-field-{name}"')[2].partition("</form>")[0]
    assert re.search(r'<button[^>]*(type="submit"|name="value")', form)


def test_a_new_ticket_takes_what_a_duplicate_has(ada, ticket):
    page = ada.get("/tickets/new?project=OPEN").text
    names = [field.name for field in FIELDS if field.is_copied]
    assert [name for name in names if f'name="{name}"' not in page] == []


def test_tools_clear_what_can_be_empty():
    (tool,) = (one for one in toolbox.tools if one.name == "update_ticket")
    (clear,) = (one for one in tool.parameters if one.name == CLEAR_FIELDS)
    kinds = TicketPatch().fields
    fields = [field for field in UPDATED if field.page_name]
    nullable = {field.page_name for field in fields if kinds[field.name].allow_none}
    assert set(clear.choices) == nullable | {"labels"}


def test_agents_read_every_field(cast, ticket):
    project = f"/projects/{cast.open_project}"
    epic = cast.ada.post(f"{project}/tickets", {"title": "An epic", "type": "epic"}).json
    full = {"parent_ticket_id": epic["id"], "due_date": "2031-05-05"}
    lines = field_lines(cast.ada.patch(f"/tickets/{ticket['id']}", full).json)
    labels = {field.label for name, field in BY_PAGE_NAME.items() if name not in APART}
    assert {label for label in labels if f"- {SHORT.get(label, label)}: " not in lines} == set()


def test_exports_of_lists_have_every_field():
    assert BY_PAGE_NAME.keys() - set(listing.FIELDS) == {"body", "reporter"}
