from dataclasses import replace

import pytest

from app.database.session import db
from tests.support.serving import unused_port


@pytest.fixture
def flask(app, cast, monkeypatch):
    """Run a command; return its output. It must end with the given exit code."""
    # The doctor requests the base URL, and on port 80 of this machine anything may answer.
    settings = replace(app.config["SETTINGS"], base_url=f"http://127.0.0.1:{unused_port()}")
    monkeypatch.setitem(app.config, "SETTINGS", settings)

    def run(*args, code=0, text=None):
        if args == ("doctor",):
            # SQLite since 3.44 reports damage to a connection that read the search index before
            # another changed it. A process of its own would have no such connection.
            with app.app_context():
                db.engine.dispose()
        result = app.test_cli_runner().invoke(args=list(args), input=text)
        assert result.exit_code == code, (result.output, result.exception)
        return result.output

    return run
