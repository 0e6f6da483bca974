"""What pages answer to browsers and htmx, and for addresses that do not exist."""

import re

from sqlalchemy import update

from app.core.clock import DAY_MS, now_ms
from app.database.session import session
from app.tickets.models import Ticket
from tests.support.cases import cases
from tests.support.cast import in_app


def test_the_first_page_of_an_empty_installation_is_the_setup(newcomer):
    assert newcomer.get("/").location == "/login"
    assert newcomer.get("/login").location == "/setup"
    assert newcomer.get("/setup").status_code == 200


def test_the_setup_is_over_once_a_human_exists(stranger):
    assert stranger.get("/setup").location == "/login"
    answer = stranger.post("/setup", username="eve", password="a long password")
    assert answer.location == "/login"


def test_setup_logs_in(newcomer):
    answer = newcomer.post("/setup", username="ada", password="a calm sentence", display_name="")
    assert (answer.status_code, answer.location) == (303, "/start")
    cookie = answer.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie
    assert "My work" in newcomer.get("/").text


def test_login_and_logout(newcomer):
    known = {"username": "ada", "password": "a calm sentence"}
    newcomer.post("/setup", **known)
    assert newcomer.post("/logout").location == "/login"
    assert newcomer.get("/").location == "/login"
    assert newcomer.post("/login", next="/projects", **known).location == "/projects"
    assert newcomer.get("/login?next=/bots").location == "/bots"


def test_too_many_logins_say_when_to_come_back(stranger):
    for _ in range(5):
        stranger.post("/login", username="ada", password="wrong one, again")
    answer = stranger.post("/login", username="ada", password="wrong one, again")
    assert answer.status_code == 429
    assert 0 < int(answer.headers["Retry-After"]) <= 900
    assert "Wait 15 minutes" in answer.text
    assert f'data-seconds="{answer.headers["Retry-After"]}"' in answer.text


def test_htmx_gets_the_block_and_others_the_page(ada, ticket):
    whole = ada.get("/projects/OPEN/board")
    block = ada.get("/projects/OPEN/board", htmx=True)
    assert "<html" in whole.text
    assert block.text.strip().startswith('<div id="results"')
    assert '<div class="board"' in block.text
    assert "<html" not in block.text
    assert whole.headers["Vary"] == block.headers["Vary"] == "HX-Request, Accept-Encoding"


def test_going_back_gets_the_page(ada):
    answer = ada.get("/projects/OPEN/board", htmx=True, **{"HX-History-Restore-Request": "true"})
    assert "<html" in answer.text


def test_the_frame_follows_what_it_shows(ada, cast):
    """It is rendered once for a project, a tab and a person, and again when one of them changes."""

    def frame(path):
        return re.search(r"<header.*?</header>", ada.get(path).text, re.DOTALL)[0]

    before = frame("/projects/OPEN/board")
    assert frame("/projects/OPEN/tickets").count('aria-current="page">Tickets') == 1
    assert 'aria-current="page">Tickets' not in before
    cast.ada.patch(f"/projects/{cast.open_project}", {"name": "A new <name>"})
    cast.ada.patch(f"/users/{cast.ada.user_id}", {"display_name": "Zoe Zett"})
    after = frame("/projects/OPEN/board")
    assert "<span>A new &lt;name&gt;</span>" in after
    assert "A new" not in before
    assert ">ZZ</span>" in after
    assert ">ZZ</span>" not in before


def test_what_people_write_is_never_markup(ada, ticket):
    for path in ("/projects/OPEN/board", "/projects/OPEN/tickets", "/tickets/OPEN-1"):
        text = ada.get(path).text
        assert "A &lt;i&gt;ticket&lt;/i&gt;" in text
        assert "<i>ticket" not in text


def test_a_short_address_leads_to_the_ticket(ada, ticket):
    assert ada.get("/OPEN-1").location == "/tickets/OPEN-1"
    assert "Open project" in ada.get("/projects/OPEN").text


@cases(
    "path",
    [
        "/nowhere",
        "/projects/NOPE/board",
        "/projects/NOPE/settings/states",
        "/tickets/OPEN-99",
        "/tickets/OPEN-99/fields/title",
        "/tickets/OPEN-1/fields/nothing",
        "/comments/not-an-id",
    ],
)
def test_what_does_not_exist_is_said_plainly(ada, ticket, path):
    answer = ada.get(path)
    assert answer.status_code == 404
    assert "Page not found" in answer.text


def test_a_deleted_ticket_and_a_deleted_project_say_so(ada, cast, ticket):
    cast.ada.delete("/tickets/OPEN-1")
    assert ada.get("/tickets/OPEN-1").status_code == 410
    assert "OPEN-1 was deleted" in ada.get("/tickets/OPEN-1").text
    refused = ada.post("/projects/OPEN/settings/delete", confirm="WRONG")
    assert refused.status_code == 422
    assert ada.post("/projects/OPEN/settings/delete", confirm="open").location == "/projects"
    assert ada.get("/projects/OPEN/board").status_code == 410


def test_an_unknown_address_is_json_for_who_asks_for_no_page(client, app):
    answer = client.get("/nowhere")
    assert answer.status_code == 404
    assert answer.json["error"]["code"] == "resource.not_found"


@cases(
    "query, found",
    [
        ("", 2),
        ("?priority=medium&priority=high", 2),
        ("?priority=high", 0),
        ("?ticket_type=subtask", 1),
        ("?parent_ticket_id=OPEN-1", 1),
        ("?parent_ticket_id=open-1", 1),
        ("?assignee_user_id=none", 2),
        ("?assignee_user_id=me", 0),
        ("?assignee_user_id=me&assignee_user_id=none", 2),
        ("?priority=nonsense&label_id=no-uuid&whatever=1", 2),
        ("?state_category=nothing", 2),
        ("?cursor=nonsense", None),
    ],
)
def test_filters_of_the_list(ada, ticket, query, found):
    answer = ada.get(f"/projects/OPEN/tickets{query}")
    if found is None:
        assert answer.location == "/projects/OPEN/tickets"
    else:
        assert answer.text.count('class="ticket-row"') == found


def test_the_board_hides_epics_and_what_was_done_long_ago(ada, cast, ticket, app):
    states = cast.ada.get(f"/projects/{cast.open_project}/workflow-states").json["data"]
    done = states[-1]["id"]
    path = f"/projects/{cast.open_project}/tickets"
    cast.ada.post(path, {"title": "An epic", "type": "epic"})
    cast.ada.post(path, {"title": "Just done", "state_id": done})
    old = cast.ada.post(path, {"title": "Done long ago", "state_id": done}).json
    age(app, old["id"])
    text = ada.get("/projects/OPEN/board").text
    assert "An epic" not in text
    assert "Just done" in text
    assert "Done long ago" not in text
    assert "1 of 2" in text
    assert "1 older in list" in text
    assert "Done long ago" in ada.get("/projects/OPEN/board?done=all").text
    assert "An epic" in ada.get("/projects/OPEN/board?ticket_type=epic").text


def age(app, ticket_id: str) -> None:
    """Set the last change of a ticket to fifteen days ago."""
    moment = now_ms() - 15 * DAY_MS
    in_app(
        app,
        lambda: session.execute(
            update(Ticket).where(Ticket.id == ticket_id).values(updated_at=moment)
        ),
    )


def test_a_move_that_was_overtaken_is_refused_with_the_true_card(ada, cast, ticket):
    states = cast.ada.get(f"/projects/{cast.open_project}/workflow-states").json["data"]
    backlog, todo, doing = (state["id"] for state in states[:3])
    cast.smith.post("/tickets/OPEN-1/transition", {"state_id": todo})
    form = {"state_id": doing, "from_state_id": backlog}
    answer = ada.post("/tickets/OPEN-1/move", htmx=True, **form)
    assert answer.status_code == 409
    assert f'data-state="{todo}"' in answer.text
    assert "Smith has moved OPEN-1 to To do" in answer.text
    assert cast.ada.get("/tickets/OPEN-1").json["state_id"] == todo
    moved = ada.post("/tickets/OPEN-1/move", htmx=True, state_id=doing)
    assert moved.status_code == 200
    assert f'data-state="{doing}"' in moved.text


def test_preferences_are_kept_in_this_browser(ada):
    assert 'data-theme="auto"' in ada.get("/profile").text
    ada.post("/profile/preferences", theme="dark")
    text = ada.get("/profile").text
    assert 'data-theme="dark"' in text
    assert 'data-keys="off"' in text
    ada.post("/profile/preferences", theme="nonsense", keys="on")
    assert 'data-theme="auto"' in ada.get("/profile").text


def test_the_last_person_cannot_be_deactivated(ada, cast):
    ada.post(f"/people/{cast.bo.user_id}/active", is_active="false")
    answer = ada.post(f"/people/{cast.ada.user_id}/active", is_active="false")
    assert answer.status_code == 409
    assert "At least one person must stay active." in answer.text
