"""No credential is ever written to the server's output, however it was received."""

import base64
import os
from contextlib import closing

import pytest

from tests.support.forking import FORKED
from tests.support.serving import serving

TOKEN = "app_" + base64.b32encode(os.urandom(20)).decode().lower()
PASSWORD = "a password that nobody may see"
SESSION = "session-token-that-nobody-may-see"


@pytest.mark.parametrize("level", ["INFO", "DEBUG"])
def test_no_credential_is_written(tmp_path, level):
    instance = tmp_path / "instance"
    with serving(instance, command=FORKED, LOG_LEVEL=level) as served:
        mcp = f"/mcp/bot/{TOKEN}/mcp"
        admin = {"username": "ada", "password": PASSWORD}
        assert served.request("POST", "/api/v1/setup/admin", admin).status == 201
        served.request("POST", "/api/v1/auth/login", {**admin, "extra": TOKEN})
        served.request("POST", mcp, {"jsonrpc": "2.0", "id": 1, "method": "ping"})
        served.request("POST", mcp, b"not json", Content_Type="application/json")
        served.request("GET", mcp.replace("/bot/", "//bot//"))
        served.request("GET", f"/nowhere/{TOKEN}?token={TOKEN}")
        served.request("GET", "/api/v1/tickets", X_API_Key=TOKEN)
        served.request("GET", "/api/v1/tickets", Authorization=f"Bearer {TOKEN}")
        served.request("GET", "/api/v1/tickets", Cookie=f"app_session={SESSION}")
        for broken in (
            f"GET {mcp} HTTP/9.9\r\n\r\n",
            f"BREW {mcp} HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {TOKEN}\r\n\r\n",
            f"POST {mcp} HTTP/1.1\r\nHost: localhost\r\nContent-Length: minus\r\n\r\n",
            f"{TOKEN}\r\n\r\n",
        ):
            with closing(served.connect(broken.encode())) as connection:
                connection.recv(100)
        assert served.stop() == 0
        output = served.output()
    # The lines themselves are present; the secrets are not.
    assert "/nowhere/" in output
    secret_key = (instance / "secret_key").read_text().strip()
    for secret in (TOKEN, TOKEN[4:], PASSWORD, SESSION, secret_key):
        assert secret not in output
