"""Files are translated in the background, whatever happens to the server."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import PurePosixPath
from typing import Any

import pytest
from document_jobs import (
    REQUEST,
    Progress,
    Work,
    begun,
    document_job,
    ended,
    endless,
    runner,
    upper,
)
from echo_service import EchoService
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.core.errors import (
    DataError,
    MissingExtraError,
    WorkerError,
)
from dragoman.server import jobs
from dragoman.server.database.records import DocumentJob, JobState
from dragoman.server.database.server_store import ServerStore
from dragoman.server.job_results import UNEXPECTED, seconds_remaining
from dragoman.server.jobs import JobRunner
from dragoman.server.server_config import LimitsConfig
from dragoman.text.terms.glossary import Glossary
from dragoman.text.terms.glossary_files import Term
from dragoman.translation.service.interface import RefusedError, TextRequest

NOW = datetime(2026, 1, 1, tzinfo=UTC)

pytestmark = pytest.mark.usefixtures("short_waits")


def test_a_file_is_translated_and_charged(
    store: ServerStore, translates: Callable[[Work], None]
) -> None:
    translates(upper)
    counted: list[int] = []
    before = store.used(None)

    async def main() -> None:
        running = JobRunner(EchoService(), store, LimitsConfig(), counted.append)
        async with running.running():
            job = await running.submit("a/b\\c.txt", b"text", REQUEST)
            assert job.state == "queued" and job.file_name == "c.txt"
            found = await ended(store, job)
        assert (found.state, found.characters, found.result_name) == ("done", 4, "new c.txt")
        assert store.take_result(job.id, delete=True) == b"TEXT"

    asyncio.run(main())
    assert counted == [4]
    assert store.used(None) == before + 4


def test_a_server_that_ends_charges_what_it_has_kept(
    store: ServerStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[int] = []
    finish = store.finish_job

    def slow(identifier: str, state: JobState, **values: Any) -> bool:
        kept = finish(identifier, state, **values)
        time.sleep(0.1)
        return kept

    monkeypatch.setattr(store, "finish_job", slow)

    async def main() -> None:
        running = JobRunner(EchoService(), store, LimitsConfig(), counted.append)
        async with running.running():
            job = await running.submit("a.txt", b"text", REQUEST)
            await ended(store, job)
        assert (await ended(store, job)).state == "done"

    asyncio.run(main())
    assert len(counted) == 1


@pytest.mark.parametrize("steps", range(5))
def test_a_server_ends_even_as_a_file_arrives(store: ServerStore, steps: int) -> None:
    async def main() -> None:
        files = runner(store)
        async with asyncio.timeout(20):
            async with files.running():
                await asyncio.sleep(0.1)  # now they wait for files
                await files.submit("a.txt", b"text", REQUEST)
                for _ in range(steps):
                    await asyncio.sleep(0)

    asyncio.run(main())


def test_all_that_is_asked_for_is_kept(
    store: ServerStore, translates: Callable[[Work], None]
) -> None:
    asked: list[TextRequest] = []

    async def note(name: str, content: bytes, request: TextRequest, progress: Progress) -> bytes:
        asked.append(request)
        return b""

    translates(note)
    terms = (Term("a", ("b", "c"), case_sensitive=True), Term("x", ("x",), do_not_translate=True))
    request = TextRequest(
        "",
        target="pt-BR",
        split="flowing",
        tags=("<formal>",),
        context="Before.",
        memory=False,
        glossary=Glossary(terms),
    )

    async def main() -> None:
        files = runner(store)
        async with files.running():
            await ended(store, await files.submit("a.txt", b"text", request))

    asyncio.run(main())
    found = asked[0]
    assert found.glossary is not None and found.glossary.terms == terms
    assert (found.source, found.target) == (None, "pt-br")
    assert (found.split, found.tags, found.context) == ("flowing", ("<formal>",), "Before.")
    assert not found.memory


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (RefusedError("invalid", "not UTF-8"), "not UTF-8"),
        (DataError("no text"), "no text"),
        (ZeroDivisionError("secret"), UNEXPECTED),
        (WorkerError("a worker was killed by signal 9; repeat with fewer"), UNEXPECTED),
        (MissingExtraError("install /opt/dragoman with its extra"), UNEXPECTED),
    ],
)
def test_what_went_wrong_is_said(
    store: ServerStore,
    translates: Callable[[Work], None],
    caplog: pytest.LogCaptureFixture,
    error: Exception,
    said: str,
) -> None:
    """To the client, if it can do something about it; otherwise in the log."""

    async def fail(name: str, content: bytes, request: TextRequest, progress: Progress) -> bytes:
        raise error

    translates(fail)

    async def main() -> None:
        files = runner(store)
        async with files.running():
            found = await ended(store, await files.submit("a.txt", b"text", REQUEST))
        assert (found.state, found.message) == ("error", said)

    asyncio.run(main())
    assert (str(error) in caplog.text) == (said == UNEXPECTED)


def test_terms_are_prepared_beside_the_event_loop(
    store: ServerStore, translates: Callable[[Work], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Thousands of them take seconds, in which nobody else would be answered."""
    translates(upper)
    prepared = []

    def beside(terms: Sequence[Term]) -> Glossary:
        with pytest.raises(RuntimeError, match="no running event loop"):
            asyncio.get_running_loop()
        prepared.append(list(terms))
        return Glossary(terms)

    request = replace(REQUEST, glossary=Glossary([Term("a", ("b",))]))
    monkeypatch.setattr(jobs, "Glossary", beside)

    async def main() -> None:
        files = runner(store)
        async with files.running():
            found = await ended(store, await files.submit("a.txt", b"text", request))
        assert found.state == "done"

    asyncio.run(main())
    assert prepared == [[Term("a", ("b",))]]


def test_a_file_waits_for_its_place_in_a_full_queue(
    store: ServerStore, translates: Callable[[Work], None]
) -> None:
    refusals = [RefusedError("busy", "full", 0.01), RefusedError("timed_out", "late", 0.01)]

    async def patient(name: str, content: bytes, request: TextRequest, progress: Progress) -> bytes:
        if refusals:
            raise refusals.pop()
        return b"done"

    translates(patient)

    async def main() -> None:
        files = runner(store)
        async with files.running():
            found = await ended(store, await files.submit("a.txt", b"text", REQUEST))
        assert found.state == "done" and not refusals

    asyncio.run(main())


def test_a_file_that_another_loop_took_up_is_given_back(
    store: ServerStore, translates: Callable[[Work], None]
) -> None:
    """The loop that put it back, as the service was busy, forgets it at once and not later."""
    pause, tries = 0.2, []

    async def busy_once(
        name: str, content: bytes, request: TextRequest, progress: Progress
    ) -> bytes:
        tries.append(name)
        if len(tries) == 1:
            raise RefusedError("busy", "full", pause)
        return await endless(name, content, request, progress)

    translates(busy_once)

    async def main() -> None:
        files = runner(store, documents_at_once=2)
        async with files.running():
            job = await files.submit("a.txt", b"text", REQUEST)
            await begun(store, job)
            await asyncio.sleep(2 * pause)
            assert len(tries) == 2
        assert (await ended(store, job, "translating", "queued")).state == "queued"

    asyncio.run(main())


def test_a_busy_server_that_ends_takes_no_file_from_another(
    store: ServerStore, translates: Callable[[Work], None]
) -> None:
    asked = asyncio.Event()

    async def busy(name: str, content: bytes, request: TextRequest, progress: Progress) -> bytes:
        asked.set()
        raise RefusedError("busy", "full", 1000)

    async def main() -> None:
        translates(busy)
        first, second = (runner(store, documents_at_once=1) for _ in range(2))
        async with second.running():
            async with first.running():
                # Held back from the second one until the first one has given up.
                second._tasks[0].cancel()
                job = await first.submit("a.txt", b"text", REQUEST)
                await asked.wait()  # "translating" is too short to be sure to see it
                await ended(store, job, "queued")
                await asyncio.sleep(0.05)
                translates(endless)
                taking = asyncio.create_task(second._translate_all())
                await begun(store, job)
            assert (await ended(store, job, "translating", "queued")).state == "translating"
            taking.cancel()
            await asyncio.gather(taking, return_exceptions=True)

    asyncio.run(main())


def test_a_server_that_ends_gives_its_files_back(
    store: ServerStore, translates: Callable[[Work], None]
) -> None:
    async def main() -> None:
        translates(endless)
        first = runner(store)
        async with first.running():
            job = await first.submit("a.txt", b"text", REQUEST)
            await begun(store, job)
        assert (await ended(store, job, "queued")).message is None
        translates(upper)
        async with runner(store).running():
            assert (await ended(store, job)).state == "done"

    asyncio.run(main())


def test_a_file_that_is_claimed_while_the_server_ends_is_given_back(
    store: ServerStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, ending, claimed = (threading.Event() for _ in range(3))
    claim_job = store.claim_job

    def slow(
        silent_since: datetime, at_work: Collection[str], *, most_bytes: int | None
    ) -> DocumentJob | None:
        asked.set()
        assert ending.wait(10)
        try:
            return claim_job(silent_since, at_work, most_bytes=most_bytes)
        finally:
            claimed.set()

    async def main() -> None:
        first = runner(store)
        async with first.running():
            monkeypatch.setattr(store, "claim_job", slow)
            job = await first.submit("a.txt", b"text", REQUEST)
            while not asked.is_set():
                await asyncio.sleep(0.01)
            asyncio.get_running_loop().call_later(0.1, ending.set)
        assert await asyncio.to_thread(claimed.wait, 10)
        found = store.job(job.id)
        assert found is not None and found.state == "queued"

    asyncio.run(main())


def test_a_server_that_was_killed_is_succeeded(
    store: ServerStore, translates: Callable[[Work], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    translates(upper)

    async def main() -> None:
        job = await runner(store).submit("a.txt", b"text", REQUEST)
        assert store.claim_job(datetime.now(UTC)) is not None  # and nothing more
        # One at once: soon whoever is silent at all is dead, and a second loop of the same server
        # would take the file from the first one.
        async with runner(store, documents_at_once=1).running():
            await asyncio.sleep(0.05)
            assert (await ended(store, job, "translating")).state == "translating"
            monkeypatch.setattr(jobs, "_SILENT_SECONDS", 0.0)
            assert (await ended(store, job)).state == "done"

    asyncio.run(main())


def test_a_file_of_two_servers_is_charged_once(
    store: ServerStore, translates: Callable[[Work], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when a server stands still, or the clock of the other one jumps by an hour."""
    both = asyncio.Event()
    before = store.used(None)
    begun_by = []

    async def together(
        name: str, content: bytes, request: TextRequest, progress: Progress
    ) -> bytes:
        begun_by.append(name)
        if len(begun_by) == 2:
            both.set()
        await both.wait()
        return content

    translates(together)
    monkeypatch.setattr(jobs, "_SILENT_SECONDS", -1.0)
    counted: list[int] = []
    limits = LimitsConfig(documents_at_once=1, small_documents_at_once=0)

    async def main() -> None:
        first, second = (JobRunner(EchoService(), store, limits, counted.append) for _ in range(2))
        async with first.running():
            job = await first.submit("a.txt", b"text", REQUEST)
            await ended(store, job, "translating")
            async with second.running():
                assert (await ended(store, job)).state == "done"

    asyncio.run(main())
    assert len(begun_by) == 2
    assert counted == [4]
    assert store.used(None) == before + 4


def test_a_file_that_kills_servers_is_given_up(
    store: ServerStore, translates: Callable[[Work], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    translates(upper)
    monkeypatch.setattr(jobs, "_SILENT_SECONDS", 0.0)

    async def main() -> None:
        job = await runner(store).submit("a.txt", b"text", REQUEST)
        for _ in range(3):
            assert store.claim_job(datetime.now(UTC)) is not None
        async with runner(store).running():
            found = await ended(store, job)
        assert found.message == "the server ended several times while it translated the file"

    asyncio.run(main())


def test_a_file_that_nobody_wants_any_more_is_let_go(
    store: ServerStore, translates: Callable[[Work], None]
) -> None:
    stopped = asyncio.Event()

    async def work(name: str, content: bytes, request: TextRequest, progress: Progress) -> bytes:
        try:
            return await (endless if content == b"long" else upper)(
                name, content, request, progress
            )
        finally:
            stopped.set()

    translates(work)

    async def main() -> None:
        files = runner(store, documents_at_once=1)
        async with files.running():
            job = await files.submit("a.txt", b"long", REQUEST)
            await begun(store, job)
            store.forget_jobs(datetime.now(UTC))
            await stopped.wait()
            assert (await ended(store, await files.submit("b.txt", b"b", REQUEST))).state == "done"

    asyncio.run(main())


def test_a_small_file_is_translated_while_large_ones_take_all_places(
    store: ServerStore, translates: Callable[[Work], None]
) -> None:
    may_end = asyncio.Event()

    async def work(name: str, content: bytes, request: TextRequest, progress: Progress) -> bytes:
        if len(content) > 1000:
            progress(1, 3)
            await may_end.wait()
        return b"done"

    translates(work)
    large = b"x" * 100_001

    async def main() -> None:
        files = runner(store, documents_at_once=2, small_documents_at_once=1)
        async with files.running():
            held = [await files.submit(f"{name}.txt", large, REQUEST) for name in "abc"]
            for job in held[:2]:
                await begun(store, job)
            for _ in range(3):
                small = await files.submit("small.txt", b"text", REQUEST)
                assert (await ended(store, small)).state == "done"
            third = store.job(held[2].id)
            assert third is not None and third.state == "queued"
            may_end.set()
            for job in held:
                assert (await ended(store, job)).state == "done"

    asyncio.run(asyncio.wait_for(main(), 20))


def test_whoever_waits_for_a_file_gets_it_as_it_is(
    store: ServerStore, translates: Callable[[Work], None]
) -> None:
    translates(upper)

    async def main() -> None:
        files = runner(store)
        job = await files.submit("a.txt", b"text", REQUEST)
        waiting = await files.settled(job, 0.03)
        assert waiting is not None and waiting.state == "queued"
        async with files.running():
            done = await files.settled(job, 100)
        assert done is not None and done.state == "done"
        store.forget_jobs(datetime.now(UTC))
        assert await files.settled(job, 100) is None

    asyncio.run(main())


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.exe", b"text", "files of the format '.exe' are not translated; take one that ends"),
        ("txt", b"text", "has no suffix"),
        ("../..", b"text", "has no suffix"),
        ("", b"text", "has no suffix"),
        ("a.txt", b"", "the file is empty"),
    ],
)
def test_files_that_cannot_be_translated(
    store: ServerStore, name: str, content: bytes, said: str
) -> None:
    with pytest.raises(RefusedError, match=said) as caught:
        asyncio.run(runner(store).submit(name, content, REQUEST))
    assert caught.value.kind == "invalid"


def test_a_bounded_number_of_files_waits(store: ServerStore) -> None:
    files = runner(store, documents=1)
    asyncio.run(files.submit("a.txt", b"text", REQUEST))
    with pytest.raises(RefusedError, match="too many files are waiting") as caught:
        asyncio.run(files.submit("b.txt", b"text", REQUEST))
    assert caught.value.kind == "busy" and caught.value.retry_after


def test_no_more_files_wait_if_many_come_at_once(store: ServerStore) -> None:
    files = runner(store, documents=2)

    async def main() -> list[DocumentJob | BaseException]:
        sent = (files.submit(f"{number}.txt", b"text", REQUEST) for number in range(8))
        return await asyncio.gather(*sent, return_exceptions=True)

    found = asyncio.run(main())
    assert sum(isinstance(one, DocumentJob) for one in found) == 2
    assert all(isinstance(one, (DocumentJob, RefusedError)) for one in found)


@settings(max_examples=50)
@given(st.text(min_size=1), st.sampled_from([".txt", ".HTML"]))
def test_names_are_no_paths(name: str, suffix: str) -> None:
    kept = jobs._base_name(name + suffix)
    assert kept == PurePosixPath(kept).name
    assert "\\" not in kept and kept.isprintable() and len(kept) <= 200
    assert kept.endswith(suffix)


@pytest.mark.parametrize(
    ("done", "texts", "expected"), [(0, 4, None), (1, 4, 30), (2, 4, 10), (4, 4, 0)]
)
def test_the_rest_takes_as_long_as_what_is_done(
    done: int, texts: int, expected: int | None
) -> None:
    job = document_job(state="translating", started=NOW, texts_done=done, texts=texts)
    assert seconds_remaining(job, NOW + timedelta(seconds=10)) == expected
