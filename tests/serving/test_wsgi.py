"""The WSGI environment that a request gets."""

import pytest

from app.serving.wsgi import environ_of
from tests.serving.test_asgi import scope

pytestmark = pytest.mark.one_database


def test_the_environment_is_that_of_pep_3333():
    environ = environ_of(scope(path=b"/a%20b%ff%2Fc", headers=[(b"content-type", b"text/plain")]))
    assert environ["PATH_INFO"] == "/a b\xff/c"
    assert environ["QUERY_STRING"] == "a=%zz"
    assert environ["CONTENT_TYPE"] == "text/plain"
    assert environ["HTTP_HOST"] == "localhost"
    assert environ["REMOTE_ADDR"] == "192.0.2.7"
    assert environ["SERVER_PROTOCOL"] == "HTTP/1.1"


def test_headers_that_are_sent_twice_are_joined():
    sent = [(b"cookie", b"a=1"), (b"cookie", b"b=2"), (b"x-a", b"1"), (b"x-a", b"\xe9")]
    environ = environ_of(scope(headers=sent))
    assert environ["HTTP_COOKIE"] == "a=1; b=2"
    assert environ["HTTP_X_A"] == "1,\xe9"


def test_a_header_with_an_underscore_is_left_out():
    environ = environ_of(scope(headers=[(b"x_forwarded_for", b"192.0.2.1")]))
    assert "HTTP_X_FORWARDED_FOR" not in environ


def test_space_around_a_value_is_no_part_of_it():
    environ = environ_of(scope(headers=[(b"mcp-name", b" \tget_self \t")]))
    assert environ["HTTP_MCP_NAME"] == "get_self"
