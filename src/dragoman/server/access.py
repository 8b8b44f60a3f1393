"""Who may ask for how much: keys, sizes, rates and quotas."""

from __future__ import annotations

import asyncio
import hashlib
import ipaddress
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from dragoman.server.database.records import ApiKey
from dragoman.server.ledger import KeepsUsage, UsageLedger
from dragoman.server.rates import RequestRates
from dragoman.server.server_config import LimitsConfig
from dragoman.server.threads import in_thread
from dragoman.translation.service.interface import RefusedError

KNOWN_SECONDS = 5.0
"""How long a key is believed after it was looked up: so long a revoked one may still be used."""
UNKNOWN_SECONDS = 1.0
"""How long a secret without a key is remembered."""
MAX_KEYS = 10_000
"""Secrets that are remembered at once."""
LONGEST_SECRET = 1000
"""In characters; nothing longer is a key."""


class KeepsKeys(KeepsUsage, Protocol):
    """What a guard needs from a :class:`~dragoman.server.database.server_store.ServerStore`."""

    def find_key(self, secret: str) -> ApiKey | None:
        """The key of a secret; None if there is none, or it is revoked."""

    def has_keys(self) -> bool:
        """Whether any key was ever made."""

    def used(self, key: int | None, now: datetime | None = None) -> int:
        """Characters that a key has used in this month."""


class _Found(NamedTuple):
    key: ApiKey | None
    is_admitted: bool
    until: float
    """When the store is to be asked again."""


class Guard:
    """Admits requests within the limits; see :class:`~dragoman.server.dependencies.Admits`.

    It must be used in one event loop, and closed there.

    Args:
        store: where keys and their usage are kept.
        limits: of all clients; a key may have limits of its own.
        require_key: whether requests without a key are refused.
        clock: tells the time, in seconds.
        count: told of the characters of each request that is admitted.
    """

    def __init__(
        self,
        store: KeepsKeys,
        limits: LimitsConfig,
        *,
        require_key: bool = False,
        clock: Callable[[], float] = time.monotonic,
        count: Callable[[int], object] = lambda characters: None,
    ) -> None:
        self._store, self._limits, self._require_key = store, limits, require_key
        self._clock, self._count = clock, count
        self._rates = RequestRates(clock=clock)
        self._ledger = UsageLedger(store)
        self._keys: OrderedDict[bytes, _Found] = OrderedDict()

    async def admit(
        self, secret: str | None, address: str, texts: Sequence[str] = (), *, files: bool = False
    ) -> ApiKey | None:
        """Admit a request, and count it and its characters, whatever becomes of it then.

        A request above the rate waits for its turn, if that comes soon.  A file is admitted while
        any of the quota is left.

        Raises:
            RefusedError: ``forbidden``, ``too_large``, ``too_many_requests`` or
                ``quota_exceeded``.
            StorageError, SavedError: the database cannot be asked.
        """
        key = await self._identified(secret)
        characters = self._fitting(texts)
        await self._in_turn(key, address)
        quota = monthly_quota(key, self._limits)
        if key is not None and quota is not None:
            if files and not characters:
                await self._check_any_left(key, quota)
            elif characters:
                await self._charge_within(key, quota, characters)
        else:
            self._charge(None if key is None else key.id, characters)
        return key

    def count(self, characters: int) -> None:
        """Let monitoring know of characters that are charged already."""
        self._count(characters)

    def _charge(self, key: int | None, characters: int) -> None:
        """Count characters, whatever the quota."""
        if characters:
            self._ledger.charge(key, characters)
            self._count(characters)

    async def close(self) -> None:
        """Write what is charged and not written yet."""
        await self._ledger.close()

    async def _identified(self, secret: str | None) -> ApiKey | None:
        if not secret:
            if self._require_key:
                raise RefusedError("forbidden", "this server needs a key; send yours")
            return None
        key, is_known = await self._looked_up(secret)
        if not is_known:
            raise RefusedError(
                "forbidden", "there is no such key, or it is revoked; ask whoever runs this server"
            )
        return key

    async def _looked_up(self, secret: str) -> tuple[ApiKey | None, bool]:
        """The key of a secret, and whether it is admitted, remembered for some seconds by digest.

        Clients that insist on a key may send any to a server that has none and requires none.
        """
        if len(secret) > LONGEST_SECRET:
            return None, False
        digest = hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()
        found = self._keys.get(digest)
        if found is None or found.until <= self._clock():
            found = await in_thread(self._look_up, secret)
            self._keys[digest] = found
            self._keys.move_to_end(digest)
            if len(self._keys) > MAX_KEYS:
                self._keys.popitem(last=False)
        return found.key, found.is_admitted

    def _look_up(self, secret: str) -> _Found:
        """Ask the store, in a thread."""
        if (key := self._store.find_key(secret)) is not None:
            return _Found(key, True, self._clock() + KNOWN_SECONDS)
        is_admitted = not (self._require_key or self._store.has_keys())
        return _Found(None, is_admitted, self._clock() + UNKNOWN_SECONDS)

    def _fitting(self, texts: Sequence[str]) -> int:
        """The characters of texts that are within the bounds."""
        limits = self._limits
        if len(texts) > limits.items:
            raise RefusedError(
                "too_large", f"{len(texts)} texts in one request; send at most {limits.items}"
            )
        characters = sum(map(len, texts))
        if characters > limits.characters:
            raise RefusedError(
                "too_large",
                f"{characters} characters in one request; send at most {limits.characters}",
            )
        return characters

    async def _in_turn(self, key: ApiKey | None, address: str) -> None:
        limit = self._limits.requests_per_minute
        if key is not None and key.requests_per_minute is not None:
            limit = key.requests_per_minute
        if limit is None:
            return
        client = network_of(address) if key is None else key.id
        patience = self._limits.patience_seconds
        wait = self._rates.take_turn(client, limit, patience)
        if wait > patience:
            raise RefusedError(
                "too_many_requests",
                f"more than {limit} requests per minute; try again in {wait:.0f} seconds",
                wait,
            )
        if wait:
            await asyncio.sleep(wait)

    async def _check_any_left(self, key: ApiKey, quota: int) -> None:
        used = await in_thread(self._store.used, key.id)
        if used >= quota:
            raise _exceeded(quota, "none is left")

    async def _charge_within(self, key: ApiKey, quota: int, characters: int) -> None:
        """Count characters in the database at once, which knows what other processes count."""
        if not await in_thread(self._store.charge, key.id, characters, limit=quota):
            raise _exceeded(quota, f"{characters} more are too many")
        self._count(characters)


def monthly_quota(key: ApiKey | None, limits: LimitsConfig) -> int | None:
    """Characters that a key may use per month; None: any number, as whoever brings no key."""
    if key is None:
        return None
    if key.characters_per_month is not None:
        return key.characters_per_month
    return limits.characters_per_month


def _exceeded(quota: int, why: str) -> RefusedError:
    return RefusedError(
        "quota_exceeded",
        f"this key may use {quota} characters per month, and {why}; wait for the next month, or "
        "ask whoever runs this server for more",
    )


def network_of(address: str) -> str:
    """What requests without a key are counted by: an IPv4 address, or the /64 of an IPv6 address.

    A household or server usually has all addresses of its /64.
    """
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address  # such as the path of a socket
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.ip_network((found, 64), strict=False))
