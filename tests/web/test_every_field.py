"""A field of tickets is in every place that has the others, where a new one is easily forgotten.

A test that fails names the field and its place. Fields that do not belong in a place are exceptions
in its test.
"""

import re

import pytest

from app.exporting.layout import snapshot
from app.exporting.markdown import ExportScope, files
from app.mcp.parameters import CLEAR_FIELDS
from app.tickets import messages
from app.tickets.fields import BY_PAGE_NAME, FIELDS, UPDATED
from app.tickets.filters import FILTERS
from app.tickets.pages import listing
from app.tickets.pages.fields import value_of
from app.tickets.schemas import AllTicketFilters, TicketCreate, TicketPatch
from app.tools.ticket_fields import field_lines, fields
from app.tools.tickets import toolbox
from tests.support.cases import cases
from tests.support.story import ok

pytestmark = pytest.mark.one_database

# Fields that agents read outside the list of fields.
APART = {"title", "body"}
SHORT = {messages.DUE_DATE: messages.DUE}
TOOLS = {tool.name: tool for tool in toolbox.tools}
ON_PAGE = {field.name for field in UPDATED if field.page_name}


@pytest.fixture
def full(cast, ticket):
    """The ticket with a value of every field."""
    epic = {"title": "An epic", "type": "epic"}
    parent = ok(cast.ada.post(f"/projects/{cast.open_project}/tickets", epic), 201)
    values = {
        "body": "Words",
        "assignee_user_id": cast.smith.user_id,
        "parent_ticket_id": parent["id"],
        "due_date": "2031-05-05",
    }
    made = ok(cast.ada.patch(f"/tickets/{ticket['id']}", values))
    empty = [name for name in BY_PAGE_NAME if not value_of(made, name)]
    assert empty == [], "give the ticket of this test (full) a value of each"
    return made


@cases("name", BY_PAGE_NAME)
def test_every_editor_has_an_input_and_a_button_that_sends_it(ada, full, name):
    page = ada.get(f"/tickets/{full['display_id']}/fields/{name}").text
    form = page.partition(f'id="ticket-field-{name}"')[2].partition("</form>")[0]
    inputs = re.findall(r'<(input|select|textarea|button)\b[^>]*\bname="value"', form)
    assert inputs, f"give _options.html a branch for {name}, with an input whose name is value"
    saves = "button" in inputs or 'type="submit"' in form
    assert saves, f"{name} needs a Save button: has_save in _editor.html"


def test_the_page_of_a_ticket_shows_every_field(ada, full):
    page = ada.get(f"/tickets/{full['display_id']}").text
    pieces = {
        name: page.partition(f'id="ticket-field-{name}"')[2].partition("data-ticket-field")[0]
        for name in BY_PAGE_NAME
    }
    assert [name for name in pieces if not pieces[name]] == [], "put them into _side.html"
    unlinked = [name for name in pieces if f'id="edit-{name}"' not in pieces[name]]
    assert unlinked == [], "give _ticket_field.html a branch for each"
    shown = {
        name: re.search(r"data-value\b[^>]*>(.*?)</(?:a|h1)>", piece, re.DOTALL)[1]
        for name, piece in pieces.items()
        if name != "body"
    }
    words = {
        name: re.sub(r'<span class="said">.*?</span>|<[^>]*>', "", shown[name]) for name in shown
    }
    blank = [name for name in words if words[name].strip() in ("", messages.NO_VALUE)]
    assert blank == [], "_ticket_field.html does not show their values"


def test_a_new_ticket_takes_what_a_duplicate_has(ada, ticket):
    page = ada.get("/tickets/new?project=OPEN").text
    names = [field.name for field in FIELDS if field.is_copied]
    missing = [name for name in names if f'name="{name}"' not in page]
    assert missing == [], "put an input for each into new.html"


def test_the_rows_of_a_list_are_as_wide_as_its_head(ada, ticket, monkeypatch):
    monkeypatch.setattr(listing, "ROWS", 1)
    page = ada.get("/projects/OPEN/tickets?group=priority").text
    head = page.partition("<thead>")[2].partition("</thead>")[0].count("<th ")
    row = page.partition('<tr class="ticket-row')[2].partition("</tr>")[0].count("<td ")
    wide = [int(number) for number in re.findall(r'colspan="(\d+)"', page)]
    assert (row, wide) == (head, [head, head]), (
        "a column needs a name in COLUMNS (web/choices.py), a head in list.html and a cell in "
        "_list_row.html"
    )


def test_rest_takes_every_field():
    names = {field.name for field in UPDATED}
    missing = names - TicketPatch().fields.keys()
    assert missing ^ {"rank"} == set(), "put them into TicketPatch"
    missing = names - TicketCreate().fields.keys()
    assert missing ^ {"rank", "reporter_user_id"} == set(), "put them into TicketCreate"


def test_rest_has_every_filter():
    only_pages = {"due", "untouched", "blocked", "quiet"}
    missing = FILTERS.keys() - AllTicketFilters().fields.keys()
    apart = only_pages | {"updated_since", "among"}
    assert missing ^ apart == set(), "put them into TicketFilters"


@cases(
    "name, schema, apart",
    [
        ("list_tickets", AllTicketFilters, {"include_deleted"}),
        ("create_ticket", TicketCreate, set()),
        ("update_ticket", TicketPatch, {"reporter_user_id", "rank_before", "rank_after"}),
    ],
)
def test_tools_take_what_rest_takes(name, schema, apart):
    taken = {one.name for one in TOOLS[name].parameters}
    taken |= {one.alias for one in TOOLS[name].parameters}
    missing = schema().fields.keys() - taken
    assert missing ^ apart == set(), f"put them into the parameters of {name} in tools/tickets.py"


def test_tools_pass_every_field_on():
    sent = dict.fromkeys(BY_PAGE_NAME.keys() - {"state"})
    missing = ON_PAGE - fields(None, "", sent, None).keys()
    assert missing ^ {"reporter_user_id"} == set(), "put them into fields of tools/ticket_fields.py"


def test_tools_clear_what_can_be_empty():
    (clear,) = (one for one in TOOLS["update_ticket"].parameters if one.name == CLEAR_FIELDS)
    kinds = TicketPatch().fields
    nullable = {field.page_name for field in UPDATED if field.name in ON_PAGE
                and kinds[field.name].allow_none}  # fmt: skip
    wrong = set(clear.choices) ^ (nullable | {"labels"})
    assert wrong == set(), (
        "put what can be null into clear_fields in tools/tickets.py, and no other"
    )


def test_agents_read_every_field(full):
    lines = field_lines(full)
    labels = {field.label for name, field in BY_PAGE_NAME.items() if name not in APART}
    missing = {label for label in labels if f"- {SHORT.get(label, label)}: " not in lines}
    assert missing == set(), (
        "give the ticket of this test a value, or add it to field_lines in tools/ticket_fields.py"
    )


def test_exports_of_lists_have_every_field():
    missing = BY_PAGE_NAME.keys() - set(listing.FIELDS)
    wrong = missing ^ {"body", "reporter"}
    assert wrong == set(), "put them into FIELDS in tickets/pages/listing.py"


def test_exports_in_markdown_have_every_field(app, full):
    with app.app_context():
        exported = dict(files(snapshot, ExportScope()))
    text = exported[f"tickets/OPEN/{full['display_id']}.md"].decode()
    written = set(re.findall(r"^(\w+): ", text.split("---\n")[1], re.MULTILINE))
    missing = BY_PAGE_NAME.keys() - written
    assert missing ^ {"body"} == set(), "put them into _tickets in exporting/markdown.py"
