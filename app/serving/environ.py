"""The WSGI environment of an ASGI request."""

import sys
from typing import Any
from urllib.parse import unquote_to_bytes

Message = dict[str, Any]
Environ = dict[str, Any]


def environ_of(scope: Message) -> Environ:
    """The WSGI environment of a request, without its body.

    A header whose name has an underscore is left out: it would look like the one with a hyphen.
    """
    host, port = scope["server"]
    environ = {
        "REQUEST_METHOD": scope["method"],
        "SCRIPT_NAME": "",
        "PATH_INFO": unquote_to_bytes(scope["raw_path"]).decode("latin-1"),
        "QUERY_STRING": scope["query_string"].decode("latin-1"),
        "SERVER_PROTOCOL": f"HTTP/{scope['http_version']}",
        "SERVER_NAME": host,
        "SERVER_PORT": str(port),
        "REMOTE_ADDR": scope["client"][0],
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scope["scheme"],
        "wsgi.errors": sys.stderr,
        "wsgi.input_terminated": True,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
    }
    for raw_name, raw_value in scope["headers"]:
        if b"_" in raw_name:
            continue
        name = raw_name.decode("latin-1").upper().replace("-", "_")
        key = name if name in ("CONTENT_TYPE", "CONTENT_LENGTH") else f"HTTP_{name}"
        value = raw_value.decode("latin-1")
        if key in environ:
            value = f"{environ[key]}{'; ' if name == 'COOKIE' else ','}{value}"
        environ[key] = value
    return environ


def has_body(environ: Environ) -> bool:
    """Whether the headers announce one."""
    length = environ.get("CONTENT_LENGTH", "0")
    return length.strip("0") != "" or "HTTP_TRANSFER_ENCODING" in environ
