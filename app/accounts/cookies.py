"""The session cookie as REST and pages set and clear it.

The dispatcher adds HttpOnly, SameSite=Lax, Path=/ and, behind https, Secure. The specification
fixes the name, so there is no ``__Host-`` prefix.
"""

from app.accounts.identity import COOKIE
from app.accounts.sessions import OpenedSession
from app.rest.answers import Cookie

CLEARED = Cookie(COOKIE, "", 0)


def session_cookie(opened: OpenedSession) -> Cookie:
    """The cookie of a session just opened; it lives as long as the session can."""
    return Cookie(COOKIE, opened.token, opened.max_age)
