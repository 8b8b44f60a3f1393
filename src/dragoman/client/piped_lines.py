"""Lines from a pipe to a server and back, in order: as many at once as are there."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import BinaryIO, NamedTuple

from dragoman.client.asynchronous import AsyncClient
from dragoman.client.text_calls import AT_ONCE, TranslateOptions, in_parts
from dragoman.core.errors import DataError, ServiceError

_AHEAD = 1024  # lines read before they are sent
_OF_ONE_TEXT = ("invalid", "too_large")  # kinds of errors that another line may not have


class LineRequest(NamedTuple):
    """What lines are translated into, and how."""

    target: str
    source: str | None = None
    options: TranslateOptions = TranslateOptions()


class LineSource:
    """Lines of a binary stream, read in a thread, so that slow ones hold nothing up.

    Args:
        stream: where to read.
        name: its name in errors.
        skip: lines to leave out at the beginning.
    """

    def __init__(self, stream: BinaryIO, name: str, skip: int = 0) -> None:
        self._stream, self._name, self._skip = stream, name, skip
        self._found: deque[str | Exception | None] = deque()
        self._room = threading.Semaphore(_AHEAD)
        self._any = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._read, name="dragoman-lines", daemon=True).start()

    async def parts(self) -> AsyncIterator[list[str]]:
        """The lines that are there, in parts that servers accept.

        Raises:
            DataError: a line is not UTF-8.
        """
        ended = False
        while not ended:
            await self._any.wait()
            self._any.clear()
            lines: list[str] = []
            failure = None
            while self._found and not ended:
                line = self._found.popleft()
                self._room.release()
                if isinstance(line, str):
                    lines.append(line)
                else:
                    ended, failure = True, line
            for part in in_parts(lines):
                yield part
            if failure is not None:
                raise failure

    def _read(self) -> None:
        try:
            for number, line in enumerate(self._stream, 1):
                if number > self._skip:
                    self._add(self._decoded(line, number))
            self._add(None)
        except (OSError, DataError) as error:
            self._add(error)

    def _add(self, line: str | Exception | None) -> None:
        self._room.acquire()
        self._found.append(line)
        self._loop.call_soon_threadsafe(self._any.set)

    def _decoded(self, line: bytes, number: int) -> str:
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise DataError(
                f"{self._name}:{number}: not UTF-8 at byte {error.start + 1}; convert the text, "
                "such as with: iconv -f latin1 -t utf-8"
            ) from error
        return text.removesuffix("\n").removesuffix("\r")


async def translated_parts(
    client: AsyncClient, source: LineSource, request: LineRequest, first: int = 1
) -> AsyncIterator[list[str]]:
    """The translations of all lines in order, in the parts in which they were sent.

    Several parts are at the server at once.  Each translation is a single line.

    Args:
        first: number of the first line, for errors.

    Raises:
        DataError: a line is not UTF-8.
        ServiceError: the server refuses a line, or cannot be reached.
    """
    waiting: asyncio.Queue[asyncio.Future[list[str]] | None] = asyncio.Queue(AT_ONCE)
    begun: set[asyncio.Future[list[str]]] = set()

    async def send() -> None:
        number = first
        try:
            async for part in source.parts():
                task = asyncio.ensure_future(_translated(client, part, request, number))
                begun.add(task)
                await waiting.put(task)
                number += len(part)
        except (DataError, OSError) as error:  # after the lines before it
            ended = asyncio.get_running_loop().create_future()
            ended.set_exception(error)
            await waiting.put(ended)
        await waiting.put(None)

    sender = asyncio.create_task(send())
    try:
        while (part := await waiting.get()) is not None:
            yield await part
            begun.discard(part)
    finally:
        sender.cancel()
        for each in begun:
            each.cancel()


async def _translated(
    client: AsyncClient, lines: Sequence[str], request: LineRequest, first: int
) -> list[str]:
    """Translations of a part; if the server refuses it, line by line, to find which it refuses."""
    target, source, options = request
    try:
        found = await client.translate(list(lines), target=target, source=source, **options)
    except ServiceError as error:
        if len(lines) > 1 and error.kind in _OF_ONE_TEXT:
            each = [
                await _translated(client, [line], request, number)
                for number, line in enumerate(lines, first)
            ]
            return [line for one in each for line in one]
        where = f"line {first}" if len(lines) == 1 else f"lines {first} to {first + len(lines) - 1}"
        raise ServiceError(
            f"{where}: {error}", error.kind, status=error.status, retry_after=error.retry_after
        ) from error
    return [" ".join(_lines_of(text)) for text in found]


def _lines_of(text: str) -> Iterator[str]:
    """A text at its line ends, of which the translation of a line has none."""
    return (part.strip("\r") for part in text.split("\n"))
