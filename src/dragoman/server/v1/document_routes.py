"""The routes for files, which are translated in the background."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Header, Request
from starlette.responses import Response

from dragoman.server.database.records import DocumentJob
from dragoman.server.dependencies import Premises
from dragoman.server.jobs import UNEXPECTED, attachment_headers
from dragoman.server.threads import in_thread
from dragoman.server.v1.caller import admitted, key_id, wanted_glossary
from dragoman.server.v1.requests import DocumentForm
from dragoman.server.v1.responses import DocumentAnswer
from dragoman.translation.service.interface import RefusedError

_LOOK_AGAIN = 2.0  # seconds

Secret = Annotated[
    str, Header(alias="Document-Secret", description="The `secret` that came with its `id`.")
]


class DocumentRoutes:
    """What answers requests about files."""

    def __init__(self, premises: Premises) -> None:
        self._premises = premises

    def add_to(self, router: APIRouter) -> None:
        """Add the routes."""
        router.post("/documents", response_model=DocumentAnswer, status_code=202)(self.send)
        router.get("/documents/{identifier}", response_model=DocumentAnswer)(self.state)
        router.get(
            "/documents/{identifier}/result",
            response_class=Response,
            responses={200: {"content": {"application/octet-stream": {}}}},
        )(self.result)

    async def send(
        self,
        request: Request,
        form: Annotated[DocumentForm, Form(media_type="multipart/form-data")],
    ) -> DocumentAnswer:
        """Send a file to translate; ask for its state until that is `done` or `error`."""
        key = await admitted(self._premises, request, files=True)
        glossary = await wanted_glossary(self._premises, form, key)
        job = await self._premises.jobs.submit(
            form.file.filename or "",
            await form.file.read(),
            form.request("", glossary),
            key_id(key),
        )
        return DocumentAnswer.of(job, with_secret=True)

    async def state(self, request: Request, identifier: str, secret: Secret) -> DocumentAnswer:
        """Say how far a file is."""
        await admitted(self._premises, request)
        return DocumentAnswer.of(await self._job(identifier, secret))

    async def result(self, request: Request, identifier: str, secret: Secret) -> Response:
        """Get the translated file."""
        await admitted(self._premises, request)
        job = await self._job(identifier, secret)
        if job.state == "error":
            message = job.message or UNEXPECTED
            raise RefusedError("internal" if message == UNEXPECTED else "invalid", message)
        store = self._premises.store
        content = await in_thread(store.take_result, job.id, delete=False)
        if content is None:
            raise RefusedError("busy", "the file is not translated yet", _LOOK_AGAIN)
        return Response(
            content, media_type="application/octet-stream", headers=attachment_headers(job)
        )

    async def _job(self, identifier: str, secret: str) -> DocumentJob:
        found = await in_thread(self._premises.store.job, identifier, secret)
        if found is None:
            raise RefusedError(
                "not_found", "there is no such file with this secret, or it was deleted since"
            )
        return found
