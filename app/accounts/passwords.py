"""Passwords: which are refused, hashing with Argon2id, and verifying in constant time.

Hashing is slow on purpose. It runs outside any unit of work, at most two at once, so that it
leaves memory and processors to other requests.
"""

import base64
import os
import string
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache

from argon2 import PasswordHasher
from argon2.exceptions import Argon2Error, InvalidHashError
from zxcvbn.frequency_lists import FREQUENCY_LISTS

from app.config import Settings
from app.core.errors import InvalidField, PasswordTooCommon, PasswordTooShort, Unavailable
from app.core.lanes import Lane, require
from app.core.text import checked

MIN_LENGTH = 12
MAX_LENGTH = 1024
# Shorter words occur in too many good passwords.
MIN_WORD_LENGTH = 4
# A common password followed by up to this many digits and signs is still common.
MAX_TAIL_LENGTH = 6
# A password that repeats a unit of up to this length is common, whatever the unit.
MAX_UNIT_LENGTH = 4
RUNS = ("0123456789" * 12, string.ascii_lowercase * 4, "qwertyuiopasdfghjklzxcvbnm" * 4)

MAX_PARALLEL_HASHES = 2
WAIT_SECONDS = 2.0
SALT_BYTES = 16
HASH_BYTES = 32

_slots = threading.BoundedSemaphore(MAX_PARALLEL_HASHES)


@dataclass(frozen=True, slots=True)
class Cost:
    time: int
    memory_kib: int
    parallelism: int


def cost_of(settings: Settings) -> Cost:
    return Cost(
        settings.password_time_cost, settings.password_memory_kib, settings.password_parallelism
    )


def is_common(password: str, words: Iterable[str] = ()) -> bool:
    """Whether the password is common, a run or a repetition, or contains one of the ``words``."""
    folded = password.casefold()
    if any(len(word) >= MIN_WORD_LENGTH and word.casefold() in folded for word in words):
        return True
    core = folded.rstrip(string.digits + string.punctuation)
    is_known = folded in _common() or (
        core in _common() and len(folded) - len(core) <= MAX_TAIL_LENGTH
    )
    is_run = any(folded in run or folded[::-1] in run for run in RUNS)
    return is_known or is_run or _is_repeated(folded)


def _is_repeated(folded: str) -> bool:
    unit = folded[: (folded + folded).index(folded, 1)]
    is_whole = len(unit) < len(folded)
    return is_whole and (len(unit) <= MAX_UNIT_LENGTH or unit in _common())


@lru_cache(maxsize=1)
def _common() -> frozenset[str]:
    return frozenset(FREQUENCY_LISTS["passwords"])


def check_form(password: str, field: str) -> None:
    """Raise InvalidField for NUL, lone surrogates or more than 1,024 characters."""
    checked(password, field, MAX_LENGTH)
    try:
        password.encode()
    except UnicodeEncodeError as error:
        raise InvalidField(field, "lone_surrogate") from error


def check_new(password: str, username: str, app_name: str, field: str = "password") -> None:
    """Check a new password; raises PasswordTooShort, PasswordTooCommon or InvalidField."""
    check_form(password, field)
    if len(password) < MIN_LENGTH:
        raise PasswordTooShort
    if is_common(password, (username, app_name, "docket")):
        raise PasswordTooCommon


def hash_new(password: str, cost: Cost) -> str:
    """The hash to store, with its parameters and salt; raises Unavailable when too busy."""
    with _slot():
        return _hasher(cost).hash(password)


def verify(stored: str | None, password: str, cost: Cost) -> bool:
    """Whether this is the password of the stored hash; raises Unavailable when too busy.

    Without a stored hash, a dummy is verified, so that the answer takes the same time.
    """
    hasher = _hasher(cost)
    with _slot():
        try:
            matches: bool = hasher.verify(stored or _dummy(cost), password)
        except (Argon2Error, InvalidHashError):
            return False
    return matches and stored is not None


def is_outdated(stored: str, cost: Cost) -> bool:
    """Whether the hash was made with another cost."""
    return _hasher(cost).check_needs_rehash(stored)


@lru_cache(maxsize=8)
def _hasher(cost: Cost) -> PasswordHasher:
    return PasswordHasher(
        time_cost=cost.time,
        memory_cost=cost.memory_kib,
        parallelism=cost.parallelism,
        hash_len=HASH_BYTES,
        salt_len=SALT_BYTES,
    )


@lru_cache(maxsize=8)
def _dummy(cost: Cost) -> str:
    """A hash of this cost with a random digest, which matches no known password."""
    salt, digest = (
        base64.b64encode(os.urandom(size)).rstrip(b"=").decode()
        for size in (SALT_BYTES, HASH_BYTES)
    )
    return f"$argon2id$v=19$m={cost.memory_kib},t={cost.time},p={cost.parallelism}${salt}${digest}"


@contextmanager
def _slot() -> Iterator[None]:
    """Wait for one of the slots for hashing; raises Unavailable after two seconds."""
    require(Lane.POOL)
    if not _slots.acquire(timeout=WAIT_SECONDS):
        raise Unavailable
    try:
        yield
    finally:
        _slots.release()
