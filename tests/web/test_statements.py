"""Pages take a fixed number of statements, however much there is to show."""

LIMIT = 8
PAGES = (
    "/",
    "/projects",
    "/projects/switch",
    "/projects/new",
    "/projects/OPEN/board",
    "/projects/OPEN/board?priority=medium&assignee_user_id=none&ticket_type=story",
    "/projects/OPEN/tickets",
    "/projects/OPEN/settings/general",
    "/projects/OPEN/settings/states",
    "/projects/OPEN/settings/labels",
    "/projects/OPEN/settings/bots",
    "/tickets/OPEN-1",
    "/tickets/OPEN-1/move",
    "/tickets/OPEN-1/delete",
    "/tickets/OPEN-1/fields/title",
    "/tickets/OPEN-1/fields/state",
    "/tickets/OPEN-1/fields/assignee",
    "/tickets/OPEN-1/fields/labels",
    "/tickets/OPEN-1/fields/parent",
    "/tickets/OPEN-1/watchers/new",
    "/tickets/new",
    "/tickets/new?project=OPEN",
    "/profile",
    "/people",
    "/bots",
    "/webhooks",
    "/webhooks/new",
    "/integrations",
    "/integrations/new",
)


def test_a_page_takes_few_statements(ada, ticket):
    for path in PAGES:
        with ada.statements() as seen:
            assert ada.get(path).status_code == 200
        reads = [one for one in seen if one.lstrip().upper().startswith(("SELECT", "WITH"))]
        assert 1 <= len(reads) <= LIMIT, "\n\n".join([path, *reads])
        # Opening a page writes nothing.
        written = [one for one in seen if one.startswith(("INSERT", "UPDATE", "DELETE"))]
        assert not written, path


def test_what_a_ticket_does_not_have_is_not_read(ada, cast, ticket):
    path = f"/projects/{cast.open_project}/tickets"
    bare = cast.ada.post(path, {"title": "Bare"}).json["display_id"]
    with ada.statements() as of_bare:
        ada.get(f"/tickets/{bare}")
    with ada.statements() as of_full:
        ada.get("/tickets/OPEN-1")
    # One statement each for children, relations and comments.
    assert len(of_bare) == len(of_full) - 3


def test_more_tickets_take_no_more_statements(ada, cast, ticket):
    with ada.statements() as before:
        ada.get("/projects/OPEN/board")
    for number in range(12):
        cast.ada.post(f"/projects/{cast.open_project}/tickets", {"title": f"No. {number}"})
    with ada.statements() as after:
        ada.get("/projects/OPEN/board")
    assert len(after) == len(before)


def test_the_pages_of_webhooks_take_few_statements(ada, cast):
    given = {"url": "https://example.org", "secret": "x" * 16, "event_types": ["*"]}
    made = [cast.ada.post("/webhooks", given).json["id"] for _ in range(5)]
    for path in ("/webhooks", f"/webhooks/{made[0]}", f"/webhooks/{made[0]}/edit"):
        with ada.statements() as seen:
            assert ada.get(path).status_code == 200
        assert len([one for one in seen if one.startswith(("SELECT", "WITH"))]) <= LIMIT
