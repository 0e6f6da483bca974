"""Ids: UUIDv7, increasing whatever the clock does."""

import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest

from app.core import ids
from app.core.clock import now_ms


@pytest.fixture(autouse=True)
def _mark_of_now(monkeypatch):
    """Restore the last time after each test: ids never go back once the clock was set ahead."""
    monkeypatch.setattr(ids, "_last_ms", ids._last_ms)


def test_an_id_is_a_uuid_of_version_7_in_canonical_text():
    made = ids.new_id()
    known = uuid.UUID(made)
    assert str(known) == made
    assert (known.version, known.variant) == (7, uuid.RFC_4122)
    assert abs(ids.created_ms(made) - now_ms()) < 1000


def test_ids_grow_within_a_millisecond_and_beyond_its_counter(monkeypatch):
    moment = now_ms() + 5000
    monkeypatch.setattr(ids, "now_ms", lambda: moment)
    made = [ids.new_id() for _ in range(10_000)]
    assert made == sorted(set(made))
    # 4096 ids fit in a millisecond; further ones use future milliseconds.
    assert ids.created_ms(made[0]) == moment
    assert ids.created_ms(made[-1]) == moment + 2


def test_ids_grow_when_the_clock_steps_back(monkeypatch):
    start = now_ms() + 10_000
    steps = iter([start, start - 60_000, start - 1, start + 1, start - 5])
    monkeypatch.setattr(ids, "now_ms", lambda: next(steps))
    made = [ids.new_id() for _ in range(5)]
    assert made == sorted(set(made))


def test_ids_of_many_threads_are_all_different():
    with ThreadPoolExecutor(8) as pool:
        batches = list(pool.map(lambda _: [ids.new_id() for _ in range(500)], range(8)))
    assert all(batch == sorted(batch) for batch in batches)
    assert len({made for batch in batches for made in batch}) == 4000


@pytest.mark.parametrize(
    "text",
    ["", "x", "0" * 32, "{" + "0" * 36 + "}", "urn:uuid:" + "0" * 36, "0" * 36, "é" * 36],
)
def test_only_the_usual_form_is_a_uuid(text):
    assert ids.as_uuid(text) is None


def test_a_uuid_is_read_in_either_case():
    made = ids.new_id()
    assert ids.as_uuid(made.upper()) == made
    assert ids.as_uuid(made + "\n") is None
    # U+212A lower-cases to k, U+0130 to two characters: no letter of another script is accepted.
    assert ids.as_uuid("\u0130" + made[1:]) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("OPS-1", True),
        ("A1-12", True),
        ("ABCDEFGHIJ-1", True),
        ("ABCDEFGHIJK-1", False),
        ("A-1", False),
        ("ops-1", False),
        ("OPS-", False),
        ("OPS-1 ", False),
        ("OPS-١", False),
        ("OPS-1\n", False),
        ("1PS-1", False),
    ],
)
def test_a_display_id_has_a_key_and_a_number(text, expected):
    assert ids.is_display_id(text) is expected
