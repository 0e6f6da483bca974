"""``flask demo``: a sample project from one command."""

import re

from tests.support.forking import Forked
from tests.support.serving import serving

DEMO = Forked("wsgi", ("demo",))


def test_a_demo_can_be_logged_in_to_and_is_made_once(tmp_path):
    instance = tmp_path / "instance"
    with serving(instance, command=DEMO) as served:
        found = re.search(r"Log in as (\S+) with the password (\S+)\n", served.output())
        username, password = found.groups()
        assert f"Docket is ready at {served.url}\n" in served.output()
        login = {"username": username, "password": password}
        answer = served.request("POST", "/api/v1/auth/login", login)
        assert answer.status == 200
        assert served.stop() == 0
    with serving(instance, command=DEMO) as served:
        assert "password" not in served.output()
        assert served.request("POST", "/api/v1/auth/login", login).status == 200
