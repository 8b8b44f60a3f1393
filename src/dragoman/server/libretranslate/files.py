"""Files of LibreTranslate clients: translated behind the scenes, fetched from an address."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from functools import partial
from pathlib import PurePosixPath

from starlette.requests import Request
from starlette.responses import Response

from dragoman.documents.filetypes import file_suffixes
from dragoman.server.database.records import DocumentJob
from dragoman.server.dependencies import Premises
from dragoman.server.jobs import UNEXPECTED, attachment_headers
from dragoman.server.libretranslate.answers import LibreFile
from dragoman.server.libretranslate.reception import LibreReception
from dragoman.server.libretranslate.requests import LibreFileTask
from dragoman.server.request_time import time_left
from dragoman.server.threads import in_thread
from dragoman.translation.service.interface import RefusedError, TextRequest

_KEPT = timedelta(minutes=30)
"""How long a translated file can be fetched, as from LibreTranslate."""

_PATIENCE = 0.5
"""The part of the time of a request for which it waits for a file."""


class LibreFiles:
    """Translates files, and gives them out."""

    def __init__(self, premises: Premises, reception: LibreReception) -> None:
        self._premises, self._reception = premises, reception

    async def translate(self, request: Request) -> LibreFile:
        """Translate file from a language to another.

        The address of a file that takes long is given before it is done; who fetches it then waits
        for it.
        """
        read = partial(LibreFileTask.read, suffixes=file_suffixes())
        task, key = await self._reception.admit(request, read, files=True)
        target = self._reception.known(task.target)
        source = None if task.source is None else self._reception.known(task.source)
        job = await self._premises.jobs.submit(
            task.file.name,
            task.file.content,
            TextRequest("", target=target, source=source),
            key.id if key else None,
        )
        found = await self._done(job)
        if found is not None and found.state == "error":
            raise _failure(found)
        name = f"{job.id}{PurePosixPath(job.file_name).suffix.lower()}"
        address = request.url_for("libretranslate/download_file", file=name)
        # Not in the path, which logs have.
        return LibreFile(translated_file_url=str(address.include_query_params(secret=job.secret)))

    async def download(self, file: str, secret: str = "") -> Response:
        """Download a translated file."""
        store = self._premises.store
        identifier = file.partition(".")[0]
        job = await in_thread(store.job, identifier, secret) if secret else None
        if job is None or _is_over(job):
            raise RefusedError("not_found", "there is no such file, or it was deleted since")
        job = await self._done(job)
        if job is None:
            raise RefusedError("busy", "the file is not translated yet; try again later", 5)
        content = None
        if job.state == "done":
            content = await in_thread(store.take_result, job.id, delete=False)
        if content is None:
            raise _failure(job)
        return Response(
            content, media_type="application/octet-stream", headers=attachment_headers(job)
        )

    async def _done(self, job: DocumentJob) -> DocumentJob | None:
        """A job that is done or has failed; None if it is neither in due time."""
        patience = min(_PATIENCE * self._premises.config.limits.seconds, time_left())
        found = await self._premises.jobs.settled(job, patience)
        if found is None:
            raise RefusedError("not_found", "there is no such file, or it was deleted since")
        return found if found.state in {"done", "error"} else None


def _is_over(job: DocumentJob) -> bool:
    """Whether the time in which a file can be fetched has passed."""
    if job.state not in {"done", "error"} or job.changed is None:
        return False
    return datetime.now(timezone.utc) - job.changed > _KEPT


def _failure(job: DocumentJob) -> RefusedError:
    message = job.message or UNEXPECTED
    return RefusedError("internal" if message == UNEXPECTED else "invalid", message)
