"""Parameters of requests, in a query string or a body that is a form or JSON, strictly read."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
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
    from typing_extensions import Self

_FIELDS = 1000
"""Maximum number of fields of a form."""

_Value = TypeVar("_Value")


@dataclass(frozen=True)
class Upload:
    """A file in a form."""

    name: str
    """As the client calls it: never a path here."""
    content: bytes


class RequestParameters(ABC):
    """The parameters of a request.  Each API has a class, which words what is wrong with them.

    Args:
        values: a value of each name; forms have strings (a list of those that share a name) and
            uploads, JSON anything that it can have.
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = values

    @classmethod
    async def read(cls, request: Request, *, part_bytes: int) -> Self:
        """The parameters of the query string and the body.

        Line ends of forms are ``\\n``, whichever the client's system writes.  A form's query
        string goes before its body, and JSON goes before a query string.

        Args:
            request: JSON is recognised by its content type; a body of any other type than that of
                JSON or forms is not read.
            part_bytes: maximum size of a part of a multipart form that is not a file.

        Raises:
            RefusedError: ``invalid``: malformed JSON, or forms that are not UTF-8.
        """
        return cls(await _values(request, part_bytes))

    def text(self, name: str) -> str | None:
        """A string; None if there is none, or it is empty."""
        value = self.single(name)
        return None if value is None or value == "" else self.checked(name, value)

    def required(self, name: str) -> str:
        """A string that is not empty."""
        if (text := self.text(name)) is None:
            raise self.missing(name)
        return text

    def checked(self, name: str, value: object) -> str:
        """A value of a parameter, if it is a string that can be written as UTF-8."""
        if not isinstance(value, str):
            raise self.no_string(name, value)
        if (place := half_character(value)) is not None:
            raise self.half(name, place)
        return value

    def single(self, name: str) -> Any:
        """The value of a parameter that has only one."""
        return self.values.get(name)

    @abstractmethod
    def missing(self, name: str) -> RefusedError:
        """The error for a parameter that did not come."""

    @abstractmethod
    def no_string(self, name: str, value: object) -> RefusedError:
        """The error for a value that should be a string."""

    @abstractmethod
    def half(self, name: str, place: int) -> RefusedError:
        """The error for a string with half of a surrogate pair, at a character counted from 1."""


def keep_uploads_in_memory() -> None:
    """Have Starlette keep files of forms in memory, whichever API reads them.

    It would write those of more than 1 MB to the directory for temporary files, which may be full;
    and the whole body is in memory anyway, within the bounds of each request.
    """
    MultiPartParser.spool_max_size = 0  # for a SpooledTemporaryFile: any size


def address_of(request: Request) -> str:
    """Where the client of a request is; empty if that is not known."""
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


def _json(body: bytes) -> dict[str, Any]:
    try:
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
    # Starlette reads what is not UTF-8 as Latin-1 and says nothing; told that all of it is
    # Latin-1, it loses nothing, and the bytes can be read here.
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
    except (MultiPartException, FormParserError) as error:  # the latter is an older Starlette's
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
    """The value of each name: a list where several fields share it."""
    found: dict[str, list[Any]] = {}
    for name, value in fields:
        unified = re.sub("\r\n?", "\n", value) if isinstance(value, str) else value
        found.setdefault(name, []).append(unified)
    return {name: values[0] if len(values) == 1 else values for name, values in found.items()}


def check_number(value: object) -> None:
    """Refuse a list of more things than any request has before each is looked at.

    Looking at the millions that a body has room for takes seconds, in which nobody is answered.

    Raises:
        RefusedError: ``too_large``.
    """
    if isinstance(value, list) and len(value) > MOST_ITEMS:
        text = f"{len(value)} texts in one request; send at most {MOST_ITEMS}"
        raise RefusedError("too_large", text)


def half_character(text: str) -> int | None:
    """Which character, from 1, is half of a surrogate pair; None if a text has no such.

    JSON can say it, and nothing can write it.
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        return error.start + 1
    return None


def _not_utf8(error: UnicodeDecodeError) -> str:
    return f"not UTF-8 at byte {error.start + 1}"


def invalid(message: str) -> RefusedError:
    """A request that makes no sense."""
    return RefusedError("invalid", f"Invalid request: {message}")
