"""A page is of the snapshot in which its reader was let in, and leaves none behind."""

from unittest import mock

from app.accounts.identity import COOKIE
from app.core import db as units
from app.core import spare_connections


def test_a_page_is_one_unit_of_work(ada, ticket):
    ada.get("/tickets/OPEN-1")
    with mock.patch.object(spare_connections, "borrowed", wraps=spare_connections.borrowed) as lent:
        assert ada.get("/tickets/OPEN-1").status_code == 200
    assert lent.call_count == 1


def test_a_page_that_reads_nothing_leaves_nothing(ada, app, cast, ticket):
    given = mock.Mock(wraps=spare_connections.give_back)
    with (
        mock.patch.object(spare_connections, "give_back", given),
        mock.patch.object(units, "give_back", given),
    ):
        cookie = cast.ada.client.get_cookie(COOKIE)
        sent = {"Cookie": f"{COOKIE}={cookie.value}"}
        with app.test_request_context("/tickets/OPEN-1", headers=sent):
            app.preprocess_request()
            assert given.call_count == 0
        assert given.call_count == 1


def test_a_form_leaves_no_snapshot_to_what_it_writes(ada, ticket):
    with mock.patch.object(units, "leave") as left:
        assert ada.post("/tickets/OPEN-1/comments", body="Hello").status_code in (200, 303)
    assert left.call_count == 0
