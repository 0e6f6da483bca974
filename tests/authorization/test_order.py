"""The order of refusals.

Callers who may not use an operation at all learn that before their input is checked.
"""

from app.core.actor import Access
from app.rest.fields import DeletedQuery
from tests.authorization.policy import outcome
from tests.authorization.test_rest import ROUTES, ROWS, address, verdict

BOTS = ("scout", "smith", "fenced")


def test_who_may_not_call_an_operation_learns_it_before_its_form(world):
    for operation, route in ROUTES.items():
        for who in ("nobody", *BOTS):
            expected = outcome(
                route.access, who, "own", {"human": ROWS[operation].special.get("human", "human")}
            )
            if expected is None or route.access is Access.PUBLIC:
                continue
            body = {"json": {"no such field": 1}} if route.writes else {}
            path = address(world, route, "missing")
            response = world.callers[who].call(route.method, f"{path}?limit=none", **body)
            assert verdict(response) == expected, (operation, who)


def test_deleted_things_are_shown_to_humans_only(world):
    shown = [
        route for route in ROUTES.values() if route.query and issubclass(route.query, DeletedQuery)
    ]
    assert len(shown) > 5
    for route in shown:
        path = f"{address(world, route, 'own')}?include_deleted=true"
        for who in BOTS:
            found = verdict(world.callers[who].get(path))
            assert found == (403, "auth.forbidden", "humans_only"), (route.operation_id, who)
        assert world.callers["bo"].get(path).status_code == 200
