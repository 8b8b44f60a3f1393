"""Translates files in the background, for every API that takes files.

The jobs are in the store.  A server that ends gives its jobs back; the jobs of a killed server go
to the first server that notices its silence.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import PurePosixPath
from typing import Any, TypeVar

from anyio import to_thread

from dragoman.core.errors import DataError, DragomanError
from dragoman.documents.file_translation import TranslatedFile, translate_file
from dragoman.documents.filetypes import document_format
from dragoman.server.database.failures import AWAY, Outage
from dragoman.server.database.records import DocumentJob
from dragoman.server.database.server_store import ServerStore, in_thread
from dragoman.server.fair_turns import FairTurns, TurnTakingService
from dragoman.server.job_results import UNEXPECTED
from dragoman.server.server_config import LimitsConfig
from dragoman.text.terms.glossary import Glossary
from dragoman.text.terms.glossary_files import Term
from dragoman.translation.service.codes import fitting
from dragoman.translation.service.interface import RefusedError, TextRequest, TranslationService

_log = logging.getLogger(__name__)
_Result = TypeVar("_Result")

_LOOK_SECONDS = 5.0  # between searches for the jobs of servers that have died
_SILENT_SECONDS = 60.0  # after which a server counts as dead
_REPORT_SECONDS = 1.0
_MOST_DEATHS = 3  # of servers while they translated a file, as the file may have killed them
_FIRST_LOOK_SECONDS, _LONGEST_PAUSE_SECONDS = 0.02, 0.5  # at a job that a client waits for
_FORGET_SECONDS = 600.0
_LONGEST_NAME = 200  # characters
_KEPT_OPTIONS = ("split", "tags", "context", "memory")
"""Fields of a request that a job keeps, besides languages and terms."""
_SMALL_BYTES = 100_000
"""Size in bytes up to which a file has more places."""


class JobRunner:
    """Translates files, several in parallel, while :meth:`running`."""

    def __init__(
        self,
        service: TranslationService,
        store: ServerStore,
        limits: LimitsConfig,
        count: Callable[[int], object] = lambda characters: None,
    ) -> None:
        self._service, self._store, self._limits = service, store, limits
        self._count = count
        self._turns = FairTurns(limits.documents_at_once)
        self._tasks: list[asyncio.Task[None]] = []
        self._at_work: set[str] = set()  # jobs to give back if they are cancelled
        self._owed: set[str] = set()  # jobs that the database refused to take back
        # A separate outage, as on a full disk a small write may succeed and a large one fail.
        self._away = Outage(_log, "a file cannot be read from the database, or written to it")
        self._reports_away = Outage(_log, "how far a file is cannot be written")
        self._queue_away = Outage(_log, "files that wait cannot be looked for")
        self._old_away = Outage(_log, "old files cannot be deleted")
        self._news: asyncio.Event | None = None

    async def submit(
        self,
        file_name: str,
        content: bytes,
        request: TextRequest,
        key: int | None = None,
        *,
        if_translated_already: str | None = None,
    ) -> DocumentJob:
        """Queue a file for translation.

        The suffix of the file name gives the format.  The text of the request is not read.  A file
        that is already in the target language fails with the message ``if_translated_already``, or,
        without one, is returned unchanged.

        Raises:
            RefusedError: ``invalid``, if the format is unknown or the file is empty; ``busy``, if
                too many files wait.
        """
        name = _base_name(file_name)
        try:
            form = document_format(name)
        except DataError as error:
            raise RefusedError("invalid", str(error)) from error
        if not form.is_installed:
            raise RefusedError(
                "invalid", f"this server does not read {form.name}; ask who runs it to add that"
            )
        if not content:
            raise RefusedError("invalid", "the file is empty")
        job = await in_thread(
            self._store.create_job,
            name,
            content,
            request.source,
            request.target,
            key,
            options={**_options(request), "if_translated_already": if_translated_already},
            most=self._limits.documents,
        )
        if self._news is not None:
            self._news.set()
        return job

    async def settled(self, job: DocumentJob, seconds: float) -> DocumentJob | None:
        """The job when it is done or failed, or its state after ``seconds``; None if deleted."""
        end, pause = time.monotonic() + seconds, _FIRST_LOOK_SECONDS
        found: DocumentJob | None = job
        while found is not None and found.state in ("queued", "translating"):
            left = end - time.monotonic()
            if left <= 0:
                break
            await asyncio.sleep(min(pause, left))
            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)
            found = await in_thread(self._store.job, job.id)
        return found

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Translate the queued files; at the end, give unfinished jobs back."""
        self._start()
        try:
            yield
        finally:
            await self._stop()

    def _start(self) -> None:
        self._news = asyncio.Event()
        loops = [self._translate_all() for _ in range(self._limits.documents_at_once)]
        for _ in range(self._limits.small_documents_at_once):
            loops.append(self._translate_all(_SMALL_BYTES))
        self._tasks = [asyncio.create_task(one) for one in (*loops, self._forget_all())]

    async def _stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks, self._news = [], None
        for identifier in [*self._at_work, *self._owed]:
            await self._give_back(identifier)

    async def _give_back(self, identifier: str) -> None:
        """Queue a job again; if the database refuses, retry later.

        If this server ends before that, another server claims the job after a time of silence.
        """
        try:
            await to_thread.run_sync(self._store.finish_job, identifier, "queued")
        except DragomanError:
            self._owed.add(identifier)
        self._at_work.discard(identifier)

    async def _translate_all(self, most_bytes: int | None = None) -> None:
        """Translate one file after another, each of at most ``most_bytes``."""
        assert self._news is not None
        while True:
            self._news.clear()
            job = None
            try:
                job = await _to_the_end(self._claimed(most_bytes))
                if job is not None:
                    await self._finish(job)
            except Exception as error:
                if isinstance(error, AWAY):
                    self._away.begin(error)
                else:
                    _log.exception("a file could not be begun or finished")
                await asyncio.sleep(_LOOK_SECONDS)
                if job is not None:
                    await self._give_back(job.id)
            if job is None:
                # Not wait_for: in Python 3.11, it ignores a cancellation as the event is set.
                with suppress(TimeoutError):
                    async with asyncio.timeout(_LOOK_SECONDS):
                        await self._news.wait()

    async def _claimed(self, most_bytes: int | None) -> DocumentJob | None:
        """The next job, marked as at work so that it is given back if this server ends."""
        for identifier in list(self._owed):
            if identifier in self._owed:  # and not claimed by another loop
                self._owed.remove(identifier)
                self._at_work.add(identifier)
                await self._give_back(identifier)
        silent_since = _now() - timedelta(seconds=_SILENT_SECONDS)
        mine = self._at_work | self._owed  # silent because the database does not answer
        try:
            claim = partial(self._store.claim_job, silent_since, mine, most_bytes=most_bytes)
            job = await to_thread.run_sync(claim)
        except AWAY as error:
            self._queue_away.begin(error)
            return None
        self._queue_away.end(written=job is not None)
        if job is not None:
            self._at_work.add(job.id)
        return job

    async def _finish(self, job: DocumentJob) -> None:
        """Translate a job, and unmark it as soon as its end is in the database.

        Later would be too late, as another loop may have claimed the job again by then.
        """
        if job.abandoned >= _MOST_DEATHS:
            message = "the server ended several times while it translated the file"
            await self._kept(partial(self._fail, job, message))
            return
        try:
            file = await self._translated(job)
            if file is None:
                self._at_work.discard(job.id)
            else:
                await self._kept(partial(self._keep, job, file))
            return
        except AWAY:  # of the database, whose path must not be shown to clients
            raise
        except (RefusedError, DataError) as error:
            if isinstance(error, RefusedError) and error.kind in ("busy", "timed_out"):
                # Other work goes first, but the file is not lost.
                await to_thread.run_sync(self._store.finish_job, job.id, "queued")
                self._at_work.discard(job.id)  # another server may claim it meanwhile
                await asyncio.sleep(error.retry_after or 1)
                return
            message = str(error)
        except Exception:
            _log.exception("a file could not be translated")
            message = UNEXPECTED
        await self._kept(partial(self._fail, job, message))

    async def _kept(self, keep: Callable[[], Coroutine[Any, Any, bool]]) -> None:
        """Store the outcome of a job, retrying for any time, as the translation was expensive.

        ``keep`` returns whether anything was written.
        """
        while True:
            try:
                self._away.end(written=await _to_the_end(keep()))
                return
            except AWAY as error:
                self._away.begin(error)
                await asyncio.sleep(_LOOK_SECONDS)

    async def _fail(self, job: DocumentJob, message: str) -> bool:
        failed = partial(self._store.finish_job, job.id, "error", message=message)
        is_kept = await to_thread.run_sync(failed)
        self._at_work.discard(job.id)
        return is_kept

    async def _keep(self, job: DocumentJob, file: TranslatedFile) -> bool:
        kept = partial(
            self._store.finish_job,
            job.id,
            "done",
            result=file.content,
            result_name=file.name,
            characters=file.characters,
        )
        # Another server may have finished it if this server was taken for dead.
        if is_kept := await to_thread.run_sync(kept):
            self._count(file.characters)
        self._at_work.discard(job.id)
        return is_kept

    async def _translated(self, job: DocumentJob) -> TranslatedFile | None:
        """The translated file; None if the job was deleted meanwhile."""
        content = await to_thread.run_sync(self._store.job_content, job.id)
        request = await to_thread.run_sync(_request, job)  # thousands of terms take seconds
        place = (0, 0)

        def progress(done: int, texts: int) -> None:
            nonlocal place
            place = done, texts

        service = TurnTakingService(self._service, self._turns)
        work = asyncio.create_task(
            translate_file(service, job.file_name, content, request, progress=progress)
        )
        try:
            while not (await asyncio.wait({work}, timeout=_REPORT_SECONDS))[0]:
                if not await self._is_wanted(job, *place):
                    return None
            return _checked(job, await work)
        finally:
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)

    async def _is_wanted(self, job: DocumentJob, done: int, texts: int) -> bool:
        """Report progress; False if the job is known to be unwanted, such as a deleted one."""
        try:
            report = partial(self._store.report_job, job.id, done, texts)
            is_wanted = await to_thread.run_sync(report)
        except AWAY as error:
            self._reports_away.begin(error)
            return True
        self._reports_away.end(written=is_wanted)
        return is_wanted

    async def _forget_all(self) -> None:
        while True:
            before = _now() - timedelta(hours=self._limits.document_hours)
            try:
                forgotten = await to_thread.run_sync(self._store.forget_jobs, before)
                self._old_away.end(written=forgotten > 0)
            except AWAY as error:
                self._old_away.begin(error)
            except Exception:
                _log.exception("old files could not be deleted")
            await asyncio.sleep(_FORGET_SECONDS)


def _checked(job: DocumentJob, file: TranslatedFile) -> TranslatedFile:
    """The translated file, after checking that its API accepts it.

    Raises:
        DataError: the file was already in the target language, and its API refuses such files.
    """
    message = job.options.get("if_translated_already")
    if message and file.texts and fitting(job.target_language, [file.source]):
        raise DataError(message)
    return file


async def _to_the_end(work: Coroutine[Any, Any, _Result]) -> _Result:
    """Complete work even if the task that awaits it is cancelled."""
    task = asyncio.create_task(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.gather(task, return_exceptions=True)  # its error must not hide this one
        raise


def _now() -> datetime:
    return datetime.now(UTC)


def _base_name(name: str) -> str:
    """The last part of a path of any operating system, without control characters."""
    last = name.replace("\\", "/").rpartition("/")[2]
    printable = "".join(character for character in last if character.isprintable())
    path = PurePosixPath(printable)
    return path.stem[: _LONGEST_NAME - len(path.suffix)] + path.suffix


def _options(request: TextRequest) -> Mapping[str, Any]:
    """The options of a request, as plain values."""
    terms = request.glossary.terms if request.glossary else ()
    return {
        **{name: getattr(request, name) for name in _KEPT_OPTIONS},
        "terms": [
            (term.source, term.targets, term.case_sensitive, term.do_not_translate)
            for term in terms
        ],
    }


def _request(job: DocumentJob) -> TextRequest:
    kept = {name: job.options[name] for name in _KEPT_OPTIONS if name in job.options}
    kept["tags"] = tuple(kept.get("tags", ()))
    terms = [
        Term(source, tuple(targets), *flags)
        for source, targets, *flags in job.options.get("terms", ())
    ]
    glossary = Glossary(terms) if terms else None
    return TextRequest("", job.target_language, job.source_language, glossary=glossary, **kept)
