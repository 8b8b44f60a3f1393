"""Requests to each door of a server, in process: what is behind the socket sees any bytes."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import unquote_to_bytes, urlencode

from echo_service import EchoService
from fastapi import FastAPI

from dragoman.saved.system import TranslationSystem
from dragoman.server.app import assemble
from dragoman.server.database.server_store import ServerStore
from dragoman.server.server_config import LimitsConfig, ServerConfig
from soak.fuzzing.bombs import json_bombs, repeated
from soak.fuzzing.mutations import with_other_value
from soak.fuzzing.target import Bounds, Hostile, Target, tokens


class AnsweredError(Exception):
    """The server has refused a request in its own words; the message is its answer."""


class ServerError(Exception):
    """The server has answered with a status that only its own faults have."""


class _Errors(logging.Handler):
    """Keeps the exceptions that a server logs because nobody expected them."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.seen: list[BaseException] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and record.exc_info[1] is not None:
            self.seen.append(record.exc_info[1])


class _Server:
    """A whole application over a service without a model, in the process that asks first.

    Args:
        folder: for its database.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process = 0
        self._errors = _Errors()

    def __call__(self, hostile: Hostile) -> None:
        """Answer one request, written as HTTP/1.1 writes it.

        Raises:
            AnsweredError: it was refused.
            ServerError: the server failed without saying why.
        """
        if self._process != os.getpid():
            self._start()
        self._errors.seen.clear()
        status, answer = self._loop.run_until_complete(self._answer(hostile.content))
        if self._errors.seen:
            raise self._errors.seen[0]
        if status >= 500 and status not in {501, 503}:
            raise ServerError(f"{status}: {answer[:200]!r}")
        if status >= 400:
            raise AnsweredError(f"{status}: {answer.decode('utf-8')}")

    def _start(self) -> None:
        """Begin as a server does, in a loop of this process."""
        self._process = os.getpid()
        self._loop = asyncio.new_event_loop()
        logging.getLogger("dragoman").addHandler(self._errors)
        logging.getLogger("dragoman").propagate = False
        store = ServerStore(str(self._folder / f"server-{self._process}.sqlite"))
        config = ServerConfig(
            systems=(TranslationSystem(models=("unread",)),), limits=LimitsConfig(seconds=20)
        )
        self._app: FastAPI = assemble(config, EchoService(), store)
        self._life = self._app.router.lifespan_context(self._app)
        self._loop.run_until_complete(self._life.__aenter__())

    async def _answer(self, content: bytes) -> tuple[int, bytes]:
        head, _, body = content.partition(b"\r\n\r\n")
        first, *lines = head.split(b"\r\n")
        method, _, target = first.partition(b" ")
        path, _, query = target.partition(b"?")
        headers = [tuple(line.partition(b": ")[::2]) for line in lines if b": " in line]
        if any(n.lower() == b"content-length" and not v.isdigit() for n, v in headers):
            raise AnsweredError("such is refused by what speaks HTTP, in front of the application")
        scope: dict[str, Any] = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method.decode("latin-1").upper() or "GET",
            "scheme": "http",
            "path": unquote_to_bytes(path).decode("utf-8", "replace") or "/",
            "raw_path": path,
            "query_string": query,
            "root_path": "",
            "headers": [(name.lower(), value) for name, value in headers],
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 80),
        }
        sent: list[dict[str, Any]] = []
        asked = False

        async def receive() -> dict[str, Any]:
            nonlocal asked
            if asked:
                await asyncio.sleep(3600)  # the client stays
            asked = True
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        await self._app(scope, receive, send)
        status = next(one["status"] for one in sent if one["type"] == "http.response.start")
        return status, b"".join(one.get("body", b"") for one in sent)


def _request(method: str, path: str, body: bytes = b"", kind: str = "") -> bytes:
    head = f"{method} {path}"
    length = f"\r\nContent-Length: {len(body)}\r\nContent-Type: {kind}" if body else ""
    return f"{head}{length}\r\nHost: localhost\r\n\r\n".encode() + body


def _json(method: str, path: str, values: object) -> bytes:
    return _request(method, path, json.dumps(values).encode(), "application/json")


def _form(path: str, values: Sequence[tuple[str, str]]) -> bytes:
    return _request("POST", path, urlencode(values).encode(), "application/x-www-form-urlencoded")


def _upload(path: str, values: Mapping[str, str], name: str) -> bytes:
    parts = [
        f'Content-Disposition: form-data; name="{key}"\r\n\r\n{value}'
        for key, value in values.items()
    ]
    parts.append(
        f'Content-Disposition: form-data; name="file"; filename="{name}"\r\nContent-Type: '
        "text/plain\r\n\r\n# Hello\n\n<p>you"
    )
    body = "".join(f"--b\r\n{part}\r\n" for part in parts) + "--b--\r\n"
    return _request("POST", path, body.encode(), "multipart/form-data; boundary=b")


_Route = tuple[str, str, "dict[str, Any] | None"]
"""Method, path and the JSON that it takes."""
_OWN: Sequence[_Route] = [
    (
        "POST",
        "/v1/translate",
        {
            "text": ["Hello you. <b>x</b>", ""],
            "source": "en",
            "target": "de",
            "format": "html",
            "tags": ["<formal>"],
            "glossary": {"you": ["du", "Sie"]},
            "context": "c",
            "memory": False,
        },
    ),
    (
        "POST",
        "/v1/translate",
        {
            "text": "Hello.",
            "target": "de",
            "nbest": 2,
            "links": True,
            "prefix": "",
            "split": "none",
        },
    ),
    ("POST", "/v1/stream", {"text": "One. Two.", "target": "de"}),
    ("POST", "/v1/detect", {"text": ["der die", "a"]}),
    ("GET", "/v1/languages", None),
    (
        "POST",
        "/v1/glossaries",
        {"name": "n", "source": "en", "target": "de", "entries": {"a": "b"}},
    ),
    ("GET", "/v1/glossaries/1", None),
    ("GET", "/v1/documents/a?secret=b", None),
    ("GET", "/v1/usage", None),
    (
        "POST",
        "/v1/corrections",
        {"source": "en", "target": "de", "text": "a", "translation": "b"},
    ),
]
_ENTRIES = {
    "source_lang": "en",
    "target_lang": "de",
    "entries": "a\tb\n",
    "entries_format": "tsv",
}
_DEEPL: Sequence[_Route] = [
    (
        "POST",
        "/v2/translate",
        {
            "text": ["Hello <x>you</x>"],
            "target_lang": "DE",
            "source_lang": "EN",
            "tag_handling": "xml",
            "ignore_tags": ["x"],
            "split_sentences": "nonewlines",
            "formality": "prefer_more",
            "show_billed_characters": True,
        },
    ),
    ("POST", "/v3/glossaries", {"name": "g", "dictionaries": [_ENTRIES]}),
    ("GET", "/v2/languages?type=target", None),
    ("GET", "/v2/usage", None),
    ("GET", "/v2/glossaries", None),
    ("GET", "/v3/glossaries/x/entries?source_lang=en&target_lang=de", None),
]
_LIBRE: Sequence[_Route] = [
    (
        "POST",
        "/translate",
        {
            "q": ["Hello", "you"],
            "source": "auto",
            "target": "de",
            "format": "html",
            "alternatives": 2,
            "api_key": "",
        },
    ),
    ("POST", "/detect", {"q": "der die das"}),
    ("POST", "/suggest", {"q": "a", "s": "b", "source": "en", "target": "de"}),
    ("GET", "/languages", None),
    ("GET", "/frontend/settings", None),
    ("GET", "/download_file/a.b.txt", None),
]
_INTO_GERMAN = {"source_lang": "en", "target_lang": "de"}
_MORE: Mapping[str, Sequence[bytes]] = {
    "own": [
        _upload("/v1/documents", {"source": "en", "target": "de", "tags": "<formal>"}, "a.txt")
    ],
    "deepl": [
        _form("/v2/translate", [("text", "<p>b"), ("target_lang", "DE"), ("tag_handling", "html")]),
        _upload("/v2/document", _INTO_GERMAN, "a.html"),
        _form("/v2/glossaries", [("name", "n"), *{**_ENTRIES, "entries": "a\tb"}.items()]),
    ],
    "libretranslate": [
        _form("/translate", [("q", "Hello"), ("source", "en"), ("target", "de")]),
        _upload("/translate_file", {"source": "en", "target": "de"}, "a.md"),
    ],
}
_PATHS = {"own": _OWN, "deepl": _DEEPL, "libretranslate": _LIBRE}
_HEADERS = tokens(
    [
        *("\r\nAuthorization: Bearer x", "\r\nAuthorization: DeepL-Auth-Key x"),
        *("\r\nContent-Type: text/plain", "\r\nContent-Type: application/json; charset=utf-16"),
        *("\r\nContent-Type: multipart/form-data", "\r\nContent-Length: -1"),
        *("\r\nTransfer-Encoding: chunked", "\r\nContent-Encoding: gzip", "\r\nX-Request-ID: \xff"),
        *("%00", "%ff", "%2e%2e/", "?", "&", "=", "{", "}", "[", "]", '"', ":", "\\ud800", "--b"),
    ]
)

_MANY = 200_000
# A door reads JSON, refuses and translates nothing: an event loop waits for it.
_BOUNDS = Bounds(seconds=2.0, seconds_per_mebibyte=2.0, mebibytes_per_mebibyte=100.0)


def _many_wrong(values: Mapping[str, object]) -> Iterator[object]:
    """Good JSON with very many wrong items in one of its values, or very many unknown keys."""
    for key, value in values.items():
        if isinstance(value, dict):
            yield {**values, key: dict.fromkeys(map(str, range(_MANY)), 1)}
            yield {**values, key: {"a": [1] * _MANY}}
        else:
            yield {**values, key: [1] * _MANY}
            yield {**values, key: ["\ud800"] * _MANY}
    yield {**values, **dict.fromkeys(map(str, range(_MANY)), 1)}


def _door(name: str) -> Callable[[Path], Target]:
    paths = _PATHS[name]

    def other_values(random: Random) -> Hostile:
        """A good request with other values in its JSON."""
        method, path, values = random.choice([one for one in paths if one[2] is not None])
        changed: object = values
        for _ in range(random.randint(1, 3)):
            changed = with_other_value(changed, random)
        body = json.dumps(changed).encode("utf-8", "surrogatepass")
        return Hostile("request", _request(method, path, body, "application/json"))

    def made(folder: Path) -> Target:
        seeds = [
            _request(method, path) if values is None else _json(method, path, values)
            for method, path, values in paths
        ]
        posted = [(method, path, values) for method, path, values in paths if values is not None]
        bombs = [
            _request(method, path, bomb, "application/json")
            for method, path, _ in posted
            for bomb in json_bombs()
        ]
        method, path, values = posted[0]
        key = next(iter(values))
        bombs += [_json(method, path, {**values, key: [text]}) for text in repeated(30_000)]
        for method, path, values in posted:
            bombs += [_json(method, path, wrong) for wrong in _many_wrong(values)]
        bombs.append(_form(path, [("a", "")] * 20_000))
        return Target(
            f"{name}-door",
            _Server(folder),
            [Hostile("request", one) for one in (*seeds, *_MORE[name])],
            refusals=(AnsweredError,),
            tokens=_HEADERS,
            bombs=[Hostile("request", one) for one in bombs],
            made=other_values,
            bounds=_BOUNDS,
            refused_seeds=True,
        )

    return made


TARGETS: Mapping[str, Callable[[Path], Target]] = {f"{name}-door": _door(name) for name in _PATHS}
"""Of this module."""
