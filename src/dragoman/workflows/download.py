"""Downloads that resume, are limited in size and verified, and appear whole or not at all."""

from __future__ import annotations

import http.client
import os
import re
import socket
import time
import urllib.error
import urllib.parse
import urllib.request
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple

from dragoman.core.errors import DownloadError, SavedError
from dragoman.core.files import content_digest, durable_replace, make_directory, storage_errors
from dragoman.core.locks import lock
from dragoman.core.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Advance = Callable[[int], object]

_CHUNK_BYTES = 2**16
_TIMEOUT = 30.0  # seconds without a byte
# How many connections in a row may break without new data, and the pause between them.
_ATTEMPTS = 4
_PAUSE = 2.0  # seconds

_VERSION = ".version"  # beside an unfinished download: the server's mark of its version

_KEPT = "downloaded data is kept; repeat the command to resume"


class _Origin(NamedTuple):
    """The origin of a file."""

    url: str
    otherwise: str
    """Advice for a file obtained elsewhere."""
    stays_secure: bool
    """Whether redirects from https to http are refused."""


class _CutError(Exception):
    """A connection ended before the end of the file."""


class _OtherFileError(Exception):
    """The unfinished download is longer than the file, so it belongs to another file."""


def download(
    url: str,
    target: Path,
    advance: Advance,
    *,
    limit: int,
    size: int | None = None,
    sha256: str = "",
    otherwise: str = "use --from",
    stays_secure: bool = False,
) -> None:
    """Download ``url`` to the file ``target``; an unfinished earlier download is resumed.

    Args:
        target: appears once it is complete and verified.
        advance: called with the number of bytes as they arrive; negative if they must be repeated.
        limit: maximum bytes to accept.
        otherwise: advice for a file obtained elsewhere, for messages.
        stays_secure: refuse redirects from https to http, where anyone on the way can change the
            content; for a file without a known digest.
    """
    part = target.with_name(f"{target.name}.part")
    make_directory(part.parent)
    origin = _Origin(url, otherwise, stays_secure)
    with storage_errors(part), part.open("ab") as stream:
        try:
            lock(stream.fileno())
        except BlockingIOError as error:
            raise SavedError(f"{part}: another process is downloading it; wait for it") from error
        advance(stream.tell())
        if size is None or stream.tell() < size:
            _complete(origin, stream, advance, size or limit)
        stream.flush()
        os.fsync(stream.fileno())
        _verify(origin, part, size, sha256)
        durable_replace(part, target)
        _version_of(part).unlink(missing_ok=True)


def size_of(url: str) -> int | None:
    """The size of a file in bytes, before it is downloaded; None if the server does not tell.

    Raises:
        DownloadError: there is no such file, or no connection.
    """
    origin = _Origin(url, "use --from", stays_secure=False)
    try:
        with _opened(origin, 0, Path()) as response:
            length = "" if response is None else response.headers.get("Content-Length", "")
    except _CutError:
        return None
    return int(length) if length.isdecimal() else None


def _verify(origin: _Origin, part: Path, size: int | None, sha256: str) -> None:
    """Check a complete download; a wrong file is removed, as it cannot be resumed."""
    present = part.stat().st_size
    problem = ""
    if size is not None and present != size:
        problem = f"it has {present:,} bytes, not {size:,}"
    elif sha256 and (digest := content_digest(part)) != sha256:
        problem = f"its SHA-256 is {digest}, not {sha256}"
    if problem:
        part.unlink()
        _version_of(part).unlink(missing_ok=True)
        raise DownloadError(
            f"{origin.url}: {problem}; it changed there or in transit and was removed: try again, "
            f"or get it elsewhere and {origin.otherwise}"
        )


def _complete(origin: _Origin, stream: IO[bytes], advance: Advance, limit: int) -> None:
    """Append the missing bytes, over as many connections as necessary."""
    failures = 0
    while True:
        before = stream.tell()
        try:
            _append(origin, stream, advance, limit)
            return
        except _OtherFileError:
            _empty(stream, advance)
        except _CutError as error:
            failures = 0 if stream.tell() > before else failures + 1
            if failures == _ATTEMPTS:
                raise DownloadError(
                    f"{origin.url}: the connection broke ({error}); {_KEPT}"
                ) from error
            time.sleep(_PAUSE)


def _empty(stream: IO[bytes], advance: Advance) -> None:
    """Start again from an empty file."""
    advance(-stream.tell())
    stream.truncate(0)
    stream.seek(0)


def _append(origin: _Origin, stream: IO[bytes], advance: Advance, limit: int) -> None:
    """Append the bytes that one connection delivers."""
    part = Path(stream.name)
    with _opened(origin, stream.tell(), _version_of(part)) as response:
        if response is None:  # the server reports the end
            return
        if response.status != http.HTTPStatus.PARTIAL_CONTENT:
            if stream.tell():  # the server cannot resume, or has another file, and sends all of it
                _empty(stream, advance)
            _note_version(part, response.headers)
        length = response.headers.get("Content-Length", "")
        expected = stream.tell() + int(length) if length.isdecimal() else None
        if (expected or 0) > limit:
            raise DownloadError(
                f"{origin.url}: has {expected:,} bytes; at most {limit:,} were expected"
            )
        while chunk := _read(response):
            if stream.tell() + len(chunk) > limit:
                raise DownloadError(f"{origin.url}: has more than the expected {limit:,} bytes")
            stream.write(chunk)
            advance(len(chunk))
    if expected is not None and stream.tell() < expected:
        raise _CutError(f"after {stream.tell():,} of {expected:,} bytes")


def _version_of(part: Path) -> Path:
    """The note of the version of the file that an unfinished download is part of."""
    return part.with_name(part.name + _VERSION)


def _note_version(part: Path, headers: http.client.HTTPMessage) -> None:
    """Note the validators by which a server detects a changed file (RFC 9110, section 13.1.5)."""
    tag = headers.get("ETag", "")
    version = tag if tag and not tag.startswith("W/") else headers.get("Last-Modified", "")
    # A broken note fits no file, which is then sent from its start.
    _version_of(part).write_text(version, encoding="latin-1")  # as headers are


def _read(response: http.client.HTTPResponse) -> bytes:
    try:
        return response.read(_CHUNK_BYTES)
    except (OSError, http.client.HTTPException) as error:
        raise _CutError(str(error) or type(error).__name__) from error


@contextmanager
def _opened(origin: _Origin, start: int, note: Path) -> Iterator[http.client.HTTPResponse | None]:
    """The response to a request for a file from byte ``start`` on; None if that is its end.

    If the file has changed since its start was downloaded, according to ``note``, the response is
    the whole file.
    """
    headers = {"User-Agent": f"dragoman/{__version__}", "Accept-Encoding": "identity"}
    if start:
        headers["Range"] = f"bytes={start}-"
        if note.is_file() and (version := note.read_text("latin-1")):
            headers["If-Range"] = version
    url = origin.url
    more = [_StaysSecure] if origin.stays_secure else []
    try:
        request = urllib.request.Request(url, headers=headers)
        response = urllib.request.build_opener(*more).open(request, timeout=_TIMEOUT)
    except urllib.error.HTTPError as error:
        error.close()
        if start and error.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            if not _ends_at(error, start):
                raise _OtherFileError from error
            yield None
            return
        raise DownloadError(f"{url}: {_refusal(error, origin)}") from error
    except (ValueError, http.client.InvalidURL) as error:  # here, or where a server sends us
        raise DownloadError(
            f"{url}: no address that can be asked for ({error}); correct it, with %20 for a space "
            "and %C3%BC for ü"
        ) from error
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", error)
        host = urllib.parse.urlsplit(url).hostname
        if isinstance(reason, (ConnectionResetError, http.client.HTTPException, socket.timeout)):
            raise _CutError(str(reason) or type(reason).__name__) from error
        raise DownloadError(
            f"{url}: no connection to {host} ({reason}); check the network, or the proxy in "
            f"https_proxy; {_KEPT}"
        ) from error
    with response:
        yield response


class _StaysSecure(urllib.request.HTTPRedirectHandler):
    """Follows redirections, but none from https to http."""

    def redirect_request(  # noqa: PLR0917 - urllib gives them
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        """The next request; see :meth:`urllib.request.HTTPRedirectHandler.redirect_request`."""
        if req.type == "https" and urllib.parse.urlsplit(newurl).scheme != "https":
            raise DownloadError(
                f"{req.full_url}: leads to {newurl}, where anyone on the way can change what comes "
                "over http; give the digest of the file"
            )
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _ends_at(error: urllib.error.HTTPError, start: int) -> bool:
    """Whether a server that refuses a range reports that the file ends where the range begins."""
    return bool(re.fullmatch(rf"bytes \*/{start}", error.headers.get("Content-Range", "")))


def _refusal(error: urllib.error.HTTPError, origin: _Origin) -> str:
    said = f"the server answers {error.code} {error.reason}"
    if error.code in {http.HTTPStatus.NOT_FOUND, http.HTTPStatus.GONE}:
        return f"{said}; the file is no longer there: get it elsewhere and {origin.otherwise}"
    return f"{said}; try again later; {_KEPT}"


def is_file_of(path: Path, size: int, sha256: str) -> bool:
    """Whether a file exists and has this size, in bytes, and digest."""
    return path.is_file() and path.stat().st_size == size and content_digest(path) == sha256
