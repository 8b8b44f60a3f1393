"""What every request to DeepL's API has in common: a key, and how it is refused."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from dragoman.server.database.records import ApiKey
from dragoman.server.deepl.parameters import DeepLParameters, header_secret
from dragoman.server.dependencies import Premises
from dragoman.server.parameters import address_of
from dragoman.translation.service.interface import RefusedError

_QUOTA_EXCEEDED = 456  # of no standard


async def admission(
    premises: Premises,
    request: Request,
    parameters: DeepLParameters,
    texts: Sequence[str] = (),
    *,
    files: bool = False,
) -> ApiKey | None:
    """Admit a request; its key, if it has one.

    Raises:
        RefusedError: as the guard does.
    """
    address = address_of(request)
    try:
        secret = header_secret(request) or parameters.text("auth_key")
    except RefusedError:
        await premises.guard.admit(None, address)  # requests without sense count, too
        raise
    return await premises.guard.admit(secret, address, texts, files=files)


async def admitted(
    premises: Premises,
    request: Request,
    parameters: DeepLParameters,
    texts: Sequence[str] = (),
    *,
    files: bool = False,
) -> int | None:
    """The same; the number of the key."""
    key = await admission(premises, request, parameters, texts, files=files)
    return key.id if key else None


def refuse(error: RefusedError, status: int) -> Response:
    """An error in DeepL's words; a used up quota has a status of its own."""
    if error.kind == "quota_exceeded":
        status = _QUOTA_EXCEEDED
    return JSONResponse({"message": str(error)}, status)
