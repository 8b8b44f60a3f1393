"""Requests of LibreTranslate's clients: reading, admission, and OpenAPI descriptions."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

from fastapi import Depends
from starlette.requests import Request
from typing_extensions import override

from dragoman.server.database.records import ApiKey
from dragoman.server.dependencies import Dependencies, Server
from dragoman.server.parameters import (
    RequestParameters,
    Upload,
    address_of,
    check_number,
    invalid,
)
from dragoman.text.language_codes import spelling
from dragoman.translation.service.codes import fitting
from dragoman.translation.service.interface import RefusedError, TranslationService

_CODES = {"pb": "pt-BR", "zt": "zh-Hant"}
"""Codes that only LibreTranslate uses."""
_SHOWN = 40  # characters of an unknown code in a message


class LibreParameters(RequestParameters):
    """The parameters of a request, with LibreTranslate's error messages."""

    def texts(self, name: str) -> str | list[str]:
        """A non-empty string, or a list of strings, which may be empty."""
        value = self.values.get(name)
        if value is None or value in ("", []):
            raise self.missing(name)
        if isinstance(value, str):
            return self.checked(name, value)
        check_number(value)
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise invalid(f"{name} parameter is not a string or a list of strings")
        return [self.checked(name, one) for one in value]

    def languages(self) -> tuple[str | None, str]:
        """The service's codes of the source language (None: detect it) and the target language."""
        source, target = (
            _CODES.get(spelling(code), code)
            for code in (self.required("source"), self.required("target"))
        )
        return None if spelling(source) == "auto" else source, target

    def count(self, name: str, maximum: int) -> int:
        """A count; 0 if it is missing or negative."""
        value = self.values.get(name)
        if value is None:
            return 0
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, str) and re.fullmatch(r"[ ]*[+-]?[0-9]{1,18}[ ]*", value):
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool):
            raise invalid(f"{name} parameter is not a number")
        if value > maximum:
            raise invalid(f"{name} parameter must be <= {maximum}")
        return max(0, value)

    def upload(self, name: str) -> Upload:
        """A file."""
        value = self.values.get(name)
        if value is None or value == "":
            raise self.missing(name)
        if not isinstance(value, Upload):
            raise invalid(f"{name} parameter is not a file")
        return value

    @override
    def missing(self, name: str) -> RefusedError:
        return invalid(f"missing {name} parameter")

    @override
    def no_string(self, name: str, value: object) -> RefusedError:
        if isinstance(value, list) and value and all(isinstance(one, str) for one in value):
            return invalid(f"{name} parameter is several strings; one is expected")
        return invalid(f"{name} parameter is not a string")

    @override
    def half(self, name: str, place: int) -> RefusedError:
        return invalid(f"{name} parameter has half of a surrogate pair at character {place}")


class Incoming:
    """A request whose parameters are read, and which is admitted at most once."""

    given = LibreParameters({})
    is_admitted = False
    _secret: str | None = None

    def __init__(self, server: Dependencies, request: Request) -> None:
        self._server, self._request = server, request

    async def read(self) -> None:
        """Read the parameters."""
        part_bytes = self._server.config.limits.body_bytes
        self.given = await LibreParameters.read(self._request, part_bytes=part_bytes)
        self._secret = self.given.text("api_key")

    async def admit(self, texts: Sequence[str] = (), *, files: bool = False) -> ApiKey | None:
        """Admit the request with texts or files; returns its key, if any."""
        self.is_admitted = True
        address = address_of(self._request)
        try:
            return await self._server.access.admit(self._secret, address, texts, files=files)
        except RefusedError as error:
            if error.kind != "forbidden":
                raise
            if self._secret is None:
                message = "Please contact the server operator to get an API key"
                raise RefusedError("invalid", message) from error
            raise RefusedError("forbidden", "Invalid API key") from error


async def _incoming(request: Request, server: Server) -> AsyncIterator[Incoming]:
    incoming = Incoming(server, request)
    try:
        await incoming.read()
        yield incoming
    except RefusedError:
        if not incoming.is_admitted:
            # So that a wrong key is reported first, and invalid requests count as well.
            await incoming.admit()
        raise


Posted = Annotated[Incoming, Depends(_incoming)]
"""The request of a route with a body, which the route admits."""


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


def _described(*required: str, **properties: dict[str, Any]) -> dict[str, Any]:
    """The OpenAPI description of a request whose parameters are a form or JSON.

    A file can only be sent in a multipart form.
    """
    key = {"type": "string", "description": "API key"}
    schema = {
        "type": "object",
        "required": list(required),
        "properties": {**properties, "api_key": key},
    }
    types = (
        () if "file" in properties else ("application/json", "application/x-www-form-urlencoded")
    )
    content = {kind: {"schema": schema} for kind in (*types, "multipart/form-data")}
    return {"requestBody": {"required": True, "content": content}}


_TEXT = {"type": "string", "example": "Hello world!"}
_TEXTS = {
    "anyOf": [_TEXT, {"type": "array", "items": _TEXT, "example": ["Hello world!"]}],
    "description": "Text(s)",
}
_PAIR = {
    "source": {
        "type": "string",
        "example": "en",
        "description": "Source language code, or `auto`",
    },
    "target": {"type": "string", "example": "de", "description": "Target language code"},
}
_FORMAT = {
    "type": "string",
    "enum": ["text", "html"],
    "default": "text",
    "description": "Format of source text: plain text, or HTML markup",
}
_ALTERNATIVES = {
    "type": "integer",
    "default": 0,
    "description": "Preferred number of alternative translations",
}
_FILE = {"type": "string", "format": "binary", "description": "File to translate"}

DESCRIBED = {
    "/translate": _described(
        "q", *_PAIR, q=_TEXTS, **_PAIR, format=_FORMAT, alternatives=_ALTERNATIVES
    ),
    "/detect": _described("q", q=_TEXTS),
    "/translate_file": _described("file", *_PAIR, file=_FILE, **_PAIR),
    "/suggest": _described("q", "s", *_PAIR, q=_TEXT, s=_TEXT, **_PAIR),
}
"""The OpenAPI description of the request body of each path with a body."""
