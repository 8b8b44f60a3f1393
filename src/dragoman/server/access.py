"""Access control: keys, sizes, rates and quotas."""

from __future__ import annotations

import asyncio
import hashlib
import ipaddress
import logging
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Sequence
from contextvars import Context
from typing import NamedTuple

import anyio
from anyio import to_thread

from dragoman.server.database.failures import Outage
from dragoman.server.database.records import ApiKey
from dragoman.server.database.server_store import ServerStore, in_thread
from dragoman.server.server_config import LimitsConfig
from dragoman.translation.service.interface import RefusedError

log = logging.getLogger(__name__)

KNOWN_SECONDS = 5.0
"""Lifetime of a cached key; a revoked key may still be used for this long."""
UNKNOWN_SECONDS = 1.0
"""Lifetime of a cached secret that has no key."""
MAX_KEYS = 10_000
"""Maximum number of cached secrets."""
LONGEST_SECRET = 1000
"""In characters; a longer secret has no key."""
MAX_CLIENTS = 100_000
"""Maximum number of clients whose rates are tracked; the longest silent is forgotten first."""
WRITE_SECONDS = 0.25
"""Minimum time between two writes: a killed process loses the usage since the last write."""
RETRY_SECONDS = 5.0
"""How long to wait after the database has refused a write."""


class _Found(NamedTuple):
    key: ApiKey | None
    is_admitted: bool
    until: float
    """When to query the store again."""


class AccessControl:
    """Admits requests within the limits.

    It must be used and closed in one event loop.

    Args:
        store: keeps keys and their usage.
        limits: of all clients, unless a key has other limits.
        require_key: whether requests without a key are refused.
        clock: gives the time, in seconds.
        count: receives the number of characters of each admitted request.
    """

    def __init__(
        self,
        store: ServerStore,
        limits: LimitsConfig,
        *,
        require_key: bool = False,
        clock: Callable[[], float] = time.monotonic,
        count: Callable[[int], object] = lambda characters: None,
    ) -> None:
        self._store, self._limits, self._require_key = store, limits, require_key
        self._clock, self._count = clock, count
        self._rates = RequestRates(clock=clock)
        self._ledger = UsageLedger(store.charge)
        self._keys: OrderedDict[bytes, _Found] = OrderedDict()

    async def admit(
        self, secret: str | None, address: str, texts: Sequence[str] = (), *, files: bool = False
    ) -> ApiKey | None:
        """Admit a request, and count it and its characters even if it fails later.

        A request above the rate waits for its turn, if that comes soon.  A file is admitted while
        any of the quota is left.

        Args:
            secret: the key in the request, if any.
            address: of the client.
            texts: to be translated or detected.
            files: whether the request has files, whose characters are charged on translation.

        Returns:
            The key, if the request has a valid one.

        Raises:
            RefusedError: ``forbidden``, ``too_large``, ``too_many_requests`` or
                ``quota_exceeded``.
            StorageError, SavedError: the database does not answer.
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
            self._charge(key_id(key), characters)
        return key

    def count(self, characters: int) -> None:
        """Report characters that are already charged, such as those of a file, to monitoring."""
        self._count(characters)

    def _charge(self, key: int | None, characters: int) -> None:
        """Count characters without checking the quota."""
        if characters:
            self._ledger.charge(key, characters)
            self._count(characters)

    async def close(self) -> None:
        """Write the usage that is not written yet."""
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
        """The key of a secret, and whether it is admitted; cached by digest for some seconds.

        A server that has no keys and requires none accepts any, for clients that insist on a key.
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
        """Query the store; blocks."""
        if (key := self._store.find_key(secret)) is not None:
            return _Found(key, True, self._clock() + KNOWN_SECONDS)
        is_admitted = not (self._require_key or self._store.has_keys())
        return _Found(None, is_admitted, self._clock() + UNKNOWN_SECONDS)

    def _fitting(self, texts: Sequence[str]) -> int:
        """The number of characters of texts, after checking the bounds."""
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
        """Count characters in the database immediately, as other processes count there as well."""
        if not await in_thread(self._store.charge, key.id, characters, limit=quota):
            raise _exceeded(quota, f"{characters} more are too many")
        self._count(characters)


class RequestRates:
    """Limits the requests of each client per minute.

    A client above its limit gets the time until its next turn.  That turn is reserved, so waiting
    requests keep their order.
    """

    def __init__(self, window: float = 60, clock: Callable[[], float] = time.monotonic) -> None:
        self._window, self._clock = window, clock
        self._turns: OrderedDict[Hashable, deque[float]] = OrderedDict()

    def take_turn(self, client: Hashable, limit: int, patience: float) -> float:
        """The seconds until the turn of this request, which is taken if within ``patience``.

        A client is a key or a network, and times are in seconds.
        """
        now = self._clock()
        turns = self._turns.setdefault(client, deque())
        self._turns.move_to_end(client)
        while turns and turns[0] <= now - self._window:
            turns.popleft()
        # There may be more turns than the limit, as a limit can be lowered.
        wait = max(0.0, turns[-limit] + self._window - now) if len(turns) >= limit else 0.0
        if wait <= patience:
            turns.append(now + wait)
        self._forget(now)
        return wait

    def _forget(self, now: float) -> None:
        """Drop clients whose window is over, and those above the maximum."""
        while self._turns:
            client, turns = next(iter(self._turns.items()))
            is_over = not turns or turns[-1] <= now - self._window
            if not is_over and len(self._turns) <= MAX_CLIENTS:
                return
            del self._turns[client]


class _Used(NamedTuple):
    characters: int = 0
    requests: int = 0


class UsageLedger:
    """Collects usage, and writes it in the background.

    The first request after a pause is written immediately, later ones together.  It must be used
    and closed in one event loop.  ``charge`` writes the usage of a key, and blocks.
    """

    def __init__(self, charge: Callable[..., object]) -> None:
        self._write_charge = charge
        self._pending: dict[int | None, _Used] = {}
        self._writing: asyncio.Task[None] | None = None
        self._lock = asyncio.Lock()
        self._closing = asyncio.Event()
        self._outage = Outage(log, "usage cannot be written")

    def charge(self, key: int | None, characters: int) -> None:
        """Count a request of a key (None: of all clients without a key)."""
        self._add(key, _Used(characters, 1))
        if self._writing is None or self._writing.done():
            loop = asyncio.get_running_loop()
            # In a new context: otherwise its log lines would carry the number of this request.
            self._writing = Context().run(lambda: loop.create_task(self._write()))

    async def close(self) -> None:
        """Write the rest.  Usage that the database refuses now is lost, and this is logged."""
        self._closing.set()
        if self._writing is not None:
            await self._writing
        await self._write_once()
        if lost := sum(used.characters for used in self._pending.values()):
            log.error("%d characters could not be charged", lost)

    def _add(self, key: int | None, used: _Used) -> None:
        before = self._pending.get(key, _Used())
        self._pending[key] = _Used(*(a + b for a, b in zip(before, used, strict=True)))

    async def _write(self) -> None:
        while self._pending and not self._closing.is_set():
            pause = WRITE_SECONDS if await self._write_once() else RETRY_SECONDS
            with anyio.move_on_after(pause):
                await self._closing.wait()

    async def _write_once(self) -> bool:
        """Write the pending usage; False if the database refused."""
        async with self._lock:
            batch, self._pending = self._pending, {}
            error = await to_thread.run_sync(self._charge_all, batch)
            for key, used in batch.items():
                self._add(key, used)
        if error is None:
            self._outage.end()
        else:
            self._outage.begin(error)
        return error is None

    def _charge_all(self, batch: dict[int | None, _Used]) -> Exception | None:
        """Write a batch, removing each written entry; blocks.  Returns the error, if any."""
        for key, used in list(batch.items()):
            try:
                self._write_charge(key, used.characters, requests=used.requests)
            except Exception as error:
                return error
            del batch[key]
        return None


def monthly_quota(key: ApiKey | None, limits: LimitsConfig) -> int | None:
    """Characters that a key may use per month; None: unlimited, as for clients without a key."""
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


def key_id(key: ApiKey | None) -> int | None:
    """The number of a key in the database."""
    return None if key is None else key.id


def network_of(address: str) -> str:
    """The unit by which requests without a key are counted: an IPv4 address, or an IPv6 /64.

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
