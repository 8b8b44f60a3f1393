from __future__ import annotations

import asyncio
from collections import Counter
from datetime import datetime

import pytest

from dragoman.apps.server import ledger
from dragoman.apps.server.ledger import UsageLedger


class Usage:
    """Keeps usage in memory; refuses as often as it is told to."""

    def __init__(self) -> None:
        self.totals: Counter[int | None] = Counter()
        self.writes = 0
        self.refuses: set[int | None] = set()

    def charge(self, key: int | None, characters: int, now: datetime | None = None) -> None:
        self.writes += 1
        if key in self.refuses:
            raise OSError("the disk is full")
        self.totals[key] += characters

    def used(self, key: int | None, now: datetime | None = None) -> int:
        return self.totals[key]


def test_what_is_charged_is_counted_at_once_and_written_soon() -> None:
    store = Usage()
    store.totals[1] = 100

    async def charge() -> list[int]:
        book = UsageLedger(store)
        seen = [await book.used(1)]
        for _ in range(50):
            book.charge(1, 2)
            book.charge(None, 1)
            seen.append(await book.used(1))
        await asyncio.sleep(0.05)
        assert store.totals[1] > 100  # without waiting for the pause between writes
        await book.close()
        return seen

    assert asyncio.run(charge()) == list(range(100, 201, 2))
    assert store.totals == {1: 200, None: 50}
    assert store.writes <= 6  # together


def test_characters_that_another_process_charged_are_seen_later() -> None:
    store, now = Usage(), [0.0]

    async def charge() -> tuple[int, int]:
        book = UsageLedger(store, lambda: now[0])
        book.charge(1, 5)
        await book.used(1)
        store.totals[1] += 1000
        before = await book.used(1)
        now[0] += ledger.REREAD_SECONDS
        after = await book.used(1)
        await book.close()
        return before, after

    assert asyncio.run(charge()) == (5, 1005)


def test_what_the_database_refuses_is_written_once_it_can_be(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(ledger, "RETRY_SECONDS", 0.01)
    store = Usage()

    async def charge() -> None:
        book = UsageLedger(store)
        store.refuses = {2}
        book.charge(1, 5)
        book.charge(2, 7)
        await asyncio.sleep(0.03)
        assert await book.used(2) == 7
        store.refuses = set()
        await asyncio.sleep(0.03)
        await book.close()

    asyncio.run(charge())
    assert store.totals == {1: 5, 2: 7}
    assert "usage cannot be written" in caplog.text


def test_what_cannot_be_written_at_the_end_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    store = Usage()
    store.refuses = {1}

    async def charge() -> None:
        book = UsageLedger(store)
        book.charge(2, 5)
        book.charge(1, 5)
        await book.close()

    asyncio.run(charge())
    assert store.totals == {2: 5}
    assert "5 characters could not be charged" in caplog.text
