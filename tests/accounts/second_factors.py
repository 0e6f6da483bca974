"""An authenticator app, and logins with its codes."""

import base64

from app.accounts import second_factor, totp
from tests.accounts.helpers import API, PASSWORD

TOTP = f"{API}/users/me/totp"
WRONG = "000000"


class Phone:
    """An authenticator app whose clock advances with each code, so that no code repeats."""

    def __init__(self, secret):
        self.secret = base64.b32decode(secret)
        self.step = second_factor.now_ms() // totp.STEP_MS - 1

    def code(self):
        self.step += 1
        return totp.code_at(self.secret, self.step)


def log_in(client, code=None, username="ada"):
    body = {"username": username, "password": PASSWORD}
    return client.post(f"{API}/auth/login", json=body if code is None else {**body, "code": code})
