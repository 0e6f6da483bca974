"""The first page of a project, and its activity."""

import re

from app.activity.pages import project as pages
from tests.support.story import make_ticket, ok
from tests.web.test_home import text_of

HERE = "/projects/OPEN"


def test_a_project_at_a_glance(ada, cast, ticket, states):
    assert "Open project" in text_of(ada.get(HERE))
    make_ticket(cast.smith, cast.open_project, "Under way", state_id=states["In progress"])
    ok(cast.ada.patch(f"/projects/{cast.open_project}", {"description": "Ours: **all** <b>"}))
    page = ada.get(HERE)
    text = text_of(page)
    assert "2 Backlog 1 Active 0 Done" in text
    assert "<strong>all</strong>" in page.text
    assert "&lt;b&gt;" in page.text
    assert "owned by Ada" in text
    assert f'href="{HERE}/tickets?state_category=active"' in page.text
    # Smith and scout reach every project; fenced does not reach this one.
    bots = text.split("Bots with access")[1]
    assert ("Smith" in bots, "Scout" in bots, "Fenced" in bots) == (True, True, False)
    assert "Fenced" in text_of(ada.get("/projects/FENCED"))
    assert "No activity yet" in text_of(ada.get("/projects/FENCED"))
    happened = text.split("Recent activity")[1]
    assert "Smith bot created OPEN-3 , Under way" in happened
    assert ada.get("/projects/NONE").status_code == 404


def test_activity_is_told_page_by_page(ada, cast, ticket, monkeypatch):
    assert "No activity yet" in ada.get("/projects/FENCED/activity").text
    ok(cast.ada.patch(f"/projects/{cast.open_project}", {"name": "Renamed"}))
    monkeypatch.setattr(pages, "ROWS", 3)
    seen = []
    address = f"{HERE}/activity"
    while address:
        page = ada.get(address)
        seen += re.findall(r'href="/audit/events/([^"]+)"', page.text)
        # Events that only the audit log shows are left out.
        assert "changed a project" not in page.text
        older = re.search(r'href="([^"]+)">Older', page.text)
        address = older and older[1].replace("&amp;", "&")
    told = ok(cast.ada.get(f"/projects/{cast.open_project}/activity"))["data"]
    assert seen == [event["id"] for event in told]
    assert len(seen) > 3
    assert ada.get(f"{HERE}/activity?cursor=x").location == f"{HERE}/activity"
    assert ada.get("/projects/NONE/activity").status_code == 404


def test_a_glance_costs_the_same_however_much_there_is(ada, cast, ticket):
    def cost():
        with ada.statements() as seen:
            ada.get(HERE)
        return len(seen)

    before = cost()
    for number in range(5):
        made = make_ticket(cast.bo, cast.open_project, f"More {number}")
        cast.smith.post(f"/tickets/{made['id']}/comments", {"body": "x"})
    assert cost() <= before + 1
