"""Values of options that a command must not take for others."""

import pytest

from tests.commands.test_copy_and_restore import command, once_used, used

__all__ = ["once_used", "used"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("bots", "rewind", "bot-1", "--since", "4h", "--project", "", "--as", "ada"),
        ("import-wiki", ".", "--project", "", "--as", "ada"),
    ],
)
def test_an_empty_project_key_does_not_mean_all_projects(used, arguments):
    instance, _ = used
    assert "Project  not found." in command(instance, *arguments, code=1)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("audit", "verify", "--key", "garbage"), "'garbage' is not a key that 'flask audit key'"),
        (("audit", "verify", "--key", ""), "'' is not a key"),
        (("login-limits", "show", "--address", "nonsense"), "'nonsense' is not an IP address."),
        (("login-limits", "clear", "--address", ""), "'' is not an IP address."),
        (("login-limits", "show", "--address", "10.0.0.1/64"), "'10.0.0.1/64' is not an IP"),
        (("login-limits", "show", "--address", "2001:db8::/56"), "'2001:db8::/56' is not an IP"),
    ],
)
def test_values_that_can_mean_nothing_are_refused(flask, arguments, said):
    assert said in flask(*arguments, code=2)


def test_what_an_import_is_asked_for_is_checked_first(cast, flask, tmp_path, monkeypatch):
    monkeypatch.setenv("JIRA_TOKEN", "x")
    (tmp_path / "ca.pem").write_text("no certificate")
    jira = ("import", "jira", "OPS", "--project", "OPEN", "--as", "ada", "--url")
    assert "Enter an address such as" in flask(*jira, "http://[::1", code=1)
    bundle = ("--ca-bundle", str(tmp_path / "ca.pem"))
    said = flask(*jira, "https://127.0.0.1:1", *bundle, code=1)
    assert "--ca-bundle must name a file of certificates in PEM form." in said
