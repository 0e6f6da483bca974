"""The login limit: 5 attempts per 15 minutes per address and, separately, per username.

An IPv6 address counts as its /64; its /48, which one customer often owns, has 20 attempts.
The sliding windows are rows, so they apply across processes and hosts. An attempt is reserved
before its password is hashed; a refused one is not added, and a success refunds its own.
"""

import hashlib
import hmac
import ipaddress
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Literal

from sqlalchemy import or_, select, update
from sqlalchemy.dialects import postgresql, sqlite

from app.accounts import names
from app.accounts.models import LoginBucket
from app.audit.service import Target, record
from app.core import ids
from app.core.actor import ANONYMOUS
from app.core.clock import MINUTE_MS, now_ms
from app.core.errors import RateLimited, Unavailable
from app.database.session import is_postgresql, run_write, session

LIMIT = 5
# The limit of all /64 networks of one IPv6 /48 together.
SITE_LIMIT = 20
WINDOW_MS = 15 * MINUTE_MS
# Retention may delete a row between its insert and its lock; it is then inserted again.
LOCK_ATTEMPTS = 5

Kind = Literal["address", "username"]
Purpose = Literal["login", "reset"]
Hit = tuple[int, str]


@dataclass(frozen=True, slots=True)
class Bucket:
    """One window: of an address, of its site, or of a username."""

    kind: Kind
    key_hash: str
    limit: int = LIMIT


@dataclass(frozen=True, slots=True)
class LoginAttempt:
    """An attempt that is reserved in all of its windows."""

    id: str
    buckets: tuple[Bucket, ...]


@dataclass(frozen=True, slots=True)
class Exhausted:
    """A refused attempt, and the full windows that are not in the audit log yet."""

    retry_after_seconds: int
    unrecorded: tuple[Bucket, ...]


def buckets_of(
    secret_key: str, address: str, username: str | None, purpose: Purpose = "login"
) -> tuple[Bucket, ...]:
    """The windows of an attempt in locking order: the widest first.

    ``username`` is in the form of ``names.looked_up``, or None for an attempt that names nobody.
    Each ``purpose`` has separate windows. The keys are HMACs, so rows do not reveal identities.
    """
    keyed = partial(_keyed, secret_key, purpose)
    network, site = network_of(address), site_of(address)
    windows = [Bucket("address", keyed("address", network))]
    if site is not None:
        windows.insert(0, Bucket("address", keyed("address", site), SITE_LIMIT))
    if username is not None:
        windows.append(Bucket("username", keyed("username", username)))
    return tuple(windows)


def network_of(address: str) -> str:
    """The network that counts: an IPv4 address, also if mapped into IPv6, or an IPv6 /64."""
    parsed = _parsed(address)
    if parsed is None:
        return address
    return _prefix(parsed, 64) if isinstance(parsed, ipaddress.IPv6Address) else str(parsed)


def site_of(address: str) -> str | None:
    """The /48 of an IPv6 address; None for any other."""
    parsed = _parsed(address)
    return _prefix(parsed, 48) if isinstance(parsed, ipaddress.IPv6Address) else None


def is_address(text: str) -> bool:
    return _parsed(text) is not None


def _parsed(address: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The parsed address, a mapped one as IPv4; None if the text is not an address."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return None
    mapped = parsed.ipv4_mapped if isinstance(parsed, ipaddress.IPv6Address) else None
    return mapped or parsed


def _prefix(address: ipaddress.IPv6Address, length: int) -> str:
    rest = 128 - length
    return f"{ipaddress.IPv6Address(int(address) >> rest << rest)}/{length}"


def _keyed(secret_key: str, purpose: Purpose, kind: Kind, value: str) -> str:
    message = f"{purpose}:{kind}:{value}".encode()
    return hmac.new(secret_key.encode(), message, hashlib.sha256).hexdigest()


def reserve(
    secret_key: str, address: str, username: str | None, purpose: Purpose = "login"
) -> LoginAttempt:
    """Add an attempt to its windows; raises RateLimited, audited once per full window."""
    buckets = buckets_of(secret_key, address, username, purpose)
    outcome = run_write(lambda: _reserve(buckets))
    if isinstance(outcome, LoginAttempt):
        return outcome
    if outcome.unrecorded:
        run_write(lambda: _record(outcome, username or ""))
    raise RateLimited(outcome.retry_after_seconds)


def refund(attempt: LoginAttempt) -> None:
    """Remove this one attempt from its windows, in the current transaction."""
    for bucket in attempt.buckets:
        row = _lock(bucket)
        if row is not None:
            _store(bucket, [hit for hit in row.hits if hit[1] != attempt.id])


@contextmanager
def refund_if_unavailable(attempt: LoginAttempt) -> Iterator[None]:
    """Refund the attempt if verifying its password raises Unavailable: nothing was verified."""
    try:
        yield
    except Unavailable:
        run_write(lambda: refund(attempt))
        raise


@dataclass(frozen=True, slots=True)
class _Locked:
    hits: list[Hit]
    audited_at: int | None


def _reserve(buckets: tuple[Bucket, ...]) -> LoginAttempt | Exhausted:
    moment = now_ms()
    rows: dict[Bucket, _Locked] = {}
    full: dict[Bucket, list[Hit]] = {}
    for bucket in buckets:
        # A full address adds no further rows, so one host cannot grow the table at will.
        row = _lock(bucket) if full else _lock_or_insert(bucket)
        if row is None:
            continue
        rows[bucket] = row
        hits = _within(row.hits, moment)
        if len(hits) >= bucket.limit:
            full[bucket] = hits
    if full:
        _clamp(rows, moment)
        latest = max(hits[-bucket.limit][0] for bucket, hits in full.items()) + WINDOW_MS
        unrecorded = tuple(bucket for bucket in full if _is_unrecorded(rows[bucket], moment))
        return Exhausted(max(1, -((moment - latest) // 1000)), unrecorded)
    attempt = LoginAttempt(ids.new_id(), buckets)
    for bucket, row in rows.items():
        _store(bucket, [*_within(row.hits, moment), (moment, attempt.id)])
    return attempt


def _clamp(rows: dict[Bucket, _Locked], moment: int) -> None:
    """Move future hits to now; they would count too long after the clock was set back."""
    for bucket, row in rows.items():
        if any(hit_at > moment for hit_at, _ in row.hits):
            _store(bucket, _within(row.hits, moment))


def _within(hits: list[Hit], moment: int) -> list[Hit]:
    """The hits of the window that ends at ``moment``; future hits are moved to ``moment``."""
    clamped = [(min(hit_at, moment), attempt) for hit_at, attempt in hits]
    return [hit for hit in clamped if hit[0] > moment - WINDOW_MS]


def _is_unrecorded(row: _Locked, moment: int) -> bool:
    return row.audited_at is None or row.audited_at <= moment - WINDOW_MS


def _lock_or_insert(bucket: Bucket) -> _Locked:
    """Lock the row of a window, inserting it if it is missing; raises Unavailable."""
    for _ in range(LOCK_ATTEMPTS):
        dialect = postgresql if is_postgresql() else sqlite
        session.execute(
            dialect.insert(LoginBucket)
            .values(key_hash=bucket.key_hash, hits=[], updated_at=now_ms())
            .on_conflict_do_nothing(index_elements=["key_hash"])
        )
        row = _lock(bucket)
        if row is not None:
            return row
    raise Unavailable


def _lock(bucket: Bucket) -> _Locked | None:
    row = session.execute(
        select(LoginBucket.hits, LoginBucket.audited_at)
        .where(LoginBucket.key_hash == bucket.key_hash)
        .with_for_update()
    ).first()
    if row is None:
        return None
    return _Locked([(int(hit_at), str(attempt)) for hit_at, attempt in row.hits], row.audited_at)


def _store(bucket: Bucket, hits: list[Hit]) -> None:
    session.execute(
        update(LoginBucket)
        .where(LoginBucket.key_hash == bucket.key_hash)
        .values(hits=[list(hit) for hit in hits], updated_at=now_ms())
    )


def _record(outcome: Exhausted, username: str) -> None:
    """Record each full window, unless another request has already done so."""
    moment = now_ms()
    for bucket in outcome.unrecorded:
        claimed = session.execute(
            update(LoginBucket)
            .where(
                LoginBucket.key_hash == bucket.key_hash,
                or_(
                    LoginBucket.audited_at.is_(None),
                    LoginBucket.audited_at <= moment - WINDOW_MS,
                ),
            )
            .values(audited_at=moment)
            .returning(LoginBucket.key_hash)
        ).first()
        if claimed is not None:
            record(
                ANONYMOUS,
                "auth.login.rate_limited",
                Target("user"),
                username=names.as_logged(username),
                bucket=bucket.kind,
                retry_after_seconds=outcome.retry_after_seconds,
            )
