"""``/v2/document``: files, translated in the background and fetched once."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from pathlib import PurePosixPath
from typing import Annotated, Any

from anyio import CancelScope
from fastapi import APIRouter, Depends
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from dragoman.core.errors import DragomanError
from dragoman.documents.filetypes import document_format
from dragoman.server.database.records import DocumentJob
from dragoman.server.database.server_store import in_thread
from dragoman.server.deepl.languages import same_language
from dragoman.server.deepl.parameters import DeepLParameters, Owner, Parameters, Sender, invalid
from dragoman.server.deepl.requests import common_request
from dragoman.server.dependencies import Server
from dragoman.server.job_results import attachment_headers, seconds_remaining
from dragoman.server.request_log import HEAD
from dragoman.translation.service.interface import RefusedError

log = logging.getLogger(__name__)

EQUAL_LANGUAGES = "Source and target language are equal."
_STATUS_SECONDS = 1.0
"""How long an answer waits for the end of a translation; DeepL's client polls every 5 seconds."""


router = APIRouter()


async def _job(
    identifier: str, server: Server, parameters: Parameters, owner: Owner
) -> DocumentJob:
    secret = parameters.required("document_key")
    job = await in_thread(server.store.job, identifier, secret)
    if job is None or job.key != owner:
        raise _not_found()
    return job


Job = Annotated[DocumentJob, Depends(_job)]
"""The job of the id in the path, with its key and the key of the request checked."""


@router.post("/v2/document")
async def upload(server: Server, parameters: Parameters, sender: Sender) -> Response:
    """Take a file."""
    file = parameters.upload("file")
    common = await common_request(server, parameters, sender)
    if common.source is not None and same_language(common.source, common.target):
        raise invalid(EQUAL_LANGUAGES)
    name = parameters.checked("filename", parameters.text("filename") or file.name)
    _check_output(parameters, name)
    try:
        job = await server.jobs.submit(
            name, file.content, common, sender, if_translated_already=EQUAL_LANGUAGES
        )
    except RefusedError as error:
        if error.kind != "invalid":
            raise
        raise invalid(f"Invalid file: {error}.") from error
    return JSONResponse({"document_id": job.id, "document_key": job.secret})


@router.api_route("/v2/document/{identifier}", methods=["GET", "POST"])
async def status(server: Server, job: Job) -> Response:
    """How far a file is."""
    settled = await server.jobs.settled(job, _STATUS_SECONDS)
    if settled is None:
        raise _not_found()
    return JSONResponse(_status(settled))


@router.api_route("/v2/document/{identifier}/result", methods=["GET", "POST"])
async def result(request: Request, server: Server, job: Job) -> Response:
    """The translation of a file, which is then deleted."""
    if job.state == "error":
        raise invalid(f"The document was not translated: {(job.message or '').rstrip('.')}.")
    if job.state != "done":
        raise RefusedError("busy", "Document translation is not done.", seconds_remaining(job) or 1)
    take = server.store.take_result
    content = await in_thread(take, job.id, delete=False)
    if content is None:
        raise RefusedError("not_found", "Document not found: it was fetched already.")
    if HEAD in request.scope:  # a HEAD request does not fetch the file
        return _download(Response, job, content)
    return _download(partial(_Once, partial(take, job.id, delete=True)), job, content)


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
        # Older clients read ``message``.
        answer.update(error_message=job.message, message=job.message)
    return answer


class _Once(Response):
    """A file that is deleted when it is sent except for its end.

    A client with the complete file finds it deleted.  After a broken connection, the client can
    fetch the file again.
    """

    def __init__(self, delete: Callable[[], object], *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._delete = delete

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the file, and delete it."""
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
    # The file declares its encoding, or has the encoding of its source.
    return answer(content, headers={**attachment_headers(job), "Content-Type": kind})
