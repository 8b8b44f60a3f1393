"""What tests of the server's background files share: files that end and files that do not."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from typing import Any

from echo_service import EchoService

from dragoman.server.database.records import DocumentJob
from dragoman.server.database.server_store import ServerStore
from dragoman.server.jobs import JobRunner
from dragoman.server.server_config import LimitsConfig
from dragoman.translation.service.interface import TextRequest

REQUEST = TextRequest("", target="de", source="en")

Progress = Callable[[int, int], object]
Work = Callable[[str, bytes, TextRequest, Progress], Coroutine[Any, Any, bytes]]


def runner(store: ServerStore, **limits: Any) -> JobRunner:
    limits.setdefault("small_documents_at_once", 0)
    return JobRunner(EchoService(), store, LimitsConfig(**limits))


def document_job(**values: Any) -> DocumentJob:
    """A job that is in no database."""
    moment = datetime.now(UTC)
    common = {"id": "id", "secret": "secret", "file_name": "a.txt", "state": "queued"}
    languages = {"source_language": "en", "target_language": "de"}
    return DocumentJob(**{**common, **languages, "created": moment, "changed": moment, **values})


async def ended(store: ServerStore, job: DocumentJob, *states: str) -> DocumentJob:
    """The job, as soon as it is in one of these states; by default, when it has ended."""
    while True:
        found = store.job(job.id)
        assert found is not None
        if found.state in (states or ("done", "error")):
            return found
        await asyncio.sleep(0.005)


async def begun(store: ServerStore, job: DocumentJob) -> None:
    """Wait until an endless one has told how far it is."""
    while not (found := await ended(store, job, "translating")).texts:
        await asyncio.sleep(0.005)
    assert (found.texts_done, found.texts) == (1, 3)


async def upper(name: str, content: bytes, request: TextRequest, progress: Progress) -> bytes:
    return content.upper()


async def endless(name: str, content: bytes, request: TextRequest, progress: Progress) -> bytes:
    progress(1, 3)
    await asyncio.sleep(1000)
    return content
