"""Requests of LibreTranslate's clients: reading, admission, and OpenAPI descriptions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from starlette.requests import Request
from typing_extensions import override

from dragoman.server.database.records import ApiKey
from dragoman.server.dependencies import Dependencies
from dragoman.server.parameters import (
    RequestParameters,
    Upload,
    address_of,
    check_number,
    invalid,
)
from dragoman.server.server_config import LimitsConfig
from dragoman.text.language_codes import spelling
from dragoman.translation.service.codes import fitting
from dragoman.translation.service.interface import RefusedError, TranslationService

_CODES = {"pb": "pt-BR", "zt": "zh-Hant"}
"""Codes that only LibreTranslate uses."""


def source_language(code: str) -> str | None:
    """The service's code of a source language; None: detect it."""
    return None if spelling(code) == "auto" else language_code(code)


def language_code(code: str) -> str:
    """The service's code of a language."""
    return _CODES.get(spelling(code), code)


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


@dataclass(frozen=True)
class LibreTask:
    """Texts to translate."""

    texts: tuple[str, ...]
    is_list: bool
    source: str | None
    target: str
    is_html: bool
    alternatives: int

    @classmethod
    def read(cls, given: LibreParameters, limits: LimitsConfig) -> LibreTask:
        """From the parameters of a request.

        Raises:
            RefusedError: ``invalid``.
        """
        texts = given.texts("q")
        source, target = given.required("source"), given.required("target")
        alternatives = given.count("alternatives", limits.alternatives)
        kind = given.text("format") or "text"
        if kind not in {"text", "html"}:
            raise RefusedError("invalid", f"{kind[:40]} format is not supported")
        return cls(
            texts=(texts,) if isinstance(texts, str) else tuple(texts),
            is_list=not isinstance(texts, str),
            source=source_language(source),
            target=language_code(target),
            is_html=kind == "html",
            alternatives=alternatives,
        )


@dataclass(frozen=True)
class LibreFileTask:
    """A file to translate."""

    file: Upload
    source: str | None
    target: str

    @classmethod
    def read(cls, given: LibreParameters, suffixes: tuple[str, ...]) -> LibreFileTask:
        """From the parameters of a request.

        Raises:
            RefusedError: ``invalid``.
        """
        file = given.upload("file")
        source, target = given.required("source"), given.required("target")
        if not file.name or not file.content:
            raise invalid("empty file")
        if not file.name.lower().endswith(suffixes):
            raise invalid("file format not supported; supported are " + ", ".join(suffixes))
        return cls(file, source_language(source), language_code(target))


@dataclass(frozen=True)
class LibreSuggestion:
    """A better translation."""

    text: str
    translation: str
    source: str | None
    target: str

    @classmethod
    def read(cls, given: LibreParameters) -> LibreSuggestion:
        """From the parameters of a request; the store limits their length."""
        text, translation = given.required("q"), given.required("s")
        source, target = given.required("source"), given.required("target")
        return cls(text, translation, source_language(source), language_code(target))


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
