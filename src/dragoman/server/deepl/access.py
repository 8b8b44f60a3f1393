"""Dependencies of DeepL's routes (parameters and key of a request), and the format of errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import Depends
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from dragoman.server.access import key_id
from dragoman.server.database.records import ApiKey
from dragoman.server.deepl.parameters import DeepLParameters
from dragoman.server.dependencies import Server
from dragoman.server.parameters import address_of
from dragoman.translation.service.interface import RefusedError

_SCHEME = "deepl-auth-key"
_QUOTA_EXCEEDED = 456  # not a standard HTTP status


def _header_secret(request: Request) -> str | None:
    """The key in the header of a request, if any."""
    scheme, _, secret = request.headers.get("authorization", "").partition(" ")
    return secret.strip() or None if scheme.lower() == _SCHEME else None


async def _parameters(request: Request, server: Server) -> DeepLParameters:
    try:
        return await DeepLParameters.read(request, part_bytes=server.config.limits.body_bytes)
    except RefusedError:
        # So that a wrong key is reported first, and invalid requests count as well.
        secret = _header_secret(request) or request.query_params.get("auth_key")
        await server.access.admit(secret, address_of(request))
        raise


Parameters = Annotated[DeepLParameters, Depends(_parameters)]
"""The parameters of the body (JSON or a form) and the query string."""


async def admit(
    server: Server,
    request: Request,
    parameters: DeepLParameters,
    texts: Sequence[str] = (),
    *,
    files: bool = False,
) -> ApiKey | None:
    """Admit a request with texts or files; returns its key, if any."""
    address = address_of(request)
    try:
        secret = _header_secret(request) or parameters.text("auth_key")
    except RefusedError:
        await server.access.admit(None, address)  # invalid requests count as well
        raise
    return await server.access.admit(secret, address, texts, files=files)


async def _key(request: Request, server: Server, parameters: Parameters) -> ApiKey | None:
    return await admit(server, request, parameters)


async def _owner(request: Request, server: Server, parameters: Parameters) -> int | None:
    return key_id(await admit(server, request, parameters))


async def _sender(request: Request, server: Server, parameters: Parameters) -> int | None:
    return key_id(await admit(server, request, parameters, files=True))


Key = Annotated[ApiKey | None, Depends(_key)]
"""The key of an admitted request."""
Owner = Annotated[int | None, Depends(_owner)]
"""The number of the key of an admitted request, which owns glossaries and files."""
Sender = Annotated[int | None, Depends(_sender)]
"""The number of the key of an admitted request with a file."""


def refuse(error: RefusedError, status: int) -> Response:
    """An error in DeepL's format; an exhausted quota has a special status."""
    if error.kind == "quota_exceeded":
        status = _QUOTA_EXCEEDED
    return JSONResponse({"message": str(error)}, status)
