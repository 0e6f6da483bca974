"""The Flask subclass: cheaper headers and routing, orjson, and no token in addresses."""

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

from app.core.redaction import REDACTED

ENVIRON_KEY = "docket.mcp_token"
_SEGMENT = re.compile(r"^(/+mcp/+bot/+)([^/?]+)")


class HideTokens:
    """Moves the token segment of ``/mcp/bot/<token>/...`` into the environment."""

    def __init__(self, application: WSGIApplication) -> None:
        self.application = application

    def __call__(self, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        """Rewrite the addresses that name a token, then go on."""
        found = _SEGMENT.match(environ.get("PATH_INFO", ""))
        if found:
            environ[ENVIRON_KEY] = found.group(2)
            for key in ("PATH_INFO", "RAW_URI", "REQUEST_URI"):
                if key in environ:
                    environ[key] = _SEGMENT.sub(rf"\g<1>{REDACTED}", environ[key])
        return self.application(environ, start_response)


class OrjsonProvider(JSONProvider):
    """Dumps and loads with orjson; the strict reading of requests is in ``strict_json``."""

    def dumps(self, obj: Any, **_kwargs: Any) -> str:
        """JSON text of a value."""
        return orjson.dumps(obj).decode()

    def loads(self, s: str | bytes, **_kwargs: Any) -> Any:
        """The value of JSON text."""
        return orjson.loads(s)


# Names that clients address this server by.
HOSTS_KEPT = 100
# Addresses whose rule is kept, each of so many characters at most.
ADDRESSES_KEPT = 2000
LONGEST_KEPT = 200

# By method and path, and whether it is a websocket's.
Rules = dict[tuple[str, str, bool], tuple[Rule, Mapping[str, Any]]]


class NoSessions(SessionInterface):
    """Sessions are rows (accounts/sessions.py); Flask's signed cookie is neither read nor set."""

    def open_session(self, app: Flask, request: Request) -> None:
        """None, so that Flask makes one that refuses to be used."""

    def save_session(self, app: Flask, session: SessionMixin, response: Response) -> None:
        """There is nothing to keep."""


class SentHeaders(EnvironHeaders):
    """A request's headers; asking for one that was not sent raises nothing on the way."""

    def __contains__(self, key: object) -> bool:
        """Whether it was sent."""
        return isinstance(key, str) and _in_environ(key) in self.environ

    def get(  # type: ignore[override]  # as werkzeug's, whose types tell more cases apart
        self, key: str, default: Any = None, type: Callable[[str], Any] | None = None
    ) -> Any:
        """Its value, or the default."""
        if type is not None:
            return super().get(key, default, type)
        return self.environ.get(_in_environ(key), default)


@lru_cache
def _in_environ(header: str) -> str:
    """The place of a header in the environment (PEP 3333)."""
    name = header.upper().replace("-", "_")
    return name if name in ("CONTENT_TYPE", "CONTENT_LENGTH") else f"HTTP_{name}"


class SentValues(ImmutableMultiDict[str, Any]):
    """The parameters or cookies of a request; as with headers, what was not sent raises nothing."""

    def get(  # type: ignore[override]  # as above
        self, key: str, default: Any = None, type: Callable[[Any], Any] | None = None
    ) -> Any:
        """Its first value, or the default."""
        if key not in self:
            return default
        return self[key] if type is None else super().get(key, default, type)


class DocketRequest(Request):
    """A request."""

    parameter_storage_class = SentValues
    dict_storage_class = SentValues

    def __init__(self, environ: dict[str, Any], *args: Any, **kwargs: Any) -> None:
        """As Flask's, with headers of ours."""
        super().__init__(environ, *args, **kwargs)
        self.headers = SentHeaders(environ)

    @cached_property
    def blueprints(self) -> list[str]:
        """The blueprints of its rule, which is known before anything asks for them."""
        return super().blueprints

    @cached_property
    def cookies(self) -> ImmutableMultiDict[str, str]:
        """Its cookies; their header is not looked for among all."""
        found = parse_cookie(self.environ.get("HTTP_COOKIE"), cls=SentValues)
        return cast("ImmutableMultiDict[str, str]", found)


@lru_cache(maxsize=HOSTS_KEPT)
def _ascii(host: str) -> str:
    """A host as it stands in addresses; raises BadHost."""
    name, colon, port = host.lower().partition(":")
    try:
        return f"{name.encode('idna').decode('ascii')}{colon}{port}"
    except UnicodeError as error:
        raise BadHost from error


class Address(MapAdapter):
    """The address of a request; the rule of one that was asked for before need not be found."""

    def __init__(self, kept: Rules, *parts: Any) -> None:
        """Keep its rule there; ``parts`` are as werkzeug's."""
        super().__init__(*parts)
        self._kept = kept

    def match(self, *args: Any, **kwargs: Any) -> Any:
        """As werkzeug's: what it raises is found out anew each time."""
        if args or kwargs != {"return_rule": True} or len(self.path_info) > LONGEST_KEPT:
            return super().match(*args, **kwargs)
        asked = (self.default_method, self.path_info, self.websocket)
        found = self._kept.get(asked)
        if found is None:
            found = super().match(return_rule=True)
            if len(self._kept) >= ADDRESSES_KEPT:
                self._kept.clear()
            self._kept[asked] = found
        rule, values = found
        return rule, dict(values)


class Docket(Flask):
    """The application."""

    session_interface = NoSessions()
    request_class = DocketRequest
    # All of the templates are kept, without noting which was used last.
    jinja_options = {"cache_size": -1}

    @cached_property
    def _rules(self) -> Rules:
        return {}

    def ensure_sync(self, func: Callable[..., Any]) -> Callable[..., Any]:
        """Not asked, at every hook and view, whether it is a coroutine: none of ours is one."""
        return func

    def create_url_adapter(self, request: Request | None) -> MapAdapter | None:
        """What finds the rule of a request: the host is not looked at, as no rule asks for one."""
        if request is None:
            return super().create_url_adapter(None)
        return Address(
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
