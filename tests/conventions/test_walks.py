"""A request runs through few files and calls; these are the limits for several kinds."""

import pytest

from tests.conventions.walks import walks

pytestmark = pytest.mark.slow
MAX_FILES = {"REST get": 22, "REST create": 36, "MCP create_ticket": 45, "MCP get_self": 29}
MAX_CALLS = {"REST search": 435}


def test_a_request_walks_through_few_files_and_calls():
    found = walks()
    files = {name: len(found[name].files) for name in MAX_FILES}
    assert all(files[name] <= most for name, most in MAX_FILES.items()), files
    calls = {name: found[name].calls for name in MAX_CALLS}
    assert all(calls[name] <= most for name, most in MAX_CALLS.items()), calls
