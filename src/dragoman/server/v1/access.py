"""Admission and checks of requests to ``/v1``, and the glossaries of their keys."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, get_origin

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.responses import Response
from typing_extensions import override

from dragoman.core.problems import explain
from dragoman.core.wording import shown
from dragoman.server.access import key_id
from dragoman.server.database.records import ApiKey, KeptGlossary
from dragoman.server.database.server_store import in_thread
from dragoman.server.dependencies import Dependencies, glossary_of
from dragoman.server.language_names import known_direction
from dragoman.server.parameters import address_of, collection_paused
from dragoman.server.v1.requests import RequestOptions, TextOptions
from dragoman.text.language_codes import base_language
from dragoman.text.terms.glossary import Glossary
from dragoman.translation.service.interface import RefusedError, TextRequest


async def admit(
    server: Dependencies, request: Request, texts: Sequence[str] = (), *, files: bool = False
) -> ApiKey | None:
    """Admit a request with texts or files; returns its key, if any."""
    scheme, _, secret = request.headers.get("Authorization", "").partition(" ")
    # Another scheme, such as Basic, is meant for a proxy in front of the server.
    given = secret.strip() if scheme.lower() == "bearer" else ""
    return await server.access.admit(given or None, address_of(request), texts, files=files)


async def kept_glossary(
    server: Dependencies, identifier: str, key: ApiKey | None, *, with_entries: bool = False
) -> KeptGlossary:
    """A glossary of a key.

    Raises:
        RefusedError: ``not_found``.
    """
    read = server.store.glossary
    kept = await in_thread(read, identifier, key_id(key), with_entries=with_entries)
    if kept is None:
        raise RefusedError("not_found", f"this key has no glossary {identifier[:80]!r}")
    return kept


async def glossary_of_request(
    server: Dependencies, options: RequestOptions, key: ApiKey | None
) -> Glossary | None:
    """The glossary of a request, if any."""
    if isinstance(options.glossary, str):
        return await _read_glossary(server, options.glossary, options, key)
    if not options.glossary:
        return None
    return await in_thread(glossary_of, options.glossary.items())  # thousands take seconds


async def _read_glossary(
    server: Dependencies, identifier: str, options: RequestOptions, key: ApiKey | None
) -> Glossary:
    """A kept glossary, for the languages of a request."""
    kept = await kept_glossary(server, identifier, key)
    if options.given_source is None:
        raise RefusedError(
            "invalid", "a kept glossary has terms of one language, so name that as source"
        )
    pair = known_direction(server.service, options.given_source, options.target)
    # A glossary kept through DeepL's API is for all regions of a language.
    bases = base_language(pair.source), base_language(pair.target)
    fitting = kept.dictionary(*pair) or kept.dictionary(*bases)
    if fitting is None:
        there = ", ".join(f"{d.source_language} to {d.target_language}" for d in kept.dictionaries)
        raise RefusedError(
            "invalid",
            f"the glossary {identifier} is for {there}, not for {pair.source} to {pair.target}",
        )

    def entries() -> Sequence[tuple[str, str]]:
        direction = fitting.source_language, fitting.target_language
        return server.store.glossary_entries(identifier, *direction, key=key_id(key)) or ()

    return await in_thread(server.glossaries.get, (fitting.revision,), entries)


async def requests_of(
    server: Dependencies, options: TextOptions, texts: Sequence[str], key: ApiKey | None
) -> list[TextRequest]:
    """The requests to the service.

    Raises:
        RefusedError: options exceed the limits, or the glossary is unsuitable.
    """
    most = server.config.limits.alternatives + 1
    if options.nbest > most:
        raise RefusedError(
            "invalid", f"nbest: this server gives at most {most} translations, not {options.nbest}"
        )
    glossary = await glossary_of_request(server, options, key)
    return [options.request(text, glossary) for text in texts]


MANUAL = "/v1/docs"

_NO_BOUNDARY = (
    "the header Content-Type names no boundary between the fields of the form; let your HTTP "
    "library write this header"
)

PREFIX = "/v1"
"""Of the paths of all routes.  Each router has it itself, for metrics name a path by its route."""


class _JsonRequest(Request):
    """A request whose JSON is parsed without pauses for the garbage collector."""

    @override
    async def json(self) -> Any:
        await self.body()  # nothing below waits, so the collector is paused for nothing else
        with collection_paused():
            return await super().json()


class StrictRoute(APIRoute):
    """A route that reports all problems of a body, with "did you mean" for unknown names.

    A request must be admitted before it gets the report.
    """

    @override
    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def checked(request: Request) -> Response:
            request = _JsonRequest(request.scope, request.receive)
            try:
                return await handle(request)
            except HTTPException as error:  # neither JSON nor a form; handlers do not raise this
                problem = _unreadable(request, error)
                cause: Exception = error
            except RequestValidationError as error:
                field = self.body_field
                kind = None if field is None else field.field_info.annotation
                problem = _worded(error, kind)
                cause = error
            # So that a wrong key is reported first, and invalid requests count as well.
            await admit(request.app.state.dependencies, request)
            raise RefusedError("invalid", problem) from cause

        return checked


def _unreadable(request: Request, error: HTTPException) -> str:
    """The reason why a body cannot be read, and a remedy, in one line."""
    coding = request.headers.get("content-encoding", "identity")
    if coding.lower() != "identity":
        return f"the body is encoded as {shown(coding)}; send it without Content-Encoding"
    kind = request.headers.get("content-type", "").lower()
    if kind.startswith("multipart/"):
        problem = f"the form cannot be read: {str(error.detail).rstrip('.')}; see {MANUAL}"
        return problem if "boundary=" in kind else _NO_BOUNDARY
    cause = error.__cause__
    if isinstance(cause, UnicodeDecodeError):
        return f"the body is not UTF-8 at byte {cause.start + 1}; send JSON in UTF-8"
    if isinstance(cause, RecursionError):
        return f"the body is nested too deeply; see {MANUAL} for what is read"
    if isinstance(cause, ValueError):  # Python converts no integer of more than 4300 digits
        return "the body has a number that is too long; send a shorter one"
    return f"the body cannot be read: {error.detail}; see {MANUAL}"


def _worded(error: RequestValidationError, kind: object) -> str:
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        problem = first.get("ctx", {}).get("error", "it cannot be parsed")
        return f"the body is not JSON: {problem} at character {first['loc'][-1]}"
    if first["loc"][0] == "body" and isinstance(kind, type) and issubclass(kind, BaseModel):
        return _of_body(kind, error.body)
    place = ".".join(str(part) for part in first["loc"][1:])
    return f"{place}: {first['msg']}, found {shown(first.get('input'))}"


def _of_body(kind: type[BaseModel], body: object) -> str:
    if isinstance(body, FormData):
        body = _fields(kind, body)
    if not isinstance(body, dict):
        found = "nothing" if body is None else shown(body)
        if isinstance(body, bytes):  # FastAPI reads JSON only with its content type
            found = "something else; send the header Content-Type: application/json"
        return f"the body must be a JSON object such as {_example(kind)}, found {found}"
    try:
        kind.model_validate(body)
    except ValidationError as error:
        return explain(kind, body, error, MANUAL).replace("configuration: ", "")
    raise AssertionError("FastAPI refused a body that pydantic accepts")


def _fields(kind: type[BaseModel], form: FormData) -> dict[str, Any]:
    """The fields of a form, with lists where the model has lists."""
    several = {
        name for name, field in kind.model_fields.items() if get_origin(field.annotation) is tuple
    }
    return {name: form.getlist(name) if name in several else form[name] for name in form}


def _example(kind: type[BaseModel]) -> str:
    """An object with the required keys, as an example for the message."""
    required = [name for name, field in kind.model_fields.items() if field.is_required()]
    return json.dumps(dict.fromkeys(sorted(required, key="target".__eq__), "..."))
