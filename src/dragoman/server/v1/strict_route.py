"""Routes that check requests like configurations: every problem is named, with a hint."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
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
from dragoman.server.v1.access import admit
from dragoman.translation.service.interface import RefusedError

MANUAL = "/v1/docs"

_NO_BOUNDARY = (
    "the header Content-Type names no boundary between the fields of the form; let your HTTP "
    "library write this header"
)

PREFIX = "/v1"
"""Of the paths of all routes.  Each router has it itself, for metrics name a path by its route."""


class StrictRoute(APIRoute):
    """A route that reports all problems of a body, with "did you mean" for unknown names.

    A request must be admitted before it gets the report.
    """

    @override
    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def checked(request: Request) -> Response:
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
    """The problems of a request, in one line."""
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
