import threading
import time

import pytest
from argon2 import PasswordHasher, extract_parameters

from app.accounts import passwords
from app.accounts.passwords import Cost
from app.config import Settings
from app.core.errors import InvalidField, PasswordTooShort, Unavailable

CHEAP = Cost(time=1, memory_kib=64, parallelism=1)


def test_hash_is_argon2id_at_the_cost_asked_for():
    parameters = extract_parameters(passwords.hash_new("a" * 12, Cost(2, 128, 1)))
    assert parameters.type.name == "ID"
    assert (parameters.time_cost, parameters.memory_cost, parameters.parallelism) == (2, 128, 1)
    assert (parameters.hash_len, parameters.salt_len) == (32, 16)


def test_default_cost_is_the_designs(tmp_path):
    settings = Settings(
        instance_dir=tmp_path, database_url="sqlite://", secret_key="x" * 32, base_url="http://x"
    )
    assert passwords.cost_of(settings) == Cost(time=2, memory_kib=19_456, parallelism=1)


def test_right_password_verifies_and_wrong_one_does_not():
    stored = passwords.hash_new("pässword-pässword", CHEAP)
    assert passwords.verify(stored, "pässword-pässword", CHEAP)
    assert not passwords.verify(stored, "passwort-passwort", CHEAP)


def test_broken_hash_verifies_nothing():
    assert not passwords.verify("$argon2id$broken", "a" * 12, CHEAP)


def test_absent_hash_verifies_nothing_and_costs_one_full_verification(monkeypatch):
    seen = []
    verify = PasswordHasher.verify

    def spy(self, stored, password):
        seen.append(extract_parameters(stored))
        return verify(self, stored, password)

    monkeypatch.setattr(PasswordHasher, "verify", spy)
    assert not passwords.verify(None, "a" * 12, CHEAP)
    assert seen == [extract_parameters(passwords.hash_new("b" * 12, CHEAP))]


def test_other_parameters_make_a_hash_outdated():
    stored = passwords.hash_new("a" * 12, CHEAP)
    assert not passwords.is_outdated(stored, CHEAP)
    assert passwords.is_outdated(stored, Cost(2, 64, 1))


@pytest.mark.parametrize("length", [0, 1, 11])
def test_short_password_is_refused(length):
    with pytest.raises(PasswordTooShort):
        passwords.check_new("a" * length, "ada", "Docket")


@pytest.mark.parametrize("length", [12, 1024])
def test_lengths_at_the_bounds_are_accepted(length):
    passwords.check_new(("wölkchen am himmel " * 60)[:length], "ada", "Docket")


@pytest.mark.parametrize(
    ("password", "reason"),
    [
        ("a" * 1025, "too_long"),
        ("a" * 12 + "\x00", "nul_character"),
        ("\ud800" * 12, "lone_surrogate"),
    ],
)
def test_what_can_be_no_password_is_refused(password, reason):
    with pytest.raises(InvalidField) as refused:
        passwords.check_new(password, "ada", "Docket", "new_password")
    assert refused.value.details == {"field": "new_password", "reason": reason}


def test_at_most_two_hashes_run_at_once(monkeypatch):
    running, most, guard = 0, 0, threading.Lock()

    def slow(self, password):
        nonlocal running, most
        with guard:
            running += 1
            most = max(most, running)
        time.sleep(0.02)
        with guard:
            running -= 1
        return "hash"

    monkeypatch.setattr(PasswordHasher, "hash", slow)
    threads = [
        threading.Thread(target=passwords.hash_new, args=("a" * 12, CHEAP)) for _ in range(12)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 2


def test_waiting_too_long_is_unavailable(monkeypatch):
    monkeypatch.setattr(passwords, "WAIT_SECONDS", 0.01)
    with passwords._slot(), passwords._slot(), pytest.raises(Unavailable):
        passwords.hash_new("a" * 12, CHEAP)
    assert passwords.hash_new("a" * 12, CHEAP)
