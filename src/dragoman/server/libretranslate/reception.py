"""What every request of a LibreTranslate client goes through, and how refusals are worded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from starlette.requests import Request

from dragoman.server.database.records import ApiKey
from dragoman.server.dependencies import Premises
from dragoman.server.parameters import RequestParameters, address_of, read_parameters
from dragoman.translation.service.codes import fitting
from dragoman.translation.service.interface import RefusedError

_Asked = TypeVar("_Asked")

_SHOWN = 40  # characters of a code that is unknown


def _no_texts(asked: object) -> Sequence[str]:
    return ()


class LibreReception:
    """Reads requests, and admits them."""

    def __init__(self, premises: Premises) -> None:
        self._premises = premises

    async def admit(
        self,
        request: Request,
        read: Callable[[RequestParameters], _Asked],
        texts: Callable[[_Asked], Sequence[str]] = _no_texts,
        *,
        files: bool = False,
    ) -> tuple[_Asked, ApiKey | None]:
        """What a request asks for, and the key it brings.

        Args:
            request: whose parameters are not read yet.
            read: makes sense of them.
            texts: what of it is counted against limits.
            files: whether it brings a file, which is counted when it is translated.

        Raises:
            RefusedError: the request makes no sense, or is not admitted.
        """
        limits = self._premises.config.limits
        try:
            given = await read_parameters(request, part_bytes=limits.body_bytes)
            secret = given.text("api_key")
        except RefusedError:
            await self._admit(request, None)
            raise
        try:
            asked = read(given)
        except RefusedError:
            # So that a wrong key is named first, and requests without sense count too.
            await self._admit(request, secret)
            raise
        return asked, await self._admit(request, secret, texts(asked), files=files)

    async def _admit(
        self,
        request: Request,
        secret: str | None,
        texts: Sequence[str] = (),
        *,
        files: bool = False,
    ) -> ApiKey | None:
        try:
            return await self._premises.guard.admit(secret, address_of(request), texts, files=files)
        except RefusedError as error:
            if error.kind != "forbidden":
                raise
            if secret is None:
                message = "Please contact the server operator to get an API key"
                raise RefusedError("invalid", message) from error
            raise RefusedError("forbidden", "Invalid API key") from error

    def known(self, code: str) -> str:
        """A language as the service calls it.

        Raises:
            RefusedError: ``unsupported``.
        """
        languages = {one for pair in self._premises.service.directions() for one in pair}
        found = fitting(code, languages)
        if not found:
            raise RefusedError("unsupported", f"{code[:_SHOWN]} is not supported")
        return found[0]

    @contextmanager
    def wording(self, source: str | None, target: str) -> Iterator[None]:
        """Say which language is not supported, if the service refuses a pair."""
        try:
            yield
        except RefusedError as error:
            if error.kind == "unsupported":
                for code in (source, target):
                    if code is not None:
                        self.known(code)
            raise
