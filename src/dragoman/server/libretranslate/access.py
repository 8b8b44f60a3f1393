"""Admission of requests to LibreTranslate's API, and the languages that they may name."""

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

_SHOWN = 40  # characters of a code that is unknown


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
    """The task of a request, and the key it brings.

    Args:
        server: has the limits and the keys.
        request: whose parameters are not read yet.
        read: makes a task of them.
        texts: those of a task that count against limits.
        files: whether it brings a file, which is counted when it is translated.

    Raises:
        RefusedError: the request makes no sense, or is not admitted.
    """
    secret = None
    try:
        given = await LibreParameters.read(request, part_bytes=server.config.limits.body_bytes)
        secret = given.text("api_key")
        task = read(given)
    except RefusedError:
        # So that a wrong key is named first, and requests without sense count too.
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
    """A language as the service calls it.

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
    """Say which language is not supported, if the service refuses a pair."""
    try:
        yield
    except RefusedError as error:
        if error.kind == "unsupported":
            for code in (source, target):
                if code is not None:
                    known_language(service, code)
        raise
