"""Parameters and keys of requests to DeepL's API, with its error messages."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from fastapi import Depends
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from typing_extensions import override

from dragoman.server.access import key_id
from dragoman.server.database.records import ApiKey
from dragoman.server.dependencies import Server
from dragoman.server.parameters import RequestParameters, Upload, address_of, check_number
from dragoman.translation.service.interface import RefusedError

_TRUE = (True, 1, "1", "true", "True")
_MOST_NAMES = 1000
_FALSE = (False, 0, "0", "false", "False")
_MEMBER = re.compile(r"\[(?P<index>[0-9]{1,9})\](?:\.(?P<name>\w+)|\[(?P<other>\w+)\])")
"""Suffix of a list of objects in a form: ``[0].name``, or PHP's ``[0][name]``."""


def invalid(message: str) -> RefusedError:
    """The error for an invalid request."""
    return RefusedError("invalid", message)


def unsupported_value(name: str, explanation: str = "") -> RefusedError:
    """The error for an unsupported value of a parameter, in DeepL's words."""
    return invalid(
        f"Value for '{name}' not supported." + (f" {explanation}" if explanation else "")
    )


class DeepLParameters(RequestParameters):
    """The parameters of a request, with DeepL's error messages."""

    def has(self, name: str) -> bool:
        """Whether a parameter has a value other than null and the empty string."""
        return self.values.get(name) not in (None, "", [])

    def texts(self, name: str) -> list[str]:
        """A required list of strings; a single string is a list of one item."""
        value = self.values.get(name)
        if value is None or value == []:
            raise self.missing(name)
        check_number(value)
        values = value if isinstance(value, list) else [value]
        return [self.checked(name, value) for value in values]

    def objects(self, name: str, most: int) -> list[DeepLParameters]:
        """A list of objects; those of a form are in the order of their numbers.

        Fields of forms are ``name[0].member``.
        """
        given = self.values.get(name)
        found = self._numbered(name) if given is None or given == "" else given
        if not isinstance(found, list) or not all(isinstance(one, Mapping) for one in found):
            raise unsupported_value(name, "It is a list of objects.")
        if len(found) > most:
            raise unsupported_value(name, f"It has {len(found)} objects; send at most {most}.")
        return [DeepLParameters(one) for one in found]

    def _numbered(self, name: str) -> list[dict[str, Any]]:
        objects: dict[int, dict[str, Any]] = {}
        for key, value in self.values.items():
            if not key.startswith(f"{name}["):
                continue
            if (member := _MEMBER.fullmatch(key, len(name))) is None:
                raise unsupported_value(name, f"A field of a form is called {name}[0].entries.")
            fields = objects.setdefault(int(member["index"]), {})
            fields[member["name"] or member["other"]] = value
        return [objects[index] for index in sorted(objects)]

    def upload(self, name: str) -> Upload:
        """A required file."""
        value = self.single(name)
        if not isinstance(value, Upload):
            raise invalid(f"Invalid file data: send a file as '{name}' of multipart/form-data.")
        return value

    def flag(self, name: str, default: bool) -> bool:
        """A Boolean: true, false, "1" or "0"."""
        value = self.single(name)
        if value is None or value == "":
            return default
        if isinstance(value, (bool, int, str)):
            if value in _TRUE:
                return True
            if value in _FALSE:
                return False
        raise unsupported_value(name, "It is true or false, or 1 or 0 in a form.")

    def choice(self, name: str, choices: Sequence[str]) -> str | None:
        """One of several values; None if missing."""
        value = self.single(name)
        if value is None or value == "":
            return None
        if isinstance(value, int) and not isinstance(value, bool):
            value = str(value)  # split_sentences, which some clients send as a number
        if value not in choices:
            raise unsupported_value(name, f"It is one of {', '.join(choices)}.")
        return str(value)

    def names(self, name: str) -> tuple[str, ...]:
        """Names from a list, or from a string with commas."""
        value = self.values.get(name)
        if value is None:
            return ()
        check_number(value)
        values = [
            self.checked(name, one) for one in (value if isinstance(value, list) else [value])
        ]
        if sum(value.count(",") + 1 for value in values) > _MOST_NAMES:
            raise unsupported_value(name, f"Send at most {_MOST_NAMES} names.")
        parts = [part.strip() for value in values for part in value.split(",")]
        return tuple(dict.fromkeys(part for part in parts if part))

    def single(self, name: str) -> Any:
        """The value of a parameter; the last if it is repeated."""
        value = self.values.get(name)
        return value[-1] if isinstance(value, list) and value else value

    @override
    def missing(self, name: str) -> RefusedError:
        return invalid(f"Parameter '{name}' not specified.")

    @override
    def no_string(self, name: str, value: object) -> RefusedError:
        return unsupported_value(name, "It is a string.")

    @override
    def half(self, name: str, place: int) -> RefusedError:
        return unsupported_value(
            name, f"Character {place} is half of a surrogate pair, not a character."
        )


_SCHEME = "deepl-auth-key"
_QUOTA_EXCEEDED = 456  # not a standard HTTP status


def _header_secret(request: Request) -> str | None:
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
