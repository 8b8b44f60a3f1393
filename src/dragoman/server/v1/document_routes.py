"""The routes for files that are translated in the background."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Header, Request
from starlette.responses import Response

from dragoman.server.access import key_id
from dragoman.server.database.records import DocumentJob
from dragoman.server.dependencies import Dependencies, Server
from dragoman.server.job_results import download, failure
from dragoman.server.threads import in_thread
from dragoman.server.v1.access import admit, glossary_of_request
from dragoman.server.v1.requests import DocumentForm
from dragoman.server.v1.responses import DocumentAnswer
from dragoman.server.v1.strict_route import PREFIX, StrictRoute
from dragoman.translation.service.interface import RefusedError

_LOOK_AGAIN = 2.0  # seconds after which clients may repeat a request for an unfinished file

Secret = Annotated[
    str, Header(alias="Document-Secret", description="The `secret` that came with its `id`.")
]


router = APIRouter(prefix=PREFIX, route_class=StrictRoute)


@router.post("/documents", response_model=DocumentAnswer, status_code=202)
async def send(
    request: Request,
    form: Annotated[DocumentForm, Form(media_type="multipart/form-data")],
    server: Server,
) -> DocumentAnswer:
    """Send a file to translate; ask for its state until that is `done` or `error`."""
    key = await admit(server, request, files=True)
    glossary = await glossary_of_request(server, form, key)
    job = await server.jobs.submit(
        form.file.filename or "",
        await form.file.read(),
        form.request("", glossary),
        key_id(key),
    )
    return DocumentAnswer.of(job, with_secret=True)


@router.get("/documents/{identifier}", response_model=DocumentAnswer)
async def state(
    request: Request, identifier: str, secret: Secret, server: Server
) -> DocumentAnswer:
    """Say how far a file is."""
    await admit(server, request)
    return DocumentAnswer.of(await _job(server, identifier, secret))


@router.get(
    "/documents/{identifier}/result",
    response_class=Response,
    responses={200: {"content": {"application/octet-stream": {}}}},
)
async def result(request: Request, identifier: str, secret: Secret, server: Server) -> Response:
    """Get the translated file."""
    await admit(server, request)
    job = await _job(server, identifier, secret)
    if job.state == "error":
        raise failure(job)
    content = await in_thread(server.store.take_result, job.id, delete=False)
    if content is None:
        raise RefusedError("busy", "the file is not translated yet", _LOOK_AGAIN)
    return download(job, content)


async def _job(server: Dependencies, identifier: str, secret: str) -> DocumentJob:
    job = await in_thread(server.store.job, identifier, secret)
    if job is None:
        raise RefusedError(
            "not_found", "there is no such file with this secret, or it was deleted since"
        )
    return job
