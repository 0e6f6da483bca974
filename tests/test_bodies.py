"""Bodies are received whole, up to their limit, before anybody works on their request."""

import io

import pytest

from app.bodies import DRAINED, Unread, has_body, receive
from app.core.errors import Unavailable
from app.threads import Takers

LIMIT = 100


def received(body, **headers):
    """Whether it is all there, and what the application finds."""
    environ = {"wsgi.input": io.BytesIO(body), **headers}
    is_whole = receive(environ, Takers(1), LIMIT)
    return is_whole, environ["wsgi.input"].read()


@pytest.mark.parametrize(
    ("body", "headers", "arrives"),
    [
        (b"abc", {"CONTENT_LENGTH": "3"}, b"abc"),
        (b"abc", {"HTTP_TRANSFER_ENCODING": "chunked"}, b"abc"),
        (b"", {"HTTP_TRANSFER_ENCODING": "chunked"}, b""),
        (b"abc", {}, b""),
        (b"abc", {"CONTENT_LENGTH": "0"}, b""),
        (b"abc", {"CONTENT_LENGTH": ""}, b""),
        (b"abc", {"CONTENT_LENGTH": "three"}, b""),
        (b"x" * 100, {"CONTENT_LENGTH": "100"}, b"x" * 100),
        (b"x" * 500, {"CONTENT_LENGTH": "500"}, b"x" * 101),
        (b"x" * 500, {"HTTP_TRANSFER_ENCODING": "Chunked"}, b"x" * 101),
    ],
)
def test_what_arrives(body, headers, arrives):
    assert received(body, **headers) == (True, arrives)


@pytest.mark.parametrize(("body", "length"), [(b"ab", "3"), (b"", "1"), (b"x" * 99, "500")])
def test_a_body_shorter_than_it_said_is_not_whole(body, length):
    assert received(body, CONTENT_LENGTH=length) == (False, body)


def test_an_endless_body_is_not_read_to_its_end():
    class Endless:
        given = 0

        def read(self, size):
            self.given += size
            return b"x" * size

    endless = Endless()
    environ = {"wsgi.input": endless, "HTTP_TRANSFER_ENCODING": "chunked"}
    assert receive(environ, Takers(1), LIMIT)
    assert endless.given <= LIMIT + 1 + DRAINED


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, False),
        ({"CONTENT_LENGTH": "0"}, False),
        ({"CONTENT_LENGTH": "3"}, True),
        ({"HTTP_TRANSFER_ENCODING": "chunked"}, True),
    ],
)
def test_which_requests_have_one(headers, expected):
    assert has_body(headers) is expected


def test_a_body_that_was_not_read_is_told():
    with pytest.raises(Unavailable):
        Unread().read(3)


@pytest.mark.parametrize(
    ("method", "path", "content_type"),
    [
        ("POST", "/api/v1/auth/login", "application/json"),
        ("POST", "/mcp/bot/{token}/mcp", "application/json"),
        ("POST", "/login", "application/x-www-form-urlencoded"),
        ("POST", "/login", "multipart/form-data; boundary=x"),
    ],
)
def test_every_door_says_that_it_was_not_read(app, cast, method, path, content_type):
    answer = app.test_client().open(
        path.format(token=cast.smith.token),
        method=method,
        headers={"Accept": "application/json, text/event-stream"},
        environ_overrides={
            "wsgi.input": Unread(),
            "wsgi.input_terminated": True,
            "CONTENT_LENGTH": "10",
            "CONTENT_TYPE": content_type,
        },
    )
    assert answer.status_code == 503
