"""What a request says, in its query string or a body that is a form or JSON: strictly read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar
from urllib.parse import parse_qsl

from python_multipart.exceptions import FormParserError
from starlette.datastructures import Headers, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request

from dragoman.server.server_config import MOST_ITEMS
from dragoman.translation.service.interface import RefusedError

_FIELDS = 1000
"""Maximum number of fields of a form."""

_Value = TypeVar("_Value")


@dataclass(frozen=True)
class Upload:
    """A file in a form."""

    name: str
    """As the client calls it: never a path here."""
    content: bytes


@dataclass(frozen=True)
class RequestParameters:
    """What a request says.

    Each method raises a ``RefusedError`` of the kind ``invalid`` for a value of another type.

    Args:
        values: a value of each name; forms have strings (a list of those that share a name) and
            uploads, JSON anything that it can have.
    """

    values: Mapping[str, Any]

    def text(self, name: str) -> str | None:
        """A string; None if there is none, or it is empty."""
        value = self.values.get(name)
        if value is None or value == "":
            return None
        if isinstance(value, list) and all(isinstance(one, str) for one in value) and value:
            raise _invalid(f"{name} parameter is several strings; one is expected")
        if not isinstance(value, str):
            raise _invalid(f"{name} parameter is not a string")
        return _proper(name, value)

    def required(self, name: str) -> str:
        """A string that is not empty."""
        found = self.text(name)
        if found is None:
            raise _invalid(f"missing {name} parameter")
        return found

    def texts(self, name: str) -> str | list[str]:
        """A string that is not empty, or a list of strings, which may be.

        Raises:
            RefusedError: also ``too_large``, if there are more than any server takes.
        """
        value = self.values.get(name)
        if value is None or value in ("", []):
            raise _invalid(f"missing {name} parameter")
        if isinstance(value, str):
            return _proper(name, value)
        check_number(value)
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise _invalid(f"{name} parameter is not a string or a list of strings")
        return [_proper(name, one) for one in value]

    def count(self, name: str, maximum: int) -> int:
        """A number of things; 0 if there is none, or it is negative."""
        value = self.values.get(name)
        if value is None:
            return 0
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, str) and re.fullmatch(r"[ ]*[+-]?[0-9]{1,18}[ ]*", value):
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool):
            raise _invalid(f"{name} parameter is not a number")
        if value > maximum:
            raise _invalid(f"{name} parameter must be <= {maximum}")
        return max(0, value)

    def upload(self, name: str) -> Upload:
        """A file."""
        value = self.values.get(name)
        if value is None or value == "":
            raise _invalid(f"missing {name} parameter")
        if not isinstance(value, Upload):
            raise _invalid(f"{name} parameter is not a file")
        return value


def keep_uploads_in_memory() -> None:
    """Have Starlette keep files of forms in memory, whichever door reads them.

    It would write those of more than 1 MB to the directory for temporary files, which may be full;
    and the whole body is in memory anyway, within the bounds of each request.
    """
    MultiPartParser.spool_max_size = 0  # for a SpooledTemporaryFile: any size


def address_of(request: Request) -> str:
    """Where the client of a request is; empty if that is not known."""
    return request.client.host if request.client else ""


async def read_parameters(request: Request, *, part_bytes: int) -> RequestParameters:
    """The parameters of a request.

    Line ends of forms are ``\\n``, whichever the client's system writes.  The query string is
    read too; what a form says there goes before its body, and JSON goes before a query string.

    Args:
        request: JSON is recognised by its content type; a body of any other type than that of
            JSON or forms is not read.
        part_bytes: maximum size of a part of a multipart form that is not a file.

    Raises:
        RefusedError: ``invalid``: malformed JSON, or forms that are not UTF-8.
    """
    query = _grouped(_decoded_form(request.scope["query_string"]))
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type == "application/json" or re.fullmatch(r"application/.+\+json", media_type):
        return RequestParameters({**query, **_json(await request.body())})
    if media_type == "multipart/form-data":
        return RequestParameters({**await _multipart(request, part_bytes), **query})
    if media_type == "application/x-www-form-urlencoded":
        return RequestParameters({**_grouped(_decoded_form(await request.body())), **query})
    return RequestParameters(query)


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
        raise _invalid(_not_utf8(error)) from error
    except ValueError as error:
        raise _invalid(f"more than {_FIELDS} fields") from error


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
        raise _invalid(str(error)) from error
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
        raise _invalid(_not_utf8(error)) from error


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


def _proper(name: str, text: str) -> str:
    if (place := half_character(text)) is not None:
        raise _invalid(f"{name} parameter has half of a surrogate pair at character {place}")
    return text


def _not_utf8(error: UnicodeDecodeError) -> str:
    return f"not UTF-8 at byte {error.start + 1}"


def _invalid(message: str) -> RefusedError:
    return RefusedError("invalid", f"Invalid request: {message}")
