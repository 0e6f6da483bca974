"""One journey through every operation: each success in the document occurs, field for field.

The client checks each response (tests/support/openapi.py): no field is missing or undocumented, so
the builders and the schemas agree.
"""

import base64

from app.accounts import totp
from app.core.clock import now_ms
from app.database.session import run_write
from app.webhooks import outbox
from app.webhooks.attempts import DeliveryOutcome
from tests.authorization.world import IMAGE
from tests.support.authenticator import Authenticator
from tests.support.openapi import document_of
from tests.support.story import add_file, make_label, make_ticket, ok, state_ids

PASSWORD = "correct horse battery"
WEB = {"X-Requested-By": "web"}


def projects(ada):
    project = ok(ada.post("/projects", {"key": "TRIP", "name": "Trip", "description": "x"}), 201)
    path = f"/projects/{project['id']}"
    ok(ada.patch(path, {"name": "Journey"}))
    ok(ada.get(path))
    ok(ada.get("/projects"))
    state = ok(ada.post(f"{path}/workflow-states", {"name": "New", "category": "active"}), 201)
    ok(ada.patch(f"{path}/workflow-states/{state['id']}", {"name": "Newer"}))
    order = {"state_ids": state_ids(ada, project["id"])[::-1]}
    ok(ada.post(f"{path}/workflow-states/reorder", order))
    ok(ada.delete(f"{path}/workflow-states/{state['id']}"), 204)
    label = make_label(ada, project["id"], "odd")
    ok(ada.patch(f"{path}/labels/{label['id']}", {"color": "#000000"}))
    ok(ada.get(f"{path}/labels"))
    ok(ada.get(f"{path}/activity"))
    return project["id"], label["id"]


def tickets(ada, bo, project_id, label_id):
    epic = make_ticket(ada, project_id, "Epic", type="epic")
    story = make_ticket(
        ada,
        project_id,
        "Story",
        body="Words",
        parent_ticket_id=epic["id"],
        assignee_user_id=bo.user_id,
        label_ids=[label_id],
        due_date="2026-12-24",
        client_request_id="mine",
    )
    path = f"/tickets/{story['id']}"
    tag = ada.get(path).headers["ETag"]
    assert ada.get(path, headers={"If-None-Match": tag}).status_code == 304
    ok(ada.patch(path, {"priority": "high"}))
    states = state_ids(ada, project_id)
    ok(ada.post(f"{path}/transition", {"state_id": states[-1], "comment": "Moved"}))
    body = {"type": "relates_to", "target_ticket_id": epic["display_id"]}
    relation = ok(ada.post(f"{path}/relations", body), 201)
    ok(ada.get(f"{path}/relations"))
    ok(ada.delete(f"{path}/relations/{relation['id']}"), 204)
    address = {"url": "https://github.com/docket/app/pull/5"}
    link = ok(ada.post(f"{path}/links", address), 201)
    ok(ada.post(f"{path}/links", address))
    ok(ada.get(f"{path}/links"))
    ok(ada.delete(f"{path}/links/{link['id']}"), 204)
    ok(ada.post(f"{path}/watchers"), 201)
    ok(ada.post(f"{path}/watchers"))
    ok(ada.get(f"{path}/watchers"))
    ok(ada.delete(f"{path}/watchers/{ada.user_id}"), 204)
    comment = ok(ada.post(f"{path}/comments", {"body": "One"}), 201)
    ok(ada.patch(f"/comments/{comment['id']}", {"body": "Two"}))
    ok(ada.call("PUT", f"/comments/{comment['id']}/reactions/eyes"))
    ok(ada.get(f"{path}/comments"))
    ok(ada.delete(f"/comments/{comment['id']}/reactions/eyes"), 204)
    ok(ada.delete(f"/comments/{comment['id']}"), 204)
    ok(ada.get(f"{path}/activity"))
    ok(ada.get("/tickets"))
    ok(ada.get(f"/projects/{project_id}/tickets"))
    ok(ada.delete(path), 204)
    ok(ada.get(f"{path}?include_deleted=true"))


def files(ada, project_id):
    ticket = make_ticket(ada, project_id, "With files")
    comment = ok(ada.post(f"/tickets/{ticket['id']}/comments", {"body": "One"}), 201)
    page = ok(ada.post("/wiki/pages", {"title": "With files"}), 201)
    for path in (
        f"/tickets/{ticket['id']}",
        f"/comments/{comment['id']}",
        f"/wiki/pages/{page['id']}",
    ):
        made = add_file(ada, path, IMAGE, "dot.gif")
        ok(ada.get(f"{path}/files"))
        for one in (f"/files/{made['id']}", f"/files/{made['id']}/thumbnail"):
            whole = ada.get(one)
            assert whole.status_code == 200
            tag = {"If-None-Match": whole.headers["ETag"]}
            assert ada.get(one, headers=tag).status_code == 304
            assert ada.get(one, headers={"Range": "bytes=0-1"}).data == whole.data[:2]
        ok(ada.delete(f"/files/{made['id']}"), 204)


def people(cast):
    user = ok(cast.ada.post("/users", {"username": "carol", "password": PASSWORD}), 201)
    ok(cast.ada.patch(f"/users/{user['id']}", {"display_name": "Carol"}))
    ok(cast.ada.get("/users"))
    for path in ("/auth/me", "/users/me"):
        ok(cast.ada.get(path))
        ok(cast.smith.get(path))
    carol = cast.bo
    carol.client.delete_cookie("app_session")
    ok(carol.post("/auth/login", {"username": "carol", "password": PASSWORD}))
    change = {"current_password": PASSWORD, "new_password": PASSWORD * 2}
    ok(carol.post("/auth/change-password", change, headers=WEB), 204)
    ok(carol.post("/auth/logout"), 204)


def second_factor(cast):
    """Carol turns it on and off, and on again, so that ada can reset it."""
    carol = cast.bo
    ok(carol.post("/auth/login", {"username": "carol", "password": PASSWORD * 2}))
    ok(carol.get("/users/me/totp"))
    path, password = "/users/me/totp", {"current_password": PASSWORD * 2}
    for end in ("disable", "reset"):
        secret = base64.b32decode(ok(carol.post(path, password))["secret"])
        code = totp.code_at(secret, now_ms() // totp.STEP_MS)
        codes = ok(carol.post(f"{path}/confirm", {"code": code}))["recovery_codes"]
        if end == "disable":
            sent = password | {"code": codes[0]}
            codes = ok(carol.post(f"{path}/recovery-codes", sent))["recovery_codes"]
            ok(carol.post(f"{path}/disable", password | {"code": codes[0]}), 204)
    user_id = ok(carol.get("/users/me"))["id"]
    ok(cast.ada.delete(f"/users/{user_id}/totp"), 204)


def passkeys(cast):
    """Carol adds one, logs in with it and removes it; ada removes another."""
    carol, device, path = cast.bo, Authenticator(), "/users/me/passkeys"
    password = {"current_password": PASSWORD * 2}
    for end in ("remove", "remove_of"):
        begun = ok(carol.post(f"{path}/options", password))
        made = {"name": "Key", "state": begun["state"], **device.make(begun["options"])}
        passkey_id = ok(carol.post(path, made), 201)["id"]
        ok(carol.patch(f"{path}/{passkey_id}", {"name": "Phone"}))
        ok(carol.get(path))
        begun = ok(carol.post("/auth/passkey/options"))
        answer = {"state": begun["state"], **device.answer(begun["options"])}
        user_id = ok(carol.post("/auth/passkey", answer))["user"]["id"]
        if end == "remove":
            ok(carol.post(f"{path}/{passkey_id}/remove", password), 204)
    ok(cast.ada.get(f"/users/{user_id}/passkeys"))
    ok(cast.ada.delete(f"/users/{user_id}/passkeys/{passkey_id}"), 204)


def feeds_and_notices(ada, project_id):
    made = ok(ada.post("/users/me/feeds", {"kind": "activity", "project_id": project_id}), 201)
    ok(ada.get("/users/me/feeds"))
    ok(ada.delete(f"/users/me/feeds/{made['id']}"), 204)
    ok(ada.get("/users/me/notices"))
    ok(ada.patch("/users/me/notices", {"frequency": "daily"}))


def bots(ada, project_id):
    body = {"username": "bot-trip-1", "mode": "write", "project_ids": [project_id]}
    path = f"/bots/{ok(ada.post('/bots', body), 201)['bot']['id']}"
    ok(ada.patch(path, {"mode": "read"}))
    ok(ada.get(path))
    ok(ada.get("/bots"))
    ok(ada.post(f"{path}/tokens/rotate"))
    ok(ada.post(f"{path}/tokens/revoke"), 204)
    ok(ada.get(path))
    ok(ada.delete(path), 204)


def wiki(ada, project_id):
    page = ok(ada.post("/wiki/pages", {"title": "Page", "project_id": project_id}), 201)
    ok(ada.post("/wiki/pages", {"title": "Other", "body": f"[[{page['slug']}]] [[no]]"}), 201)
    path = f"/wiki/pages/{page['id']}"
    tag = ada.get(path).headers["ETag"]
    assert ada.get(path, headers={"If-None-Match": tag}).status_code == 304
    ok(ada.get(f"/wiki/pages/{page['slug']}"))
    ok(ada.patch(path, {"body": "Words", "summary": "More"}))
    ok(ada.get("/wiki/pages"))
    revisions = ok(ada.get(f"{path}/revisions"))["data"]
    ok(ada.get(f"{path}/revisions/{revisions[0]['id']}"))
    ok(ada.get(f"{path}/backlinks"))
    ok(ada.get("/wiki/broken-links"))
    ok(ada.delete(path), 204)


def notes(ada, project_id):
    mine = ok(ada.post("/sticky-notes", {"body": "Mine"}), 201)
    ok(ada.get("/sticky-notes"))
    path = f"/projects/{project_id}/sticky-notes"
    ok(ada.post(path, {"body": "Ours", "color": "#ffee00"}), 201)
    ok(ada.get(path))
    note = f"/sticky-notes/{mine['id']}"
    ok(ada.patch(note, {"color": "#00ffee"}))
    ok(ada.post(f"{note}/convert-to-ticket", {"project_id": project_id}), 201)
    ok(ada.delete(note), 204)


def webhooks(app, ada, project_id):
    given = {"url": "https://10.0.0.1/hook", "secret": "x" * 16, "event_types": ["ticket.*"]}
    made = ok(ada.post("/webhooks", given), 201)
    path = f"/webhooks/{made['id']}"
    ok(ada.get("/webhooks"))
    ok(ada.get(path))
    ok(ada.patch(path, {"is_active": True}))
    ok(ada.patch(f"{path}?rotate_secret=true", {"secret": "y" * 16}))
    make_ticket(ada, project_id)
    with app.app_context():
        claimed = run_write(lambda: outbox.claim("test", 1))
        lost = DeliveryOutcome(None, 1, "lost", is_transient=True)
        run_write(lambda: [outbox.complete(one, lost) for one in claimed])
    (row,) = ok(ada.get(f"{path}/deliveries"))["data"]
    ok(ada.post(f"{path}/deliveries/{row['id']}/retry"), 201)
    ok(ada.delete(path), 204)


def integrations(ada, project_id):
    move = {"project_id": project_id, "state_id": state_ids(ada, project_id)[-1]}
    given = {"name": "GitHub", "forge": "github", "project_ids": [project_id], "on_merge": [move]}
    path = f"/integrations/{ok(ada.post('/integrations', given), 201)['id']}"
    ok(ada.get("/integrations"))
    ok(ada.get(path))
    ok(ada.patch(path, {"name": "Code"}))
    ok(ada.post(f"{path}/secret", {}))
    ok(ada.delete(path), 204)


def rewinds(cast, project_id):
    span = {"since": "2020-01-01T00:00:00Z"}
    path = f"/users/{cast.smith.user_id}/rewind"
    ticket = make_ticket(cast.ada, project_id, "Rewound")
    for caller in (cast.smith, cast.ada):
        ok(caller.patch(f"/tickets/{ticket['id']}", {"title": f"By {caller.user_id}"}))
    ok(cast.ada.get(f"{path}?since={span['since']}"))
    ok(cast.ada.post(path, span))
    (kept,) = ok(cast.ada.get(f"{path}/kept?since={span['since']}"))["data"]
    value = {"event_id": kept["event_id"], "name": kept["name"]}
    ok(cast.ada.post(f"{path}/put-back", span | value), 204)


def test_every_success_in_the_document_is_met(app, client, database, cast):
    document = document_of(app)
    document.seen.clear()
    project_id, label_id = projects(cast.ada)
    tickets(cast.ada, cast.bo, project_id, label_id)
    wiki(cast.ada, project_id)
    notes(cast.ada, project_id)
    files(cast.ada, project_id)
    people(cast)
    second_factor(cast)
    passkeys(cast)
    feeds_and_notices(cast.ada, project_id)
    bots(cast.ada, project_id)
    webhooks(app, cast.ada, project_id)
    integrations(cast.ada, project_id)
    rewinds(cast, project_id)
    ok(cast.ada.get("/audit/tools"))
    ok(cast.ada.get("/search?q=words"))
    event = ok(cast.ada.get("/audit?limit=200"))["data"][0]
    ok(cast.ada.get(f"/audit/{event['id']}"))
    ok(cast.ada.delete(f"/projects/{project_id}/labels/{label_id}"), 204)
    ok(cast.ada.delete(f"/projects/{project_id}"), 204)
    ok(cast.nobody.get("/setup/status"))
    database.empty()
    setup = {"username": "first", "password": PASSWORD}
    assert client.post("/api/v1/setup/admin", json=setup).status_code == 201

    promised = {
        (route.operation_id, int(status))
        for route in document.routes.values()
        for status in document.operation(route)["responses"]
        if int(status) < 400
    }
    assert promised - document.seen == set()
