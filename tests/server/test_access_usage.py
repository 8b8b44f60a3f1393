from __future__ import annotations

import asyncio
import logging
from collections import Counter
from datetime import datetime

import pytest

from dragoman.server import access
from dragoman.server.access import UsageLedger
from dragoman.server.request_log import request_number


class UsedCharacters:
    """Keeps usage in memory; refuses that of some keys."""

    def __init__(self) -> None:
        self.totals: Counter[int | None] = Counter()
        self.requests: Counter[int | None] = Counter()
        self.writes = 0
        self.refuses: set[int | None] = set()

    def charge(
        self,
        key: int | None,
        characters: int,
        now: datetime | None = None,
        *,
        limit: int | None = None,
        requests: int = 1,
    ) -> bool:
        self.writes += 1
        if key in self.refuses:
            raise OSError("the disk is full")
        self.totals[key] += characters
        self.requests[key] += requests
        return True


async def written(store: UsedCharacters, totals: dict[int | None, int]) -> None:
    while store.totals != totals:
        await asyncio.sleep(0.002)


def test_the_first_request_is_written_immediately_and_more_together() -> None:
    store = UsedCharacters()

    async def charge() -> None:
        book = UsageLedger(store.charge)
        for number in range(50):
            book.charge(1, 2)
            book.charge(None, 1)
            if number == 25:
                await written(store, {1: 52, None: 26})
        await book.close()

    asyncio.run(charge())
    assert store.totals == {1: 100, None: 50}
    assert store.requests == {1: 50, None: 50}
    assert store.writes == 4


def test_usage_is_written_though_nobody_closes_the_ledger(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access, "WRITE_SECONDS", 0.01)
    store = UsedCharacters()

    async def charge() -> None:
        book = UsageLedger(store.charge)
        for _ in range(3):
            book.charge(1, 1)
            await asyncio.sleep(0.005)
        await written(store, {1: 3})

    asyncio.run(charge())


def test_what_the_database_refuses_is_written_once_it_can_be(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(access, "RETRY_SECONDS", 0.01)
    store = UsedCharacters()

    async def charge() -> None:
        book = UsageLedger(store.charge)
        store.refuses = {2}
        book.charge(1, 5)
        book.charge(2, 7)
        await written(store, {1: 5})
        book.charge(2, 1)
        store.refuses = set()
        await written(store, {1: 5, 2: 8})
        await book.close()

    asyncio.run(charge())
    assert store.totals == {1: 5, 2: 8}
    assert store.requests == {1: 1, 2: 2}
    assert "usage cannot be written" in caplog.text


def test_a_database_that_is_away_is_reported_once_and_for_no_request(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(access, "RETRY_SECONDS", 0.01)
    store = UsedCharacters()
    store.refuses = {1}
    numbers: list[str] = []

    class Noted(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            numbers.append(request_number.get())

    async def charge() -> None:
        book = UsageLedger(store.charge)
        token = request_number.set("of a request")
        book.charge(1, 5)
        request_number.reset(token)
        while store.writes < 5:
            await asyncio.sleep(0.002)
        store.refuses = set()
        await written(store, {1: 5})
        await book.close()

    handler = Noted()
    access.log.addHandler(handler)
    try:
        asyncio.run(charge())
    finally:
        access.log.removeHandler(handler)
    assert caplog.text.count("usage cannot be written, and will be tried again") == 1
    assert numbers and set(numbers) == {""}


def test_what_cannot_be_written_at_the_end_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    store = UsedCharacters()
    store.refuses = {1}

    async def charge() -> None:
        book = UsageLedger(store.charge)
        book.charge(2, 5)
        book.charge(1, 5)
        await book.close()

    asyncio.run(charge())
    assert store.totals == {2: 5}
    assert "5 characters could not be charged" in caplog.text
