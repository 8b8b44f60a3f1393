"""HTTP requests, repeated while there is time; all failures are :class:`ServiceError`."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from dragoman.core.errors import (
    ConfigError,
    DataError,
    MissingExtraError,
    ServiceError,
    UsageError,
)
from dragoman.core.version import __version__
from dragoman.core.wording import shown

if TYPE_CHECKING:
    import httpx
from collections.abc import Callable
from typing import TypeVar

_FIRST_PAUSE, _LONGEST_PAUSE = 0.25, 8.0  # seconds; doubled from try to try
_LATER = (429, 502, 503, 504)  # a later try may succeed
_PERHAPS_DONE = (502, 504)  # a proxy does not know what became of a request that it had passed on
_LATE = "timed_out"  # also with 503: the server may still be at work on the request
_FOR_THE_MONTH = "quota_exceeded"  # also with 429


class Sending(NamedTuple):
    """A request."""

    method: str
    path: str
    content: Mapping[str, Any] = {}
    """Arguments of httpx: ``json``, ``data``, ``files``, ``headers``."""
    repeatable: bool = True
    """Whether repeating the request does no harm."""


class Connection:
    """Sends requests to one server.

    Raises:
        ConfigError: the address is neither http nor https, the time is not positive, or the proxy
            of the environment cannot be used.
        MissingExtraError: httpx is not installed.
        UsageError: a key or time of the wrong type.
    """

    def __init__(self, url: str, key: str | None, timeout: float) -> None:
        try:
            import httpx
        except ImportError as error:
            raise MissingExtraError.of("httpx", "httpx") from error
        if isinstance(timeout, bool) or not isinstance(timeout, (int, float)):
            raise UsageError(f"timeout: expected a number of seconds, found {shown(timeout)}")
        if not isinstance(key, (str, type(None))):
            raise UsageError(f"key: expected a string, found {shown(key)}")
        if not timeout > 0:
            raise ConfigError(f"timeout: expected a number of seconds above 0, found {timeout!r}")
        try:
            address = httpx.URL(url)
        except httpx.InvalidURL as error:
            raise ConfigError(f"{url!r:.200}: no address ({error})") from error
        if address.scheme not in ("http", "https") or not address.host:
            raise ConfigError(f"{url!r:.200}: expected an address such as http://localhost:5000")
        headers = {"User-Agent": f"dragoman/{__version__}"}
        if key and (key := key.strip()):  # a key read from a file ends with a line end
            if not (key.isascii() and key.isprintable()):
                raise ConfigError("key: it has characters that no key has; copy it again")
            headers["Authorization"] = f"Bearer {key}"
        # Reading the certificates takes 30 ms, and http needs none, as redirections to https are
        # not followed.
        verify = address.scheme == "https"
        try:
            self._http = httpx.AsyncClient(headers=headers, timeout=timeout, verify=verify)
        except (ImportError, ValueError) as error:  # SOCKS without its package; an unknown kind
            raise ConfigError(
                f"the proxy that the environment names, such as in ALL_PROXY, cannot be used: "
                f"{error}; correct or unset it"
            ) from error
        self.url, self._timeout = url.rstrip("/"), timeout
        self._loop: asyncio.AbstractEventLoop | None = None
        self._slow, self._broken = httpx.TimeoutException, httpx.TransportError
        self._cut = httpx.RemoteProtocolError, httpx.ReadError
        self._garbled = httpx.DecodingError
        self._unsent = httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout

    async def close(self) -> None:
        """Close all connections."""
        await self._http.aclose()

    async def send(self, sending: Sending) -> httpx.Response:
        """The answer to a request, which is repeated after temporary errors while there is time.

        Raises:
            ServiceError: the server refuses, or gives no answer in time.
        """
        async with self._answered(sending) as response:
            return response

    @asynccontextmanager
    async def lines(self, sending: Sending) -> AsyncIterator[AsyncIterator[str]]:
        """The lines of an answer, as they come.

        Raises:
            ServiceError: as for :meth:`send`.  While lines are read, also ``cut_off``, if the
                connection ends early.
        """
        async with self._answered(sending, streamed=True) as response:
            yield self._read_lines(response)

    async def _read_lines(self, response: httpx.Response) -> AsyncIterator[str]:
        try:
            async for line in _split_lines(response.aiter_bytes()):
                yield line
        except self._cut as error:
            raise cut_off(self.url) from error
        except self._garbled as error:
            raise foreign_answer(self.url, error) from error
        except self._broken as error:
            raise self._failure(error) from error

    @asynccontextmanager
    async def _answered(
        self, sending: Sending, *, streamed: bool = False
    ) -> AsyncIterator[httpx.Response]:
        self._check_usable()
        end = time.monotonic() + self._timeout
        pause, before = _FIRST_PAUSE, None
        while True:
            response, failure, may_repeat = await self._attempt(sending, end, streamed=streamed)
            if failure is None:
                assert response is not None
                break
            wait = max(failure.retry_after or 0, pause * random.uniform(0.75, 1.25))
            if failure.kind == _LATE and before is not None:
                raise before  # the earlier error explains the delay
            if not may_repeat or time.monotonic() + wait >= end:
                raise failure
            before = failure
            await asyncio.sleep(wait)
            pause = min(2 * pause, _LONGEST_PAUSE)
        try:
            yield response
        finally:
            await response.aclose()

    def _check_usable(self) -> None:
        """Check that requests can be sent now.

        Raises:
            UsageError: this is closed, or its connections belong to another event loop.
        """
        if self._http.is_closed:
            raise UsageError("this client is closed; make another one to go on")
        loop = asyncio.get_running_loop()
        self._loop = self._loop or loop
        if self._loop is not loop:
            raise UsageError(
                "this client was used in another event loop; make all calls in one asyncio.run, or "
                "a client for each"
            )

    async def _attempt(
        self, sending: Sending, end: float, *, streamed: bool
    ) -> tuple[httpx.Response | None, ServiceError | None, bool]:
        """The answer or the error of one attempt, and whether to try again."""
        request = self._built(sending)
        left = max(0.001, end - time.monotonic())
        try:
            # Not wait_for: in Python 3.11, it ignores a cancellation as the answer arrives.
            async with asyncio.timeout(left):
                response = await self._http.send(request, stream=streamed)
                if response.is_success:
                    return response, None, False
                await response.aread()
        except TimeoutError as error:
            return None, self._failure(error), False
        except self._garbled as error:
            return None, foreign_answer(self.url, error), False
        except self._broken as error:
            return None, self._failure(error), sending.repeatable or isinstance(error, self._unsent)
        refusal = _refusal(response, self.url)
        passing = response.status_code in _LATER and refusal.kind != _FOR_THE_MONTH
        not_done = response.status_code not in _PERHAPS_DONE and refusal.kind != _LATE
        return None, refusal, passing and (sending.repeatable or not_done)

    def _built(self, sending: Sending) -> httpx.Request:
        """The request for httpx.

        Raises:
            DataError: a text has half of a surrogate pair.
            UsageError: an option cannot be written as JSON.
        """
        try:
            return self._http.build_request(
                sending.method, f"{self.url}{sending.path}", **sending.content
            )
        except UnicodeEncodeError as error:
            raise DataError(
                f"a text has half of a surrogate pair, {error.object[error.start]!a}, which cannot "
                "be sent; send the whole character"
            ) from error
        except (TypeError, ValueError) as error:
            raise UsageError(f"an option cannot be sent as JSON: {error}") from error

    def _failure(self, error: Exception) -> ServiceError:
        if isinstance(error, (asyncio.TimeoutError, self._slow)):
            return ServiceError(
                f"{self.url}: no answer within {self._timeout:g} seconds; give it more time with "
                "timeout, or less to translate",
                "timed_out",
            )
        reason = str(error) or type(error).__name__
        return ServiceError(
            f"{self.url}: no connection ({reason}); check the address, and that the server runs",
            "unreachable",
        )


async def _split_lines(parts: AsyncIterator[bytes]) -> AsyncIterator[str]:
    """Lines that end with LF or CR LF.

    httpx would also split at characters such as U+2028, which JSON does not escape in a text.
    """
    rest = b""
    async for part in parts:
        *lines, rest = (rest + part).split(b"\n")
        for line in lines:
            yield line.decode("utf-8", "replace").removesuffix("\r")
    if rest:
        yield rest.decode("utf-8", "replace")


def _refusal(response: httpx.Response, url: str) -> ServiceError:
    status = response.status_code
    try:
        problem = response.json()["error"]
        kind, message = str(problem["kind"]), str(problem["message"])
    except (ValueError, LookupError, TypeError):  # from a proxy or the like, not the server
        kind = "busy" if status in _LATER else "foreign"
        message = f"{url}: the server answers {status} {response.reason_phrase}"
    header = response.headers.get("Retry-After", "")
    retry_after = float(header) if header.isascii() and header.isdecimal() else None
    return ServiceError(message, kind, status=status, retry_after=retry_after)


def cut_off(url: str) -> ServiceError:
    """The error for a stream that ended early."""
    return ServiceError(
        f"{url}: the connection ended before the text was translated; try again", "cut_off"
    )


def foreign_answer(url: str, error: Exception) -> ServiceError:
    """The error for an answer that is not Dragoman's."""
    return ServiceError(
        f"{url}: this is no server of Dragoman, or one of another version ({type(error).__name__}: "
        f"{error}); check the address",
        "foreign",
    )


_Value = TypeVar("_Value")
_Given = TypeVar("_Given")


class Calls:
    """Calls over one connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def _asked(self, sending: Sending, of: Callable[[Any], _Value]) -> _Value:
        """The JSON answer to a request, converted by ``of``.

        Raises:
            ServiceError: the server refuses, cannot be reached, or is not a Dragoman server.
        """
        response = await self._connection.send(sending)
        return self._read(lambda each: of(each.json()), response)

    def _read(self, of: Callable[[_Given], _Value], given: _Given) -> _Value:
        """A part of an answer, converted by ``of``."""
        try:
            return of(given)
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise foreign_answer(self._connection.url, error) from error
