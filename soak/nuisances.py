"""Clients that a server has to live with: they stall, leave, send garbage, or do not read."""

from __future__ import annotations

import asyncio
import random
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress

_PATIENCE = 25.0  # seconds that one stalls; longer than a server waits for a head
_MOST_GARBAGE = 4_000  # bytes
_UNREAD = 50  # answers that nobody reads, more than a socket holds
_BODY = b'{"q": "nobody waits for this", "source": "en", "target": "de"}'
_HEAD = b"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"

Client = Callable[[asyncio.StreamReader, asyncio.StreamWriter, random.Random], Awaitable[None]]


async def _stalls_in_head(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, chance: random.Random
) -> None:
    writer.write(_HEAD[: chance.randrange(len(_HEAD))])
    await reader.read()  # until the server has had enough


async def _stalls_in_body(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, chance: random.Random
) -> None:
    writer.write(_HEAD + b"Content-Length: 5000\r\n\r\n" + _BODY[:20])
    await reader.read()


async def _leaves(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, chance: random.Random
) -> None:
    writer.write(_HEAD + b"Content-Length: %d\r\n\r\n" % len(_BODY) + _BODY)
    await writer.drain()
    await asyncio.sleep(0.1 * chance.random())


async def _sends_garbage(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, chance: random.Random
) -> None:
    writer.write(chance.randbytes(chance.randrange(1, _MOST_GARBAGE)))
    await reader.read()


async def _sends_broken_requests(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, chance: random.Random
) -> None:
    whole = bytearray(_HEAD + b"Content-Length: %d\r\n\r\n" % len(_BODY) + _BODY)
    for _ in range(chance.randrange(1, 6)):
        whole[chance.randrange(len(whole))] = chance.randrange(256)
    writer.write(bytes(whole))
    await reader.read()


async def _does_not_read(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, chance: random.Random
) -> None:
    for _ in range(_UNREAD):
        writer.write(b"GET /v1/openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n")
    await asyncio.sleep(_PATIENCE)


KINDS: dict[str, Client] = {
    "stall in the head": _stalls_in_head,
    "stall in the body": _stalls_in_body,
    "leave before the answer": _leaves,
    "send garbage": _sends_garbage,
    "send broken requests": _sends_broken_requests,
    "do not read answers": _does_not_read,
}


@contextmanager
def nuisances(port: int, clients: int, seed: int) -> Iterator[Counter[str]]:
    """Have such clients connect to a port of this machine, one after another, until the end.

    Args:
        port: of a server.
        clients: how many at a time.
        seed: decides who does what.

    Yields:
        How many there were of each kind.
    """
    counted: Counter[str] = Counter()
    loop = asyncio.new_event_loop()
    over = asyncio.Event()

    async def client(number: int) -> None:
        chance = random.Random(f"{seed} {number}")
        while not over.is_set():
            name = chance.choice(list(KINDS))
            with suppress(OSError, asyncio.TimeoutError):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                try:
                    await asyncio.wait_for(KINDS[name](reader, writer, chance), _PATIENCE)
                finally:
                    counted[name] += 1
                    writer.transport.abort()
            await asyncio.sleep(0.02)

    async def everybody() -> None:
        tasks = [asyncio.create_task(client(number)) for number in range(clients)]
        await over.wait()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    thread = threading.Thread(target=loop.run_until_complete, args=(everybody(),))
    thread.start()
    try:
        yield counted
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join()
        loop.close()
