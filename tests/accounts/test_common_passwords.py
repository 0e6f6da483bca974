"""Common passwords, which are guessed first."""

import pytest

from app.accounts.passwords import is_common

WORDS = ("ada", "grace.hopper", "Docket", "docket")


@pytest.mark.parametrize(
    "password",
    [
        "123456qwerty",
        "QWERTY123456",
        "password1234",
        "Password!!2026",
        "123456789012",
        "098765432109",
        "abcdefghijklmnop",
        "aaaaaaaaaaaa",
        "abababababab",
        "passwordpassword",
        "qwertyuiopas",
        "I am Grace.Hopper",
        "my DOCKET is the best",
    ],
)
def test_these_are_refused(password):
    assert is_common(password, WORDS)


@pytest.mark.parametrize(
    "password",
    [
        "correct horse battery",
        "correct horse battery staple",
        "ada likes long walks",
        "password for the printer",
        "tr0ub4dor&3-and-more",
        "93847261504839",
        "wednesday-tin-roof",
        "quatre mots bien choisis",
        "one two one two three",
    ],
)
def test_these_are_not(password):
    assert not is_common(password, WORDS)
