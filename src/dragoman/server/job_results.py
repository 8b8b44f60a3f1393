"""Responses of all APIs about files that are translated in the background."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from urllib.parse import quote

from starlette.responses import Response

from dragoman.server.database.records import DocumentJob
from dragoman.translation.service.interface import RefusedError

UNEXPECTED = "the server could not translate the file; its log says why"
"""The message of a job that failed through no fault of its client."""


def seconds_remaining(job: DocumentJob, now: datetime | None = None) -> int | None:
    """Seconds until a job will be done, at its speed so far; None if it has not progressed."""
    if job.state != "translating" or job.started is None or not job.texts_done:
        return None
    elapsed = ((now or datetime.now(UTC)) - job.started).total_seconds()
    return max(0, round(elapsed * (job.texts - job.texts_done) / job.texts_done))


def attachment_headers(job: DocumentJob) -> dict[str, str]:
    """Headers that make clients save a translated file, without showing or caching it."""
    name = job.result_name or job.file_name
    exact = quote(name, safe="")
    plain = re.sub(r"[^\w.-]", "_", name, flags=re.ASCII)  # for programs such as curl
    return {
        "Content-Disposition": f"attachment; filename={plain}; filename*=UTF-8''{exact}",
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "private, no-store",
    }


def download(job: DocumentJob, content: bytes) -> Response:
    """The response with a translated file, of a type that no program opens automatically."""
    return Response(content, media_type="application/octet-stream", headers=attachment_headers(job))


def failure(job: DocumentJob) -> RefusedError:
    """The error for the result of a job that failed."""
    message = job.message or UNEXPECTED
    return RefusedError("internal" if message == UNEXPECTED else "invalid", message)
