"""Admission of requests to LibreTranslate's API, and its check of languages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from starlette.requests import Request

from dragoman.server.database.records import ApiKey
from dragoman.server.dependencies import Dependencies
from dragoman.server.libretranslate.requests import LibreParameters
from dragoman.server.parameters import address_of
from dragoman.translation.service.codes import fitting
from dragoman.translation.service.interface import RefusedError, TranslationService

_Task = TypeVar("_Task")

_SHOWN = 40  # characters of an unknown code in a message


def _no_texts(task: object) -> Sequence[str]:
    return ()


async def admit(
    server: Dependencies,
    request: Request,
    read: Callable[[LibreParameters], _Task],
    texts: Callable[[_Task], Sequence[str]] = _no_texts,
    *,
    files: bool = False,
) -> tuple[_Task, ApiKey | None]:
    """Read and admit a request; returns its task and its key, if any.

    Args:
        server: has the limits and the keys.
        request: with unread parameters.
        read: makes a task of the parameters.
        texts: gives the texts of a task that count against limits.
        files: whether the request has a file, whose characters count on translation.

    Raises:
        RefusedError: the request is invalid, or is not admitted.
    """
    secret = None
    try:
        given = await LibreParameters.read(request, part_bytes=server.config.limits.body_bytes)
        secret = given.text("api_key")
        task = read(given)
    except RefusedError:
        # So that a wrong key is reported first, and invalid requests count as well.
        await _admit(server, request, secret)
        raise
    return task, await _admit(server, request, secret, texts(task), files=files)


async def _admit(
    server: Dependencies,
    request: Request,
    secret: str | None,
    texts: Sequence[str] = (),
    *,
    files: bool = False,
) -> ApiKey | None:
    try:
        return await server.access.admit(secret, address_of(request), texts, files=files)
    except RefusedError as error:
        if error.kind != "forbidden":
            raise
        if secret is None:
            message = "Please contact the server operator to get an API key"
            raise RefusedError("invalid", message) from error
        raise RefusedError("forbidden", "Invalid API key") from error


def known_language(service: TranslationService, code: str) -> str:
    """The service's code of a language.

    Raises:
        RefusedError: ``unsupported``.
    """
    languages = {one for pair in service.directions() for one in pair}
    known = fitting(code, languages)
    if not known:
        raise RefusedError("unsupported", f"{code[:_SHOWN]} is not supported")
    return known[0]


@contextmanager
def unsupported_language(
    service: TranslationService, source: str | None, target: str
) -> Iterator[None]:
    """Name the unsupported language if the service refuses a pair."""
    try:
        yield
    except RefusedError as error:
        if error.kind == "unsupported":
            for code in (source, target):
                if code is not None:
                    known_language(service, code)
        raise
