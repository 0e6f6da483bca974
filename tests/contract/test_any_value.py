"""Any value of a field or an argument is either read or refused."""

import pytest

from app import registry
from app.core.errors import InvalidField, RequestInvalid
from app.mcp import parameters
from app.rest import fields
from app.tools.catalog import catalog

ODD = (None, True, 5, -1.5, 10**30, "", "x", "²", [], [[]], [5], {}, {"x": 5})
ROUTES = registry.routes().routes
TOOLS = catalog("Docket").tools


def found(load, names):
    """Yield the values that raised any other exception than a refusal."""
    for name in names:
        for value in ODD:
            try:
                load({name: value})
            except (InvalidField, RequestInvalid):
                pass
            except Exception as error:
                yield f"{name}: {value!r} ends in {error!r}"


@pytest.mark.parametrize("operation", [name for name in ROUTES if ROUTES[name].body])
def test_any_value_of_a_field_is_read_or_refused(operation):
    body = ROUTES[operation].body
    assert list(found(lambda sent: fields.load(body, sent, "body"), body().fields)) == []


@pytest.mark.parametrize("tool", TOOLS)
def test_any_value_of_an_argument_is_read_or_refused(tool):
    taken = TOOLS[tool].parameters
    names = [one.name for one in taken]
    assert list(found(lambda sent: parameters.load(taken, sent), names)) == []
