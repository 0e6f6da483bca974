"""Sealing: sealed data opens only with the same secret and the same context."""

import pytest
from cryptography.exceptions import InvalidTag

from app.database import encryption


@pytest.fixture(autouse=True)
def _context(app):
    with app.app_context():
        yield


def test_what_was_sealed_is_opened_again():
    sealed = encryption.encrypt(b"content", "context")
    assert b"content" not in sealed
    assert encryption.decrypt(sealed, "context") == b"content"
    assert encryption.encrypt(b"content", "context") != sealed


def test_another_context_or_secret_or_a_changed_byte_opens_nothing(app, monkeypatch):
    sealed = encryption.encrypt(b"content", "context")
    with pytest.raises(InvalidTag):
        encryption.decrypt(sealed, "another")
    for place in (0, len(sealed) // 2, -1):
        broken = bytearray(sealed)
        broken[place] ^= 1
        with pytest.raises(InvalidTag):
            encryption.decrypt(bytes(broken), "context")
    monkeypatch.setitem(app.config, "SECRET_KEY", "another secret key")
    with pytest.raises(InvalidTag):
        encryption.decrypt(sealed, "context")
    assert encryption.decrypt_or_none(sealed, "context") is None


def test_what_the_previous_secret_sealed_is_known(app, monkeypatch):
    sealed, first = encryption.encrypt(b"content", "context"), app.config["SECRET_KEY"]
    assert not encryption.is_under_previous_key(sealed, "context")
    monkeypatch.setitem(app.config, "SECRET_KEY", "another secret key")
    assert not encryption.is_under_previous_key(sealed, "context")
    monkeypatch.setitem(app.config, "SECRET_KEY_FALLBACKS", [first])
    assert encryption.is_under_previous_key(sealed, "context")
    assert encryption.decrypt_or_none(sealed, "context") == b"content"
