"""The web page, whose files come with the package.

The page uses only :mod:`the server's own API <dragoman.server.v1>`, so its policy forbids
everything else: inline scripts, requests to other servers, and strings that become HTML (`Content
Security Policy Level 3 <https://www.w3.org/TR/CSP3/>`_, `Trusted Types
<https://www.w3.org/TR/trusted-types/>`_).
"""

from __future__ import annotations

import gzip
import hashlib
import html
import re
from collections import defaultdict
from importlib import resources
from string import Template

from fastapi import APIRouter, Request
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse, Response

from dragoman.documents.filetypes import document_formats, file_suffixes
from dragoman.server.dependencies import Api, Dependencies
from dragoman.translation.service.interface import RefusedError

_MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_PAGE = "index.html"


def web_api(dependencies: Dependencies) -> Api:
    """The page at ``/``, and its files at ``/web/DIGEST/``.

    The digest covers all files together.  So browsers may cache files for ever and request only the
    page again, and the files of two releases never mix.
    """
    files = _read_files()
    digest = _digest(files)
    page = _filled(files.pop(_PAGE), digest, dependencies).encode("utf-8")
    packed = {name: _Packed(content, name) for name, content in files.items()}
    packed_page = _Packed(page, _PAGE)
    tag = f'"{hashlib.sha256(page).hexdigest()[:16]}"'
    router = APIRouter(include_in_schema=False)

    @router.api_route("/", methods=["GET", "HEAD"])
    async def show_page(request: Request) -> Response:
        headers = {**_HEADERS, "Cache-Control": "no-cache", "ETag": tag}
        if tag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        return packed_page.answer(request, headers)

    @router.api_route("/web/{version}/{name}", methods=["GET", "HEAD"])
    async def show_file(request: Request, version: str, name: str) -> Response:
        if version != digest or name not in packed:
            raise HTTPException(404, "there is no such file; load the page again")
        headers = {**_HEADERS, "Cache-Control": "public, max-age=31536000, immutable"}
        return packed[name].answer(request, headers)

    return Api("web", ("/web/",), router, _refuse)


class _Packed:
    """A file for browsers, compressed only once."""

    def __init__(self, content: bytes, name: str) -> None:
        self._plain, self._compressed = content, gzip.compress(content, mtime=0)
        self._media_type = _MEDIA_TYPES[_suffix(name)]

    def answer(self, request: Request, headers: dict[str, str]) -> Response:
        headers = {**headers, "Vary": "Accept-Encoding"}
        content = self._plain
        if _takes_gzip(request.headers.get("accept-encoding", "")):
            content = self._compressed
            headers["Content-Encoding"] = "gzip"
        return Response(content, headers=headers, media_type=self._media_type)


def _takes_gzip(accepted: str) -> bool:
    """Whether a client accepts gzip, by its header ``Accept-Encoding`` (RFC 9110, 12.5.3)."""
    for part in accepted.lower().split(","):
        coding, _, quality = part.partition(";")
        if coding.strip() == "gzip":
            return not re.fullmatch(r"\s*q\s*=\s*0(\.0*)?\s*", quality)
    return False


def _read_files() -> dict[str, bytes]:
    """The static files with a known media type, by name."""
    folder = resources.files("dragoman.server.web") / "static"
    return {
        file.name: file.read_bytes()
        for file in sorted(folder.iterdir(), key=lambda file: file.name)
        if _suffix(file.name) in _MEDIA_TYPES
    }


def _digest(files: dict[str, bytes]) -> str:
    found = hashlib.sha256()
    for name, content in files.items():
        found.update(f"{name}\0{len(content)}\0".encode())
        found.update(content)
    return found.hexdigest()[:16]


def _filled(page: bytes, digest: str, dependencies: Dependencies) -> str:
    """The page, with the path of its files and the limits that it shows.

    Addresses are relative, for servers behind a proxy that adds a prefix to their paths.
    """
    limits = dependencies.config.limits
    values = {
        "assets": f"web/{digest}",
        "characters": limits.characters,
        "alternatives": limits.alternatives,
        "bytes": limits.body_bytes,
        "suffixes": ",".join(file_suffixes()),
        "formats": _named_formats(),
        "hours": f"{limits.document_hours:g}",
        "seconds": f"{limits.seconds:g}",
        "key": "required" if dependencies.config.require_key else "optional",
    }
    escaped = {name: html.escape(str(value)) for name, value in values.items()}
    return Template(page.decode("utf-8")).substitute(escaped)


def _named_formats() -> str:
    """The formats of files by kind, such as "Word, HTML; subtitles: SubRip"."""
    families: dict[str, list[str]] = defaultdict(list)
    for one in document_formats():
        if one.is_installed:
            families[one.family].append(one.name)
    parts = [", ".join(families.pop("documents", []))]
    parts += [f"{family}: {', '.join(names)}" for family, names in families.items()]
    text = "; ".join(filter(None, parts))
    return text[:1].upper() + text[1:]


def _suffix(name: str) -> str:
    return name[name.rfind(".") :]


def _refuse(error: RefusedError, status: int) -> Response:
    return PlainTextResponse(f"{error}\n", status, headers={"X-Content-Type-Options": "nosniff"})
