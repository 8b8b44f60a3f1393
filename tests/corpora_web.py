"""A web of a few files on the loopback address, and what public corpora are made of there."""

from __future__ import annotations

import hashlib
import io
import re
import tarfile
from contextlib import suppress
from email.message import Message
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.request import HTTPSHandler, Request
from urllib.response import addinfourl

import pytest

ENGLISH = b"one\ntwo\nthree\n" * 5000
GERMAN = b"eins\nzwei\ndrei\n" * 5000


class Web:
    """What the server gives, and what it was asked for."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.files: dict[str, bytes] = {}
        self.cuts: dict[str, list[int]] = {}
        """After how many bytes the next connections for a path break."""
        self.asked: list[tuple[str, str | None]] = []
        """Path and range of each request."""
        self.knows_ranges = True
        self.headers: dict[str, str] = {}
        """Which of a file's versions this is, as ETag or Last-Modified."""


class Handler(BaseHTTPRequestHandler):
    web: Web

    def do_GET(self) -> None:
        path, wanted = self.path.lstrip("/"), self.headers["Range"]
        self.web.asked.append((path, wanted))
        if path not in self.web.files:
            self.send_error(404)
            return
        content, start = self.web.files[path], 0
        known = self.headers["If-Range"]
        unchanged = known is None or known in self.web.headers.values()
        if wanted and self.web.knows_ranges and unchanged:
            start = int(re.fullmatch(r"bytes=(\d+)-", wanted)[1])  # type: ignore[index]
            if start >= len(content):
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{len(content)}")
                self.end_headers()
                return
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        else:
            self.send_response(200)
        for name, value in self.web.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        cuts = self.web.cuts.get(path)
        with suppress(ConnectionError):  # what is too much is not read
            self.wfile.write(content[start : start + cuts.pop(0)] if cuts else content[start:])

    def log_message(self, *_: Any) -> None:
        pass


def send_on(monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    """Let each address of https lead to ``place``."""

    def answer(_: HTTPSHandler, request: Request) -> addinfourl:
        headers = Message()
        headers["Location"] = place
        response = addinfourl(io.BytesIO(), headers, request.full_url, 302)
        response.msg = "Found"  # type: ignore[attr-defined]  # as http.client's have it
        return response

    monkeypatch.setattr(HTTPSHandler, "https_open", answer)


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def text_facts(text: bytes) -> dict[str, Any]:
    return {"bytes": len(text), "sha256": sha256(text)}


def tar_of(files: dict[str, bytes], mode: str = "w:gz") -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode=mode) as tar:  # type: ignore[call-overload]
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return packed.getvalue()


def segments(*lines: str) -> bytes:
    """A test set in SGML."""
    marked = (f'<seg id="{number}"> {line} </seg>\n' for number, line in enumerate(lines, 1))
    return f"<refset>\n<doc>\n{''.join(marked)}</doc>\n</refset>\n".encode()
