"""Parameters of DeepL's API, which come as JSON, as a form, or in the address."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl

from starlette.datastructures import UploadFile
from starlette.requests import Request

from dragoman.translation.service.interface import RefusedError

_JSON = "application/json"
_FORM = "application/x-www-form-urlencoded"
_MULTIPART = "multipart/form-data"

_MOST_FIELDS = 10_000
_TRUE = (True, 1, "1", "true", "True")
_FALSE = (False, 0, "0", "false", "False")


def invalid(message: str) -> RefusedError:
    """A request that asks for something that makes no sense."""
    return RefusedError("invalid", message)


def unsupported_value(name: str, explanation: str = "") -> RefusedError:
    """A parameter whose value is none of those that there are, in DeepL's words."""
    return invalid(
        f"Value for '{name}' not supported." + (f" {explanation}" if explanation else "")
    )


class Parameters:
    """What a request asks for, by name.

    Args:
        values: what came; a list if a parameter came several times.
        files: uploaded files.
    """

    def __init__(self, values: Mapping[str, Any], files: Mapping[str, UploadFile]) -> None:
        self._values, self.files = values, files

    @classmethod
    async def of(cls, request: Request) -> Parameters:
        """Those of the body and, where it has none of that name, of the address.

        Raises:
            RefusedError: ``invalid``, if the body cannot be read.
        """
        values = _gathered(request.query_params.multi_items())
        files: dict[str, UploadFile] = {}
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind == _MULTIPART:
            fields = (await request.form(max_fields=_MOST_FIELDS)).multi_items()
            files = {name: value for name, value in fields if isinstance(value, UploadFile)}
            texts = [(name, value) for name, value in fields if isinstance(value, str)]
            values.update(_gathered(texts))
        elif body := await request.body():
            values.update(_read_body(body, kind))
        return cls(values, files)

    def has(self, name: str) -> bool:
        """Whether a parameter has a value other than null and nothing."""
        return self._values.get(name) not in (None, "", [])

    def raw(self, name: str) -> Any:
        """A value as it came; None if there is none."""
        return self._values.get(name)

    def text(self, name: str) -> str | None:
        """A string; None if it did not come, or is empty."""
        value = self._last(name)
        if value is None or value == "":
            return None
        return _checked(name, value)

    def required(self, name: str) -> str:
        """A string that must come, and not empty."""
        value = self.text(name)
        if value is None:
            raise _missing(name)
        return value

    def texts(self, name: str) -> list[str]:
        """A list of strings that must come; a single string is a list of one."""
        value = self._values.get(name)
        if value is None or value == []:
            raise _missing(name)
        values = value if isinstance(value, list) else [value]
        return [_checked(name, one) for one in values]

    def flag(self, name: str, default: bool) -> bool:
        """A truth value: true, false, "1" or "0"."""
        value = self._last(name)
        if value is None or value == "":
            return default
        if isinstance(value, (bool, int, str)):
            if value in _TRUE:
                return True
            if value in _FALSE:
                return False
        raise unsupported_value(name, "It is true or false, or 1 or 0 in a form.")

    def choice(self, name: str, choices: Sequence[str]) -> str | None:
        """One of several values; None if none came."""
        value = self._last(name)
        if value is None or value == "":
            return None
        if isinstance(value, int) and not isinstance(value, bool):
            value = str(value)  # split_sentences, which some clients send as a number
        if value not in choices:
            raise unsupported_value(name, f"It is one of {', '.join(choices)}.")
        return str(value)

    def names(self, name: str) -> tuple[str, ...]:
        """A list of names, or one string in which they are separated by commas."""
        value = self._values.get(name)
        if value is None:
            return ()
        values = value if isinstance(value, list) else [value]
        parts = [part.strip() for one in values for part in _checked(name, one).split(",")]
        return tuple(dict.fromkeys(part for part in parts if part))

    def _last(self, name: str) -> Any:
        """The value of a parameter that has only one; the last, if it came several times."""
        value = self._values.get(name)
        return value[-1] if isinstance(value, list) and value else value


def check_text(name: str, value: str) -> str:
    """A string that can be written as UTF-8.

    Raises:
        RefusedError: ``invalid``, if it has half of a surrogate pair, as JSON may have.
    """
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise unsupported_value(
            name, f"Character {error.start + 1} is half of a surrogate pair, not a character."
        ) from None
    return value


def _checked(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise unsupported_value(name, "It is a string.")
    return check_text(name, value)


def _missing(name: str) -> RefusedError:
    return invalid(f"Parameter '{name}' not specified.")


def _read_body(body: bytes, kind: str) -> dict[str, Any]:
    # requests sends JSON without a type if it is told to send bytes; curl -d says it is a form.
    readers: dict[str, Callable[[str], dict[str, Any]]] = {
        _JSON: _read_json,
        _FORM: _read_form,
        "": _read_json if body.lstrip()[:1] == b"{" else _read_form,
    }
    if kind not in readers:
        raise invalid(
            f"The body is of type {kind[:100]!r}; send {_JSON}, {_FORM} or, for files, {_MULTIPART}."
        )
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise invalid(f"The body is not UTF-8: byte {error.start} begins no character.") from None
    return readers[kind](text)


def _read_json(text: str) -> dict[str, Any]:
    try:
        values = json.loads(text)
    except RecursionError:
        raise invalid("The body is not read: its JSON is nested too deeply.") from None
    except ValueError as error:
        raise invalid(f"The body is not valid JSON: {error}.") from None
    if not isinstance(values, dict):
        raise invalid('The body is valid JSON, but must be an object, such as {"text": [...]}.')
    return values


def _read_form(text: str) -> dict[str, Any]:
    try:
        # Many clients send characters as they are, which Starlette would read as Latin-1.
        fields = parse_qsl(
            text, keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS
        )
    except UnicodeDecodeError:
        raise invalid("The form is not UTF-8.") from None
    except ValueError as error:
        raise invalid(f"The form cannot be read: {error}.") from None
    return _gathered(fields)


def _gathered(fields: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Values by name, as JSON has them: a list where there are several."""
    values: dict[str, list[str]] = {}
    for name, value in fields:
        # Frameworks such as PHP and Rails write lists so.
        values.setdefault(name.removesuffix("[]"), []).append(value)
    return {name: found if len(found) > 1 else found[0] for name, found in values.items()}
