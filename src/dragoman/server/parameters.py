"""Strictly read parameters of requests: a query string, and a form or JSON in the body."""

from __future__ import annotations

import gc
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar
from urllib.parse import parse_qsl

from python_multipart.exceptions import FormParserError
from starlette.datastructures import Headers, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request

from dragoman.server.server_config import MOST_ITEMS
from dragoman.translation.service.interface import RefusedError

if TYPE_CHECKING:
    from typing import Self

_FIELDS = 1000
"""Maximum number of fields of a form."""

_Value = TypeVar("_Value")


@dataclass(frozen=True)
class Upload:
    """A file in a form."""

    name: str
    """The client's name for the file; never used as a path here."""
    content: bytes


class RequestParameters(ABC):
    """The parameters of a request; each API has a subclass with its error messages.

    Args:
        values: a value of each name.  Forms have strings (a list of them if they share a name) and
            uploads; JSON has any JSON value.
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = values

    @classmethod
    async def read(cls, request: Request, *, part_bytes: int) -> Self:
        """The parameters of the query string and the body.

        Line ends of forms become ``\\n``.  A query string takes precedence over a form, and JSON
        over a query string.

        Args:
            request: JSON is recognised by its content type; a body of any type except JSON and
                forms is not read.
            part_bytes: maximum size of a part of a multipart form that is not a file.
        """
        return cls(await _values(request, part_bytes))

    def text(self, name: str) -> str | None:
        """The string of a name; None if it is missing or empty."""
        value = self.single(name)
        return None if value is None or value == "" else self.checked(name, value)

    def required(self, name: str) -> str:
        """The string of a name, which must not be missing or empty."""
        if (text := self.text(name)) is None:
            raise self.missing(name)
        return text

    def checked(self, name: str, value: object) -> str:
        """The value of a parameter, after checking that it is a string with valid Unicode."""
        if not isinstance(value, str):
            raise self.no_string(name, value)
        if (place := half_character(value)) is not None:
            raise self.half(name, place)
        return value

    def single(self, name: str) -> Any:
        """The value of a parameter that may not be repeated."""
        return self.values.get(name)

    @abstractmethod
    def missing(self, name: str) -> RefusedError:
        """The error for a missing parameter."""

    @abstractmethod
    def no_string(self, name: str, value: object) -> RefusedError:
        """The error for a value that should be a string."""

    @abstractmethod
    def half(self, name: str, place: int) -> RefusedError:
        """The error for a string with half of a surrogate pair; ``place`` counts from 1."""


def keep_uploads_in_memory() -> None:
    """Make Starlette keep uploaded files in memory, for all APIs.

    It would write files of more than 1 MB to the temporary directory, which may be full.  The whole
    body is in memory anyway, within the limits of each request.
    """
    MultiPartParser.spool_max_size = 0  # SpooledTemporaryFile takes 0 as unlimited


def address_of(request: Request) -> str:
    """The address of a request's client; empty if unknown."""
    return request.client.host if request.client else ""


async def _values(request: Request, part_bytes: int) -> dict[str, Any]:
    query = _grouped(_decoded_form(request.scope["query_string"]))
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type == "application/json" or re.fullmatch(r"application/.+\+json", media_type):
        return {**query, **_json(await request.body())}
    if media_type == "multipart/form-data":
        return {**await _multipart(request, part_bytes), **query}
    if media_type == "application/x-www-form-urlencoded":
        return {**_grouped(_decoded_form(await request.body())), **query}
    return query


@contextmanager
def collection_paused() -> Iterator[None]:
    """Pause the garbage collector while JSON is parsed.

    It would examine the millions of lists that fit into a body again and again, and so block the
    server for seconds instead of tenths of a second.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _json(body: bytes) -> dict[str, Any]:
    try:
        with collection_paused():
            found = json.loads(body.decode("utf-8-sig"), parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        raise RefusedError("invalid", f"Invalid JSON format: {_not_utf8(error)}") from error
    except RecursionError as error:
        raise RefusedError("invalid", "Invalid JSON format: nested too deeply") from error
    except json.JSONDecodeError as error:
        raise RefusedError("invalid", f"Invalid JSON format: {error}") from error
    except ValueError as error:  # Python converts no integer of more than 4300 digits
        raise RefusedError("invalid", "Invalid JSON format: a number is too long") from error
    if not isinstance(found, dict):
        raise RefusedError("invalid", "Invalid JSON format: not an object")
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise RefusedError("invalid", f"Invalid JSON format: {name} is not a number of JSON")


def _decoded_form(body: bytes) -> list[tuple[str, str]]:
    """The fields of a form or query string, escaped or not (curl sends letters as they are)."""
    try:
        return parse_qsl(
            body.decode("utf-8"), keep_blank_values=True, errors="strict", max_num_fields=_FIELDS
        )
    except UnicodeDecodeError as error:
        raise invalid(_not_utf8(error)) from error
    except ValueError as error:
        raise invalid(f"more than {_FIELDS} fields") from error


async def _multipart(request: Request, part_bytes: int) -> dict[str, Any]:
    # Starlette silently reads invalid UTF-8 as Latin-1.  Declared as Latin-1, all bytes survive
    # and can be decoded here.
    kind = re.sub(r";\s*charset=[^;]*", "", request.headers["content-type"], flags=re.IGNORECASE)
    parser = MultiPartParser(
        Headers({"content-type": f"{kind}; charset=latin-1"}),
        request.stream(),
        max_files=8,
        max_fields=_FIELDS,
        max_part_size=part_bytes,
    )
    try:
        form = await parser.parse()
    except (MultiPartException, FormParserError) as error:  # FormParserError: an older Starlette's
        raise invalid(str(error)) from error
    try:
        return _grouped([(_utf8(name), await _part(value)) for name, value in form.multi_items()])
    finally:
        await form.close()


async def _part(value: UploadFile | str) -> str | Upload:
    if isinstance(value, str):
        return _utf8(value)
    return Upload(_utf8(value.filename or ""), await value.read())


def _utf8(latin: str) -> str:
    try:
        return latin.encode("latin-1").decode("utf-8")
    except UnicodeDecodeError as error:
        raise invalid(_not_utf8(error)) from error


def _grouped(fields: Iterable[tuple[str, _Value]]) -> dict[str, Any]:
    """The value of each name: a list if several fields share the name."""
    found: dict[str, list[Any]] = {}
    for name, value in fields:
        unified = re.sub("\r\n?", "\n", value) if isinstance(value, str) else value
        found.setdefault(name, []).append(unified)
    return {name: values[0] if len(values) == 1 else values for name, values in found.items()}


def check_number(value: object) -> None:
    """Refuse a list that is longer than any valid request, before examining its items.

    Examining the millions of items that fit into a body would block the server for seconds.

    Raises:
        RefusedError: ``too_large``.
    """
    if isinstance(value, list) and len(value) > MOST_ITEMS:
        text = f"{len(value)} texts in one request; send at most {MOST_ITEMS}"
        raise RefusedError("too_large", text)


def half_character(text: str) -> int | None:
    """Position, from 1, of the first half of a surrogate pair that stands alone; None if none does.

    JSON can express such a character, but UTF-8 cannot encode it.
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        return error.start + 1
    return None


def _not_utf8(error: UnicodeDecodeError) -> str:
    return f"not UTF-8 at byte {error.start + 1}"


def invalid(message: str) -> RefusedError:
    """The error for an invalid request."""
    return RefusedError("invalid", f"Invalid request: {message}")
