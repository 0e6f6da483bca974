"""A provider in this process, which responds as well or as badly as a test wants."""

import base64
import hashlib
import hmac
import itertools
import json
import threading
import time
import warnings
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs

from joserfc import jws
from joserfc.jwk import ECKey, KeySet, OKPKey, RSAKey

CLIENT = "docket-client"
SECRET = "a secret of the client: with signs & spaces"
EVENT = "http://schemas.openid.net/event/backchannel-logout"

# Created once: generating an RSA key is slow.
KEYS = {
    "RS256": RSAKey.generate_key(2048, {"kid": "rsa", "use": "sig"}),
    "ES256": ECKey.generate_key("P-256", {"kid": "ec", "use": "sig"}),
    "EdDSA": OKPKey.generate_key("Ed25519", {"kid": "ed", "use": "sig"}),
}
KEYS["PS256"] = KEYS["RS256"]


class Provider:
    """Its published metadata and its responses; tests change any of them."""

    def __init__(self):
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.issuer = f"http://127.0.0.1:{self.server.server_port}"
        self.keys = [KEYS["RS256"], KEYS["ES256"], KEYS["EdDSA"]]
        self.metadata = {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/jwks",
            "userinfo_endpoint": f"{self.issuer}/userinfo",
            "authorization_response_iss_parameter_supported": True,
        }
        # By path: a function that handles the request instead of a normal response.
        self.instead = {}
        self.grants = {}
        self.codes = itertools.count()
        self.userinfo = {}
        self.takes_basic = True
        self.asked = []
        self.forms = []
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()

    def claims(self, nonce="", /, **changes):
        now = int(time.time())
        claims = {
            "iss": self.issuer,
            "sub": "subject-1",
            "aud": CLIENT,
            "exp": now + 300,
            "iat": now,
            "nonce": nonce,
            "sid": "session-1",
            "email": "ada@example.org",
            "email_verified": True,
            "name": "Ada Lovelace",
            "preferred_username": "Ada.L",
        } | changes
        return {name: value for name, value in claims.items() if value is not None}

    def signed(self, claims, alg="RS256", key=None, **header):
        key = key or KEYS[alg]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return jws.serialize_compact(
                {"alg": alg, "kid": key.kid} | header, json.dumps(claims), key, algorithms=[alg]
            )

    def grant(self, asked, token=None, **changes):
        """Return a code for a browser's request, which yields this ID token."""
        code = f"code-{next(self.codes)}"
        self.grants[code] = {
            "challenge": asked["code_challenge"],
            "redirect_uri": asked["redirect_uri"],
            "id_token": token or self.signed(self.claims(asked["nonce"], **changes)),
        }
        return code

    def logout_token(self, **changes):
        now = int(time.time())
        claims = {
            "iss": self.issuer,
            "aud": CLIENT,
            "iat": now,
            "exp": now + 120,
            "jti": f"jti-{time.monotonic_ns()}",
            "sub": "subject-1",
            "events": {EVENT: {}},
        } | changes
        return self.signed({name: one for name, one in claims.items() if one is not None})


def with_public_key_as_secret(token):
    """Return the token signed by HS256 with the public key, which confused verifiers accept."""
    head = base64.urlsafe_b64encode(b'{"alg":"HS256","kid":"rsa"}').rstrip(b"=").decode()
    signed = f"{head}.{token.split('.')[1]}"
    secret = KEYS["RS256"].as_pem(private=False)
    signature = hmac.digest(secret, signed.encode(), "sha256")
    return f"{signed}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"


def _handler(provider):
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_):
            pass

        def do_GET(self):
            path = self.path.partition("?")[0]
            provider.asked.append(path)
            if path in provider.instead:
                return provider.instead[path](self)
            if path == "/.well-known/openid-configuration":
                return self.say(provider.metadata)
            if path == "/jwks":
                return self.say(KeySet(provider.keys).as_dict(private=False))
            if path == "/userinfo" and self.headers["Authorization"] == "Bearer access":
                return self.say(provider.userinfo)
            return self.say({"error": "not found"}, 404)

        def do_POST(self):
            form = {
                name: values[0]
                for name, values in parse_qs(
                    self.rfile.read(int(self.headers["Content-Length"])).decode()
                ).items()
            }
            provider.asked.append(self.path)
            provider.forms.append((dict(self.headers), form))
            if self.path in provider.instead:
                return provider.instead[self.path](self)
            if not provider.takes_basic and "Authorization" in self.headers:
                return self.say({"error": "invalid_client"}, 401)
            grant = provider.grants.pop(form.get("code"), None)
            if grant is None or grant["challenge"] != _challenge(form["code_verifier"]):
                return self.say({"error": "invalid_grant"}, 400)
            return self.say(
                {"access_token": "access", "token_type": "Bearer", "id_token": grant["id_token"]}
            )

        def say(self, body, status=200, headers=()):
            content = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            for name, value in headers:
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

    return Handler


def _challenge(verifier):

    digest = hashlib.sha256(verifier.encode()).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
