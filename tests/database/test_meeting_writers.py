"""Two writers contend for a row that one of them deletes or inserts."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from sqlalchemy import text

from app.core.actor import Actor, ActorKind
from app.core.errors import NotFound
from app.database.session import db
from app.projects.loaders import visible
from app.tickets import loaders, saved_views
from tests.support.cast import in_app
from tests.support.serving import until
from tests.support.story import add_file, event_types, events, invalid, make_label, make_ticket, ok

WAITING = text(
    "SELECT count(*) FROM pg_stat_activity"
    " WHERE datname = current_database() AND wait_event_type = 'Lock'"
)


def waiting(engine):
    """How many statements wait for a lock; a transaction would see the first answer again."""
    with engine.connect() as looking:
        return looking.scalar(WAITING)


@pytest.fixture
def meet(app):
    """Runs functions that all wait for one row; SQLite runs its writers one after the other.

    ``statement`` locks the row, and releases it when all wait.
    """
    with app.app_context():
        engine = db.engine

    def run(statement, values, *works):
        with ThreadPoolExecutor(len(works)) as threads:
            if engine.dialect.name == "sqlite":
                running = [threads.submit(work) for work in works]
                return [one.result() for one in running]
            with engine.connect() as holding:
                holding.execute(text(statement), values)
                running = [threads.submit(work) for work in works]
                until(lambda: waiting(engine) == len(works))
                holding.commit()
            return [one.result() for one in running]

    return run


@pytest.fixture
def project(cast):
    return f"/projects/{cast.open_project}"


@pytest.mark.parametrize("is_shared", [False, True], ids=["its only file", "a shared content"])
def test_a_file_is_deleted_once(app, cast, meet, is_shared):
    ticket = make_ticket(cast.ada, cast.open_project)
    path = f"/tickets/{ticket['id']}"
    file = add_file(cast.ada, path)
    if is_shared:
        add_file(cast.bo, path, name="other.txt")
    deletions = [partial(one.delete, f"/files/{file['id']}") for one in (cast.ada, cast.bo)]
    place = "SELECT 1 FROM tickets WHERE id = :id FOR NO KEY UPDATE"
    answers = meet(place, {"id": ticket["id"]}, *deletions)
    assert sorted(one.status_code for one in answers) == [204, 404]
    assert event_types(app).count("file.deleted") == 1


def test_a_label_is_deleted_once(app, cast, meet, project):
    label = make_label(cast.ada, cast.open_project, "Bug")["id"]
    path = f"{project}/labels/{label}"
    deletions = [partial(one.delete, path) for one in (cast.ada, cast.bo)]
    answers = meet("SELECT 1 FROM labels WHERE id = :id FOR UPDATE", {"id": label}, *deletions)
    assert sorted(one.status_code for one in answers) == [204, 404]
    assert event_types(app).count("label.deleted") == 1


def test_a_shared_view_is_deleted_once(app, cast, meet):
    ada, bo = (Actor(ActorKind.HUMAN, one.user_id, one.username) for one in (cast.ada, cast.bo))

    def save():
        project = visible(ada, cast.open_project)
        return saved_views.save_view(ada, project, name="Mine", query="", is_shared=True).id

    def delete(actor):
        try:
            return in_app(app, partial(saved_views.delete_view, actor, view))
        except NotFound as error:
            return error.code

    view = in_app(app, save)
    row = "SELECT 1 FROM saved_views WHERE id = :id FOR UPDATE"
    ends = meet(row, {"id": view}, *(partial(delete, one) for one in (ada, bo)))
    assert sorted(map(str, ends)) == ["None", NotFound.code]
    changes = [one.payload["changes"]["views"] for one in events(app, event_type="project.updated")]
    assert [change["to"] is None for change in changes] == [False, True]


def test_a_ticket_that_is_deleted_meanwhile_gets_no_relation(app, cast, monkeypatch):
    ticket, other = (make_ticket(cast.ada, cast.open_project)["id"] for _ in range(2))
    named = loaders.named_in_body

    def delete():
        ok(cast.bo.delete(f"/tickets/{other}"), 204)

    def named_and_deleted(*arguments):
        found = named(*arguments)
        with ThreadPoolExecutor(1) as threads:
            threads.submit(delete).result()
        return found

    with app.app_context():
        if db.engine.dialect.name == "sqlite":
            # Nobody else can write meanwhile.
            delete()
        else:
            monkeypatch.setattr(loaders, "named_in_body", named_and_deleted)
    body = {"type": "relates_to", "target_ticket_id": other}
    invalid(cast.ada.post(f"/tickets/{ticket}/relations", body), "target_ticket_id", "not_found")
    assert "ticket.relation_added" not in event_types(app)


def test_a_first_choice_is_stored_once(cast, meet):
    taken = (
        "INSERT INTO notice_choices (user_id, frequency, zone, noticed_until, due_at)"
        " VALUES (:id, 'off', 'UTC', 0, 0)"
    )
    choices = [
        partial(cast.ada.patch, "/users/me/notices", {"frequency": "daily"}) for _ in range(2)
    ]
    answers = meet(taken, {"id": cast.ada.user_id}, *choices)
    assert [ok(one)["frequency"] for one in answers] == ["daily", "daily"]
