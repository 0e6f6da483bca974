"""Templates of tickets: their settings page, new tickets, quick add, agents, and undo."""

import re

import pytest

from tests.support.agent import Agent
from tests.support.story import events, ok
from tests.web.sent_form import SentForm

SETTINGS = "/projects/OPEN/settings/templates"
BUG = {
    "name": "Bug report",
    "title": "It breaks",
    "body": "## Steps",
    "type": "story",
    "priority": "high",
}


@pytest.fixture
def smith(cast):
    return Agent(cast.smith)


@pytest.fixture
def add(ada, smith):
    """A function that adds a template through its page and returns its id."""

    def added(**fields):
        answer = ada.post(SETTINGS, **{**BUG, **fields})
        assert answer.location == SETTINGS, answer.text
        found = smith.call("get_project", project="OPEN")["templates"]
        name = fields.get("name", BUG["name"])
        return next(one["id"] for one in found if one["name"] == name)

    return added


def changes(app):
    """The changes of templates in the events of the project, newest last."""
    found = events(app, event_type="project.updated")
    return [one.payload["changes"]["templates"] for one in found]


def undo(ada, app, **fields):
    event = events(app, event_type="project.updated")[-1]
    return ada.post(f"/audit/events/{event.id}/undo", back=SETTINGS, **fields)


def test_a_template_is_added_changed_and_deleted_and_each_is_recorded(app, ada, add, label):
    assert "No templates yet" in ada.get(SETTINGS).text
    bug = label("bug")
    made = add(label_ids=bug)
    assert "Bug report" in ada.get(SETTINGS).text
    assert '<code class="small">/bug-report</code>' in ada.get(SETTINGS).text
    page = ada.get(f"{SETTINGS}/{made}").text
    assert 'value="It breaks"' in page
    assert re.search(rf'value="{bug}" checked', page)
    changed = ada.post(f"{SETTINGS}/{made}", **{**BUG, "priority": "urgent"})
    assert changed.location == SETTINGS
    gone = ada.post(f"{SETTINGS}/{made}/delete", htmx=True)
    assert "Template deleted" in gone.text
    assert "No templates yet" in gone.text
    created, updated, deleted = changes(app)
    assert created["from"] is None
    assert created["to"] == {**BUG, "id": made, "label_ids": [bug], "labels": ["bug"]}
    assert (updated["from"], updated["to"]["priority"]) == (created["to"], "urgent")
    assert updated["to"]["label_ids"] == []
    assert (deleted["from"], deleted["to"]) == (updated["to"], None)


def test_saving_without_a_change_records_nothing(app, ada, add):
    made = add()
    assert ada.post(f"{SETTINGS}/{made}", **BUG).location == SETTINGS
    assert len(changes(app)) == 1


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": "  "}, "must not be blank"),
        ({"name": "x" * 81}, "at most 80"),
        # For quick add both are the same name.
        ({"name": "BUG-report"}, "A template named BUG-report already exists."),
        ({"name": "Other", "title": "x" * 201}, "at most 200"),
        ({"name": "Other", "type": "task"}, "must be one of"),
        ({"name": "Other", "label_ids": "0198c0de-0000-7000-8000-000000000000"}, "labels of this"),
    ],
)
def test_what_does_not_fit_is_said_and_kept(ada, add, fields, message):
    add()
    answer = ada.post(SETTINGS, **{**BUG, **fields})
    assert answer.status_code == 422
    assert message in answer.text
    assert "## Steps" in answer.text


def test_a_deleted_label_of_a_template_is_no_edit(app, cast, ada, add, label):
    bug, docs = label("bug"), label("docs")
    address = f"{SETTINGS}/{add(label_ids=[bug, docs])}"
    early = SentForm(ada.get(address).text).sent
    ok(cast.ada.delete(f"/projects/{cast.open_project}/labels/{bug}"), 204)
    sent = SentForm(ada.get(address).text).sent
    assert ada.post(address, **sent).status_code == 303
    assert len(changes(app)) == 1
    for form, edit in ((sent, {"title": "Late"}), (early, {"body": "Early"})):
        assert ada.post(address, **{**form, **edit}).status_code == 303
        change = changes(app)[-1]
        assert change["to"] == {**change["from"], **edit}
        assert change["to"]["label_ids"] == [bug, docs]
    # Without an edit, the form from before the deletion may be meant to bring its values back.
    refused = ada.post(address, **early)
    assert "This was changed to “docs” after you opened the form." in refused.text


def test_a_project_has_at_most_twenty_templates(ada, add):
    for number in range(20):
        add(name=f"No. {number}")
    assert "New template" not in ada.get(SETTINGS).text
    answer = ada.post(SETTINGS, **BUG)
    assert answer.status_code == 422
    assert "at most 20 templates" in answer.text


def test_bots_and_other_projects_cannot_touch_templates(cast, ada, add):
    made = add()
    foreign = f"/projects/FENCED/settings/templates/{made}"
    assert ada.get(foreign).status_code == 404
    assert ada.post(foreign, **BUG).status_code == 404
    assert ada.post(f"{foreign}/delete").status_code == 404


# New tickets.


def test_a_new_ticket_starts_from_a_template(ada, add, label):
    bug = label("bug")
    made = add(label_ids=bug)
    blank = ada.get("/tickets/new?project=OPEN&state_id=x").text
    link = re.search(r'href="(/tickets/new[^"]+)"[^>]*>Bug report<', blank).group(1)
    page = ada.get(link.replace("&amp;", "&")).text
    assert "state_id=x" in link
    assert 'value="It breaks"' in page
    assert ">\n## Steps</textarea>" in page
    assert '<option value="high" selected>' in page
    assert re.search(rf'value="{bug}" checked', page)
    assert f'template={made}" aria-current="true"' in page
    named = ada.get("/tickets/new?project=OPEN&template=bug-report&title=Mine").text
    assert 'value="Mine"' in named
    assert "No template" not in ada.get("/tickets/new?project=OPEN&template=other").text


def test_quick_add_takes_what_the_line_does_not_say(ada, cast, states, add, label):
    bug = label("bug")
    label("ui")
    add(label_ids=bug)
    given = {"project": "OPEN", "state_id": states["To do"]}

    def added(line):
        answer = ada.post("/tickets/quick", htmx=True, title=line, **given)
        assert answer.status_code == 201, answer.text
        reference = re.search(r'data-ref="([^"]+)"', answer.text).group(1)
        return ok(cast.ada.get(f"/tickets/{reference}"))

    plain = added("/bug-report")
    assert (plain["title"], plain["body"], plain["priority"]) == ("It breaks", "## Steps", "high")
    own = added('/"bug report" The door /sticks #ui !low due:2w')
    assert (own["title"], own["body"], own["priority"]) == ("The door /sticks", "## Steps", "low")
    assert [one["name"] for one in own["labels"]] == ["bug", "ui"]
    shown = ada.get("/tickets/quick?project=OPEN&title=/bug-report+x+due:2030-12-01", htmx=True)
    assert "Template: </span>Bug report" in shown.text
    assert "Due: </span>Sun, 1 Dec 2030" in shown.text


def test_agents_create_from_a_template_by_its_name(smith, add, label):
    bug = label("bug")
    label("ui")
    add(label_ids=bug)
    made = smith.call("create_ticket", project="OPEN", title="Mine", template="bug REPORT")
    assert (made["title"], made["body"], made["priority"]) == ("Mine", "## Steps", "high")
    assert [one["name"] for one in made["labels"]] == ["bug"]
    given = {"title": "Mine", "labels": ["ui"], "body": "Own.", "priority": "low"}
    own = smith.call("create_ticket", project="OPEN", template="Bug report", **given)
    assert (own["body"], own["priority"]) == ("Own.", "low")
    assert [one["name"] for one in own["labels"]] == ["ui"]
    refused = smith.refused("create_ticket", project="OPEN", title="Mine", template="feature")
    assert refused["details"] == {
        "field": "template",
        "reason": "not_found",
        "valid": ["Bug report"],
    }


def test_a_deleted_label_is_left_out_and_a_merged_one_replaced(cast, smith, ada, add, label):
    bug, ui, defect = label("bug"), label("ui"), label("defect")
    ada.post(SETTINGS, **BUG, label_ids=[bug, ui])
    ok(cast.ada.delete(f"/projects/{cast.open_project}/labels/{ui}"), 204)
    form = {"label_id": bug, "into_label_id": defect}
    assert ada.post("/projects/OPEN/settings/labels/merge", **form).status_code == 303
    made = smith.call("create_ticket", project="OPEN", title="Mine", template="Bug report")
    assert [one["name"] for one in made["labels"]] == ["defect"]


# Undo.


def test_each_change_is_undone(app, ada, add, label):
    made = add(label_ids=label("bug"))
    ada.post(f"{SETTINGS}/{made}", **{**BUG, "name": "Defect", "body": "Other."})
    assert undo(ada, app).status_code == 303
    page = ada.get(f"{SETTINGS}/{made}").text
    assert 'value="Bug report"' in page
    assert "## Steps" in page
    assert " checked" in page
    ada.post(f"{SETTINGS}/{made}/delete")
    undo(ada, app)
    assert "Bug report" in ada.get(SETTINGS).text
    undo(ada, app)
    assert "No templates yet" in ada.get(SETTINGS).text


def test_undo_asks_where_a_template_changed_since(app, ada, add):
    made = add()
    first = events(app, event_type="project.updated")[-1].id
    ada.post(f"{SETTINGS}/{made}", **{**BUG, "priority": "low"})
    asked = ada.post(f"/audit/events/{first}/undo", back=SETTINGS)
    assert asked.status_code == 409
    assert "Priority" in asked.text
    assert "Bug report" in ada.get(SETTINGS).text
    ada.post(f"/audit/events/{first}/undo", back=SETTINGS, force="yes")
    assert "No templates yet" in ada.get(SETTINGS).text


def test_other_changes_of_a_project_are_undone_too(app, cast, ada):
    ok(cast.ada.patch(f"/projects/{cast.open_project}", {"name": "Renamed"}))
    undo(ada, app)
    assert ok(cast.ada.get(f"/projects/{cast.open_project}"))["name"] == "Open project"
