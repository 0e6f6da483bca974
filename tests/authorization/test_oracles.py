"""Nothing is revealed by side effects: names in bodies, filters, cursors, keys, feeds.

If a fenced bot names something hidden, it must get the same response as for something made up, so
each of these tests asks twice and compares.
"""

from itertools import product

from app.core import ids
from tests.support.agent import Agent
from tests.support.cast import Caller
from tests.support.story import ok, refused, walk

FENCED = ("fenced", "peeper")


def shown(response, named):
    """The response without the name that was sent."""
    return response.status_code, response.get_data(as_text=True).replace(named, "named")


# The request, the field of its body, and the kind of thing in the world that the field names.
IN_BODIES = [
    ("PATCH", "/tickets/FENCED-1", "parent_ticket_id", "ticket"),
    ("PATCH", "/tickets/FENCED-1", "label_ids", "label"),
    ("POST", "/tickets/FENCED-1/transition", "state_id", "state"),
    ("POST", "/tickets/FENCED-1/relations", "target_ticket_id", "ticket"),
    ("POST", "/projects/{project}/tickets", "parent_ticket_id", "ticket"),
    ("POST", "/projects/{project}/tickets", "label_ids", "label"),
    ("POST", "/projects/{project}/tickets", "state_id", "state"),
]
MORE = {"target_ticket_id": {"type": "blocks"}, "/projects/": {"title": "New"}}


def test_what_a_body_names_and_cannot_be_seen_is_missing(world):
    bot = world.callers["fenced"]
    for place, (method, path, field, thing) in product(("other", "xdeleted", "xdead"), IN_BODIES):
        if thing not in world.places[place]:
            continue
        answers = []
        for value in (world.places[place][thing], ids.new_id()):
            body = {field: [value] if field.endswith("s") else value} | MORE.get(field, {})
            body |= MORE["/projects/"] if path.endswith("tickets") else {}
            address = path.format(**world.places["own"])
            answers.append(shown(bot.call(method, address, json=body), value))
        assert answers[0] == answers[1], (path, field)
        assert answers[0][0] == 422


def test_a_display_id_in_a_body_is_no_oracle(world):
    bot = world.callers["fenced"]
    answers = [
        shown(
            bot.post(
                "/tickets/FENCED-1/relations", {"type": "blocks", "target_ticket_id": reference}
            ),
            reference,
        )
        for reference in ("OPEN-1", "OPEN-999", "XDEAD-1")
    ]
    assert len(set(answers)) == 1


FILTERS = [
    ("/tickets?project_id={}", "project"),
    ("/tickets?state_id={}", "state"),
    ("/tickets?label_id={}", "label"),
    ("/tickets?parent_ticket_id={}", "ticket"),
    ("/wiki/pages?project_id={}", "project"),
    ("/wiki/pages/hub?project_id={}", "project"),
    ("/search?q=zq&project_id={}", "project"),
]


def test_a_filter_by_what_cannot_be_seen_is_a_filter_by_nothing(world):
    for who, (path, thing) in product(FENCED, FILTERS):
        named = (world.places["other"][thing], world.places["xdead"][thing], ids.new_id())
        answers = [shown(world.callers[who].get(path.format(one)), one) for one in named]
        assert answers[0] == answers[1] == answers[2], (who, path)


LISTS = [
    "/tickets",
    "/projects",
    "/wiki/pages",
    "/wiki/broken-links",
    "/wiki/pages/hub/backlinks",
    "/search?q=zq",
    "/tickets/FENCED-1/relations",
    "/projects/{project}/activity",
]


def test_a_cursor_of_ones_betters_widens_nothing(world):
    """Cursors are portable: with any cursor of ada's, a fenced bot gets only its own rows."""
    hub = world.places["global"]["page"]
    for template in LISTS:
        path = template.format(**world.places["own"]).replace("/hub/", f"/{hub}/")
        joint = "&" if "?" in path else "?"
        bot = world.callers["fenced"]
        own = {str(row) for row in walk(bot, path, 200)}
        operation = "projects.activity.list" if path.endswith("activity") else path
        cursors = list(_cursors(world.callers["ada"], f"{path}{joint}limit=1"))[:8]
        assert cursors or template.endswith("relations"), path
        for cursor in cursors:
            found = bot.get(f"{path}{joint}limit=200&cursor={cursor}")
            world.look_for_leaks("fenced", operation, found, path + cursor)
            assert {str(row) for row in ok(found)["data"]} <= own
    assert world.leaks == []


def _cursors(caller, path):
    cursor = ""
    while cursor is not None:
        cursor = ok(caller.get(f"{path}&cursor={cursor}" if cursor else path))["page"][
            "next_cursor"
        ]
        if cursor:
            yield cursor


def test_page_by_page_a_bot_meets_no_gap_where_hidden_rows_are(world):
    """Only the last page may have fewer rows than requested: others would reveal hidden rows."""
    for path in ("/tickets", "/wiki/pages", "/projects", "/search?q=zq"):
        whole = walk(world.callers["fenced"], path, 200)
        assert walk(world.callers["fenced"], path, 1) == whole


def test_a_tag_of_something_hidden_is_no_oracle(world):
    """Conditional requests for hidden things are answered like those for missing ones."""
    for thing, path in (("ticket", "/tickets/{}"), ("page", "/wiki/pages/{}")):
        hidden = world.places["other"][thing]
        tag = world.callers["ada"].get(path.format(hidden)).headers["ETag"]
        for header in ({"If-None-Match": tag}, {"If-None-Match": "*"}):
            for who in FENCED:
                answers = [
                    world.callers[who].get(path.format(one), headers=header)
                    for one in (hidden, ids.new_id())
                ]
                assert [one.status_code for one in answers] == [404, 404]
                assert "ETag" not in answers[0].headers
        for condition in (tag, '"another"'):
            answer = world.callers["fenced"].patch(
                path.format(hidden), {"title": "New"}, headers={"If-Match": condition}
            )
            refused(answer, 403, "auth.forbidden", reason="project_not_in_allowlist")


def test_the_end_of_a_relation_that_cannot_be_seen_is_nowhere(world):
    """Not in the list, the ticket over MCP, the feed, nor in a response to its removal."""
    relation = world.places["other"]["relation"]
    agent = Agent(world.callers["fenced"])
    for response in (
        world.callers["fenced"].get("/tickets/FENCED-1/relations?limit=200"),
        world.callers["fenced"].get("/tickets/FENCED-1/activity?limit=200"),
        agent.send("tools/call", {"name": "get_ticket", "arguments": {"ticket": "FENCED-1"}}),
        agent.send("resources/read", {"uri": "ticket://FENCED-1"}),
    ):
        assert response.status_code == 200
        world.look_for_leaks("fenced", "relations", response, "")
    answers = [
        shown(world.callers["fenced"].delete(f"/tickets/FENCED-1/relations/{one}"), one)
        for one in (relation, ids.new_id())
    ]
    assert answers[0] == answers[1]
    assert world.leaks == []


def test_a_personal_note_is_in_no_list_search_feed_or_page_of_another(world):
    bo: Caller = world.callers["bo"]
    for path in ("/sticky-notes", "/search?q=zq", "/audit?limit=200", "/audit/tools?limit=200"):
        world.look_for_leaks("bo", path, bo.get(path), "")
    for page in ("/", "/sticky-notes", "/search?q=zqpersonal", "/palette?q=zqpersonal", "/audit"):
        response = bo.client.get(page, headers={"Accept": "text/html", "HX-Request": "true"})
        assert response.status_code == 200, page
        world.look_for_leaks("bo", page, response, page)
    assert world.leaks == []
