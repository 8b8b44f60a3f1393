"""``/v2/document``: files, translated in the background and fetched once."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from pathlib import PurePosixPath
from typing import Any

from anyio import CancelScope
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from dragoman.core.errors import DragomanError
from dragoman.documents.filetypes import document_format
from dragoman.server.database.records import DocumentJob
from dragoman.server.deepl.access import admitted
from dragoman.server.deepl.languages import same_language
from dragoman.server.deepl.parameters import (
    DeepLParameters,
    check_text,
    invalid,
)
from dragoman.server.deepl.requests import common_request
from dragoman.server.dependencies import Premises
from dragoman.server.jobs import attachment_headers, seconds_remaining
from dragoman.server.request_log import HEAD
from dragoman.server.threads import in_thread
from dragoman.translation.service.interface import RefusedError, TextRequest

log = logging.getLogger(__name__)

EQUAL_LANGUAGES = "Source and target language are equal."
_STATUS_SECONDS = 1.0
"""How long an answer waits for the end of a translation: DeepL's client asks again after five."""


def document_router(premises: Premises) -> APIRouter:
    """Routes of documents; while it lives, so does the runner of jobs."""
    router = APIRouter(lifespan=premises.jobs.running)

    @router.post("/v2/document")
    async def upload(request: Request) -> Response:
        parameters = await DeepLParameters.of(premises, request)
        key = await admitted(premises, request, parameters, files=True)
        file = parameters.upload("file")
        common = await common_request(premises, parameters, key)
        if common.source is not None and same_language(common.source, common.target):
            raise invalid(EQUAL_LANGUAGES)
        name = check_text("filename", parameters.text("filename") or file.name)
        _check_output(parameters, name)
        job = await _submitted(premises, name, file.content, common, key)
        return JSONResponse({"document_id": job.id, "document_key": job.secret})

    @router.api_route("/v2/document/{identifier}", methods=["GET", "POST"])
    async def status(request: Request, identifier: str) -> Response:
        job = await _job(premises, request, identifier)
        settled = await premises.jobs.settled(job, _STATUS_SECONDS)
        if settled is None:
            raise _not_found()
        return JSONResponse(_status(settled))

    @router.api_route("/v2/document/{identifier}/result", methods=["GET", "POST"])
    async def result(request: Request, identifier: str) -> Response:
        job = await _job(premises, request, identifier)
        if job.state == "error":
            raise invalid(f"The document was not translated: {(job.message or '').rstrip('.')}.")
        if job.state != "done":
            raise RefusedError(
                "busy", "Document translation is not done.", seconds_remaining(job) or 1
            )
        take = premises.store.take_result
        content = await in_thread(take, job.id, delete=False)
        if content is None:
            raise RefusedError("not_found", "Document not found: it was fetched already.")
        if HEAD in request.scope:  # nobody has it yet
            return _download(Response, job, content)
        return _download(partial(_Once, partial(take, job.id, delete=True)), job, content)

    return router


async def _submitted(
    premises: Premises, name: str, content: bytes, common: TextRequest, key: int | None
) -> DocumentJob:
    try:
        return await premises.jobs.submit(
            name, content, common, key, if_translated_already=EQUAL_LANGUAGES
        )
    except RefusedError as error:
        if error.kind != "invalid":
            raise
        raise invalid(f"Invalid file: {error}.") from error


async def _job(premises: Premises, request: Request, identifier: str) -> DocumentJob:
    parameters = await DeepLParameters.of(premises, request)
    key = await admitted(premises, request, parameters)
    secret = parameters.required("document_key")
    job = await in_thread(premises.store.job, identifier, secret)
    if job is None or job.key != key:
        raise _not_found()
    return job


def _not_found() -> RefusedError:
    return RefusedError("not_found", "Document not found.")


def _check_output(parameters: DeepLParameters, name: str) -> None:
    suffix = PurePosixPath(name).suffix.lower()
    wanted = parameters.text("output_format")
    if wanted is not None and f".{wanted.lower().removeprefix('.')}" != suffix:
        raise invalid(
            f"Value for 'output_format' not supported. The translation of a {suffix} file is one, "
            "too."
        )


def _status(job: DocumentJob) -> dict[str, Any]:
    answer: dict[str, Any] = {"document_id": job.id, "status": job.state}
    if job.state == "translating":
        remaining = seconds_remaining(job)
        if remaining is not None:
            answer["seconds_remaining"] = remaining
    elif job.state == "done":
        answer.update(seconds_remaining=0, billed_characters=job.characters)
    elif job.state == "error":
        # Older clients read the second.
        answer.update(error_message=job.message, message=job.message)
    return answer


class _Once(Response):
    """A file that is deleted when all of it but the end is sent.

    Who has all of it finds it deleted; whose connection breaks before can fetch it again.

    Args:
        delete: deletes it, and blocks.
    """

    def __init__(self, delete: Callable[[], object], *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._delete = delete

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it, and delete it."""
        start = {"type": "http.response.start", "status": self.status_code}
        await send({**start, "headers": self.raw_headers})
        await send({"type": "http.response.body", "body": self.body[:-1], "more_body": True})
        with CancelScope(shield=True):
            try:
                await in_thread(self._delete)
            except DragomanError as error:
                log.warning("a document that was fetched is not deleted yet: %s", error)
        await send({"type": "http.response.body", "body": self.body[-1:]})


def _download(answer: Callable[..., Response], job: DocumentJob, content: bytes) -> Response:
    name = job.result_name or job.file_name
    kind = document_format(name).media_type
    # The file says its encoding itself, or is in that of its source.
    return answer(content, headers={**attachment_headers(job), "Content-Type": kind})
