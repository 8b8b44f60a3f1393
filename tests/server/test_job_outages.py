"""No file is lost or translated twice while a disk is full or a database away."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Any

import pytest
from document_jobs import REQUEST, Progress, Work, ended, runner, upper

from dragoman.core.errors import DataError, StorageError
from dragoman.server import jobs
from dragoman.server.database.failures import (
    DamagedError,
    UnansweredError,
    UnwritableError,
)
from dragoman.server.database.records import DocumentJob
from dragoman.server.database.server_store import ServerStore
from dragoman.server.job_results import UNEXPECTED
from dragoman.translation.service.interface import TextRequest

pytestmark = pytest.mark.usefixtures("short_waits")


def test_files_outlast_a_database_that_is_away(
    store: ServerStore,
    translates: Callable[[Work], None],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    translates(upper)
    failures = [UnansweredError("the database is locked"), DamagedError("/srv/x: damaged")]
    content = store.job_content

    def away(identifier: str) -> bytes:
        if failures:
            raise failures.pop()
        return content(identifier)

    monkeypatch.setattr(store, "job_content", away)

    async def main() -> None:
        files = runner(store, documents_at_once=1)
        async with files.running():
            found = await ended(store, await files.submit("a.txt", b"text", REQUEST))
        assert found.state == "done" and not failures
        assert found.abandoned == 0  # no server has died of it

    asyncio.run(main())
    assert "/srv/x: damaged" in caplog.text and "is locked" in caplog.text
    assert "Traceback" not in caplog.text


def test_what_else_has_no_room_is_not_the_database(
    store: ServerStore, translates: Callable[[Work], None]
) -> None:
    """A file that cannot be translated has failed; it does not wait for a database that is well."""

    async def fail(name: str, content: bytes, request: TextRequest, progress: Progress) -> bytes:
        raise StorageError("cannot write /tmp: the disk is full")

    translates(fail)

    async def main() -> None:
        files = runner(store)
        async with files.running():
            found = await ended(store, await files.submit("a.txt", b"text", REQUEST))
        assert (found.state, found.message) == ("error", UNEXPECTED)

    asyncio.run(asyncio.wait_for(main(), 10))


class FullDisk:
    """Refuses what is written, and counts it, until it is freed."""

    def __init__(self, store: ServerStore, monkeypatch: pytest.MonkeyPatch) -> None:
        self.is_full, self.refused = False, 0
        for name in ("report_job", "finish_job", "claim_job"):
            monkeypatch.setattr(store, name, self._guarded(getattr(store, name)))

    def _guarded(self, write: Callable[..., Any]) -> Callable[..., Any]:
        def guarded(*arguments: Any, **named: Any) -> Any:
            if self.is_full:
                self.refused += 1
                raise UnansweredError("/srv/x: the disk is full; free some space") from OSError("x")
            return write(*arguments, **named)

        return guarded

    async def refuses(self, more: int) -> None:
        """Wait until so many more writes were refused."""
        before = self.refused
        while self.refused < before + more:
            await asyncio.sleep(0.005)


@pytest.fixture
def disk(store: ServerStore, monkeypatch: pytest.MonkeyPatch) -> FullDisk:
    return FullDisk(store, monkeypatch)


@pytest.mark.parametrize("fails", [False, True], ids=["translated", "broken"])
def test_a_file_is_translated_once_though_the_disk_is_full(
    store: ServerStore,
    translates: Callable[[Work], None],
    disk: FullDisk,
    fails: bool,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    begun_with: list[str] = []
    may_end = asyncio.Event()

    async def work(name: str, content: bytes, request: TextRequest, progress: Progress) -> bytes:
        begun_with.append(name)
        await may_end.wait()
        if fails:
            raise DataError("no text")
        return content

    translates(work)

    async def main() -> None:
        files = runner(store)
        async with files.running():
            job = await files.submit("a.txt", b"text", REQUEST)
            while not begun_with:
                await asyncio.sleep(0.005)
            monkeypatch.setattr(jobs, "_SILENT_SECONDS", 0.0)
            disk.is_full = True
            await disk.refuses(20)  # of reports, and of looks for other files
            may_end.set()
            await disk.refuses(20)  # of what has become of it
            disk.is_full = False
            found = await ended(store, job)
            await asyncio.sleep(0.05)
        assert (found.state, found.message) == (("error", "no text") if fails else ("done", None))
        assert found.abandoned == 0

    asyncio.run(main())
    assert begun_with == ["a.txt"]
    logged = [one for one in caplog.records if one.name == "dragoman.server.jobs"]
    errors = sorted(one.getMessage() for one in logged if one.levelno == logging.ERROR)
    again = "and will be tried again: /srv/x: the disk is full; free some space"
    assert errors == [
        f"a file cannot be read from the database, or written to it, {again}",
        f"files that wait cannot be looked for, {again}",
        f"how far a file is cannot be written, {again}",
    ]
    assert not any(one.exc_info for one in logged)
    assert sum(one.getMessage() == "the database answers again" for one in logged) == 2


def test_a_file_that_cannot_be_given_back_is_not_one_whose_server_died(
    store: ServerStore,
    translates: Callable[[Work], None],
    disk: FullDisk,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    translates(upper)
    content = store.job_content

    def away(identifier: str) -> bytes:
        if disk.is_full:
            raise UnansweredError("/srv/x: the disk is full; free some space")
        return content(identifier)

    monkeypatch.setattr(store, "job_content", away)
    claim = store.claim_job

    def claimed(*arguments: Any, **named: Any) -> DocumentJob | None:
        job = claim(*arguments, **named)
        if job is not None and not disk.refused:
            disk.is_full = True
            monkeypatch.setattr(jobs, "_SILENT_SECONDS", 0.0)
        return job

    monkeypatch.setattr(store, "claim_job", claimed)

    async def main() -> None:
        files = runner(store, documents_at_once=1)
        async with files.running():
            job = await files.submit("a.txt", b"text", REQUEST)
            await disk.refuses(10)
            disk.is_full = False
            found = await ended(store, job)
        assert (found.state, found.abandoned) == ("done", 0)

    asyncio.run(main())


def test_a_file_whose_reports_are_refused_is_not_begun_again(
    store: ServerStore, translates: Callable[[Work], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    begun_with: list[str] = []
    refused: list[str] = []
    may_end = asyncio.Event()

    async def work(name: str, content: bytes, request: TextRequest, progress: Progress) -> bytes:
        begun_with.append(name)
        await may_end.wait()
        return content

    def refuse(identifier: str, done: int, texts: int) -> bool:
        refused.append(identifier)
        raise UnansweredError("/srv/x: others have been writing for 10 seconds")

    translates(work)
    monkeypatch.setattr(store, "report_job", refuse)

    async def main() -> None:
        files = runner(store, documents_at_once=2)
        async with files.running():
            job = await files.submit("a.txt", b"text", REQUEST)
            while not begun_with:
                await asyncio.sleep(0.005)
            monkeypatch.setattr(jobs, "_SILENT_SECONDS", 0.0)
            while len(refused) < 20:
                await asyncio.sleep(0.005)
            may_end.set()
            found = await ended(store, job)
        assert (found.state, found.abandoned) == ("done", 0)

    asyncio.run(main())
    assert begun_with == ["a.txt"]


def test_a_server_ends_though_the_disk_is_full(
    store: ServerStore, translates: Callable[[Work], None], disk: FullDisk
) -> None:
    translates(upper)
    finish = store.finish_job
    freed = time.monotonic() + 5

    def slow(*arguments: Any, **named: Any) -> bool:
        disk.is_full = time.monotonic() < freed
        time.sleep(0.1)  # so that the server ends in the midst of it
        kept: bool = finish(*arguments, **named)
        return kept

    async def main() -> None:
        files = runner(store)
        async with files.running():
            store.finish_job = slow  # type: ignore[method-assign]
            await files.submit("a.txt", b"text", REQUEST)
            await disk.refuses(3)

    asyncio.run(asyncio.wait_for(main(), 10))
    assert time.monotonic() < freed


def test_a_look_that_finds_no_file_does_not_end_a_full_disk(
    store: ServerStore,
    translates: Callable[[Work], None],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    translates(upper)
    claim, looks = store.claim_job, 0

    def claimed(*arguments: Any, **named: Any) -> DocumentJob | None:
        nonlocal looks
        looks += 1
        if looks == 1:
            raise UnwritableError("/srv/x: the disk is full; free some space")
        return claim(*arguments, **named)

    monkeypatch.setattr(store, "claim_job", claimed)

    async def main() -> None:
        files = runner(store, documents_at_once=1)
        async with files.running():
            while looks < 5:  # as if another server had taken the file
                await asyncio.sleep(0.005)
            assert "answers again" not in caplog.text
            await ended(store, await files.submit("a.txt", b"text", REQUEST))

    asyncio.run(asyncio.wait_for(main(), 10))
    assert caplog.text.count("the database answers again") == 1
