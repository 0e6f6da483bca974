import pytest


@pytest.fixture
def flask(app, cast):
    """Run a command; return its output. It must end with the given exit code."""

    def run(*args, code=0, text=None):
        result = app.test_cli_runner().invoke(args=list(args), input=text)
        assert result.exit_code == code, (result.output, result.exception)
        return result.output

    return run
