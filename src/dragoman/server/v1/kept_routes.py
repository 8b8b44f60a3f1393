"""The routes for what the server keeps: corrections, glossaries, usage, and files.

Files are translated in the background.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Header, Request
from starlette.responses import Response

from dragoman.server.access import key_id, monthly_quota, network_of
from dragoman.server.database.records import ApiKey, DocumentJob, Entries
from dragoman.server.database.server_store import in_thread
from dragoman.server.dependencies import Dependencies, Server, glossary_of
from dragoman.server.job_results import download, failure
from dragoman.server.language_names import known_direction
from dragoman.server.parameters import address_of
from dragoman.server.v1.access import PREFIX, StrictRoute, admit, glossary_of_request, kept_glossary
from dragoman.server.v1.requests import CorrectionBody, DocumentForm, GlossaryBody
from dragoman.server.v1.responses import (
    CorrectionAnswer,
    DocumentAnswer,
    GlossariesAnswer,
    GlossaryAnswer,
    UsageAnswer,
)
from dragoman.translation.service.interface import Pairing, RefusedError

router = APIRouter(prefix=PREFIX, route_class=StrictRoute)


@router.post("/corrections", response_model=CorrectionAnswer, status_code=201)
async def correct(request: Request, body: CorrectionBody, server: Server) -> CorrectionAnswer:
    """Send a better translation.

    Someone reviews it; once it is accepted, it answers exactly this text, and models can be
    adapted to it.
    """
    key = await admit(server, request)
    pair = known_direction(server.service, body.source, body.target)
    kept = await in_thread(
        server.store.add_correction,
        body.text,
        body.translation,
        pair.source,
        pair.target,
        key_id(key),
        address=network_of(address_of(request)),
    )
    return CorrectionAnswer.model_validate(kept)


@router.get("/glossaries", response_model=GlossariesAnswer)
async def glossaries(request: Request, server: Server) -> GlossariesAnswer:
    """List the glossaries of the key, the oldest first, without their entries."""
    key = await admit(server, request)
    found = await in_thread(server.store.glossaries, key_id(key))
    return GlossariesAnswer(glossaries=tuple(map(GlossaryAnswer.of, found)))


@router.post("/glossaries", response_model=GlossaryAnswer, status_code=201)
async def create_glossary(request: Request, body: GlossaryBody, server: Server) -> GlossaryAnswer:
    """Keep a glossary, which requests then name by its `id`."""
    key = await admit(server, request)
    pair, entries = await _checked(server, body)
    kept = await in_thread(server.store.create_glossary, body.name, {pair: entries}, key_id(key))
    return GlossaryAnswer.of(kept, with_entries=True)


@router.get("/glossaries/{identifier}", response_model=GlossaryAnswer)
async def glossary(request: Request, identifier: str, server: Server) -> GlossaryAnswer:
    """Get a glossary with its entries."""
    key = await admit(server, request)
    return await _shown(server, identifier, key)


@router.put("/glossaries/{identifier}", response_model=GlossaryAnswer)
async def replace_glossary(
    request: Request, identifier: str, body: GlossaryBody, server: Server
) -> GlossaryAnswer:
    """Replace the name of a glossary and its entries of one direction, or add a direction."""
    key = await admit(server, request)
    pair, entries = await _checked(server, body)
    await kept_glossary(server, identifier, key)
    store, owner = server.store, key_id(key)
    await in_thread(store.put_dictionary, identifier, *pair, entries, owner, name=body.name)
    return await _shown(server, identifier, key)


@router.delete("/glossaries/{identifier}", status_code=204)
async def delete_glossary(request: Request, identifier: str, server: Server) -> Response:
    """Delete a glossary."""
    key = await admit(server, request)
    await kept_glossary(server, identifier, key)
    await in_thread(server.store.delete_glossary, identifier, key_id(key))
    return Response(status_code=204)


@router.get("/usage", response_model=UsageAnswer)
async def usage(request: Request, server: Server) -> UsageAnswer:
    """Say how many characters the key has used in this month."""
    key = await admit(server, request)
    used = await in_thread(server.store.used, key_id(key))
    limit = monthly_quota(key, server.config.limits)
    return UsageAnswer(characters=used, characters_per_month=limit)


async def _checked(server: Dependencies, body: GlossaryBody) -> tuple[Pairing, Entries]:
    entries = tuple(body.entries.items())
    await in_thread(glossary_of, entries)  # thousands take seconds
    return known_direction(server.service, body.source, body.target), entries


async def _shown(server: Dependencies, identifier: str, key: ApiKey | None) -> GlossaryAnswer:
    kept = await kept_glossary(server, identifier, key, with_entries=True)
    return GlossaryAnswer.of(kept, with_entries=True)


_LOOK_AGAIN = 2.0  # seconds after which clients may repeat a request for an unfinished file

Secret = Annotated[
    str, Header(alias="Document-Secret", description="The `secret` that came with its `id`.")
]


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
