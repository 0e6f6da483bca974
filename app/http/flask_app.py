"""The Flask subclass, with orjson, faster replacements of werkzeug, and no tokens in paths."""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, cast
from wsgiref.types import StartResponse, WSGIApplication

import orjson
from flask import Flask, Request, Response
from flask.json.provider import JSONProvider
from flask.sessions import SessionInterface, SessionMixin
from werkzeug.datastructures import EnvironHeaders, ImmutableMultiDict
from werkzeug.exceptions import BadHost
from werkzeug.routing import MapAdapter, Rule
from werkzeug.sansio.http import parse_cookie
from werkzeug.utils import cached_property

from app.core.logs import REDACTED

# In the WSGI environment: the token that was taken out of the path.
SEGMENT_KEY = "docket.token"
# In the WSGI environment: the response is streamed (app/serving/wsgi.py).
STREAMED = "docket.streamed"
# In the WSGI environment: the request had an invalid credential or no route.
FAILED = "docket.failed"
# Cache sizes: host names, and paths with their rules. Longer paths are not cached.
CACHED_HOSTS = 100
CACHED_PATHS = 2000
MAX_CACHED_PATH_LENGTH = 200

# werkzeug drops the body for these statuses, and quotes non-ASCII characters in a location.
_BODILESS = (204, 304)
_PLAIN = re.compile(r"https?://[a-z0-9.-]+(:[0-9]+)?(/[A-Za-z0-9_-]+)*")

_SEGMENT = re.compile(r"^(/+mcp/+bot/+|/+password/+|/+feed/+|/+mail/+[a-z]+/+)([^/?]+)")


class HideTokens:
    """Moves tokens of MCP addresses and of password, feed and mail links into the environment."""

    def __init__(self, application: WSGIApplication) -> None:
        self.application = application

    def __call__(self, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        match = _SEGMENT.match(environ.get("PATH_INFO", ""))
        if match:
            environ[SEGMENT_KEY] = match.group(2)
            for key in ("PATH_INFO", "RAW_URI", "REQUEST_URI"):
                if key in environ:
                    environ[key] = _SEGMENT.sub(rf"\g<1>{REDACTED}", environ[key])
        return self.application(environ, start_response)


class OrjsonProvider(JSONProvider):
    """JSON with orjson; ``core/json_parsing.py`` parses request bodies strictly."""

    def dumps(self, obj: Any, **_kwargs: Any) -> str:
        return orjson.dumps(obj).decode()

    def loads(self, s: str | bytes, **_kwargs: Any) -> Any:
        return orjson.loads(s)


# Keys are the method, the path, and whether it is a websocket.
Rules = dict[tuple[str, str, bool], tuple[Rule, Mapping[str, Any]]]


class NoSessions(SessionInterface):
    """Disables Flask's signed cookie, as sessions are rows (accounts/sessions.py)."""

    def open_session(self, app: Flask, request: Request) -> None:
        """Return None, so that Flask makes a session that raises on use."""

    def save_session(self, app: Flask, session: SessionMixin, response: Response) -> None:
        pass


class SentHeaders(EnvironHeaders):
    """Request headers; looking up an absent one raises no exception internally."""

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and _in_environ(key) in self.environ

    def get(  # type: ignore[override]  # as werkzeug's, whose types tell more cases apart
        self, key: str, default: Any = None, type: Callable[[str], Any] | None = None
    ) -> Any:
        if type is not None:
            return super().get(key, default, type)
        return self.environ.get(_in_environ(key), default)


@lru_cache
def _in_environ(header: str) -> str:
    """The key of a header in the WSGI environment (PEP 3333)."""
    name = header.upper().replace("-", "_")
    return name if name in ("CONTENT_TYPE", "CONTENT_LENGTH") else f"HTTP_{name}"


class SentValues(ImmutableMultiDict[str, Any]):
    """Parameters or cookies; looking up an absent one raises no exception internally."""

    def get(  # type: ignore[override]  # as above
        self, key: str, default: Any = None, type: Callable[[Any], Any] | None = None
    ) -> Any:
        if key not in self:
            return default
        return self[key] if type is None else super().get(key, default, type)


class DocketRequest(Request):
    parameter_storage_class = SentValues
    dict_storage_class = SentValues

    def __init__(self, environ: dict[str, Any], *args: Any, **kwargs: Any) -> None:
        super().__init__(environ, *args, **kwargs)
        self.headers = SentHeaders(environ)

    @cached_property
    def blueprints(self) -> list[str]:
        # Cached: the rule does not change after the first access.
        return super().blueprints

    @cached_property
    def cookies(self) -> ImmutableMultiDict[str, str]:
        parsed = parse_cookie(self.environ.get("HTTP_COOKIE"), cls=SentValues)
        return cast("ImmutableMultiDict[str, str]", parsed)


@lru_cache(maxsize=CACHED_HOSTS)
def _ascii(host: str) -> str:
    """The ASCII form of a host; raises BadHost."""
    name, colon, port = host.lower().partition(":")
    try:
        return f"{name.encode('idna').decode('ascii')}{colon}{port}"
    except UnicodeError as error:
        raise BadHost from error


class CachingAdapter(MapAdapter):
    """Matches a request to its rule, with a cache of matches but not of exceptions."""

    def __init__(self, cache: Rules, *args: Any) -> None:
        super().__init__(*args)
        self._cache = cache

    def match(self, *args: Any, **kwargs: Any) -> Any:
        if args or kwargs != {"return_rule": True} or len(self.path_info) > MAX_CACHED_PATH_LENGTH:
            return super().match(*args, **kwargs)
        key = (self.default_method, self.path_info, self.websocket)
        match = self._cache.get(key)
        if match is None:
            match = super().match(return_rule=True)
            if len(self._cache) >= CACHED_PATHS:
                self._cache.clear()
            self._cache[key] = match
        rule, values = match
        return rule, dict(values)


class Reply(Response):
    """A response that is sent unchanged if werkzeug would only copy it."""

    has_callbacks = False

    def call_on_close(self, func: Callable[[], Any]) -> Callable[[], Any]:
        self.has_callbacks = True
        return super().call_on_close(func)

    def __call__(self, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        if not self._is_final or environ["REQUEST_METHOD"] == "HEAD":
            return super().__call__(environ, start_response)
        start_response(self.status, self.headers.to_wsgi_list())
        return self.response  # type: ignore[return-value]  # bytes, see ``_is_final``

    @property
    def _is_final(self) -> bool:
        body, status = self.response, self.status_code
        is_whole = type(body) is list and len(body) == 1 and type(body[0]) is bytes
        if not is_whole or status < 200 or status in _BODILESS or self.has_callbacks:
            return False
        headers = {name.lower(): value for name, value in self.headers}
        if "content-length" not in headers or "content-location" in headers:
            return False
        return "location" not in headers or _PLAIN.fullmatch(headers["location"]) is not None


def add_missing(response: Response, headers: Mapping[str, str]) -> None:
    """Add the headers that the response lacks.

    Looking headers up with werkzeug would raise and catch an exception for each absent one.
    """
    present = {name.lower() for name, _ in response.headers}
    for name, value in headers.items():
        if name.lower() not in present:
            response.headers.add(name, value)


class Docket(Flask):
    session_interface = NoSessions()
    request_class = DocketRequest
    # Keep all compiled templates.
    jinja_options = {"cache_size": -1}

    @cached_property
    def _rules(self) -> Rules:
        return {}

    def ensure_sync(self, func: Callable[..., Any]) -> Callable[..., Any]:
        # Skip Flask's check of every hook and view for coroutines, as there are none.
        return func

    def create_url_adapter(self, request: Request | None) -> MapAdapter | None:
        # No rule depends on the host, so the map does not need to bind to it.
        if request is None:
            return super().create_url_adapter(None)
        return CachingAdapter(
            self._rules,
            self.url_map,
            _ascii(request.host),
            request.root_path or "/",
            "",
            request.scheme,
            request.path,
            request.method,
            request.query_string.decode(errors="replace"),
        )
