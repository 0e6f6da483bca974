"""Codes of authenticator apps, by the vectors of RFC 6238 and RFC 4226."""

from urllib.parse import parse_qs, urlsplit

import pytest

from app.accounts import totp

pytestmark = pytest.mark.one_database

SECRET = b"12345678901234567890"


@pytest.mark.parametrize(
    ("seconds", "code"),
    [
        (59, "94287082"),
        (1111111109, "07081804"),
        (1111111111, "14050471"),
        (1234567890, "89005924"),
        (2000000000, "69279037"),
        (20000000000, "65353130"),
    ],
)
def test_the_vectors_of_rfc_6238(seconds, code):
    step = seconds * 1000 // totp.STEP_MS
    assert totp.code_at(SECRET, step, digits=8) == code
    assert totp.step_of(SECRET, code[2:], seconds * 1000, after=-1) == step


def test_the_vectors_of_rfc_4226():
    codes = [
        "755224",
        "287082",
        "359152",
        "969429",
        "338314",
        "254676",
        "287922",
        "162583",
        "399871",
        "520489",
    ]
    assert [totp.code_at(SECRET, step) for step in range(10)] == codes


@pytest.mark.parametrize(("away", "counts"), [(-2, False), (-1, True), (1, True), (2, False)])
def test_a_clock_may_be_one_step_off(away, counts):
    found = totp.step_of(SECRET, totp.code_at(SECRET, 100 + away), 100 * totp.STEP_MS, after=0)
    assert found == (100 + away if counts else None)


def test_steps_that_were_used_are_over():
    code = totp.code_at(SECRET, 100)
    assert totp.step_of(SECRET, code, 100 * totp.STEP_MS, after=99) == 100
    assert totp.step_of(SECRET, code, 100 * totp.STEP_MS, after=100) is None


@pytest.mark.parametrize("code", ["", "28708", "2870822", "abcdef", "２８７０８２", "ö"])
def test_what_is_no_code(code):
    assert totp.step_of(SECRET, code, totp.STEP_MS, after=-1) is None


def test_the_address_of_the_qr_code():
    found = urlsplit(totp.address(SECRET, "ada", "Our: tickets & more"))
    assert (found.scheme, found.netloc) == ("otpauth", "totp")
    assert found.path == "/Our%20%20tickets%20%26%20more:ada"
    assert parse_qs(found.query) == {
        "secret": ["GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"],
        "issuer": ["Our: tickets & more"],
    }
