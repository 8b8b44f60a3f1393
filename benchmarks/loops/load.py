"""Clients of a translation server, in a process of their own: sends lines, checks every answer.

    load.py ADDRESS LINES.json [--clients N | --rate R] [--requests M]

``LINES.json`` has ``lines``, and with ``answers`` what each must come back as, or a list of what it
may come back as.  With ``--clients``,
each client sends its next request when it has the answer to the last one; with ``--rate``, requests
are sent at that rate whatever comes back.  The connections are plain sockets that speak as much
HTTP as LibreTranslate's API needs, since a full client would take the processor from the server.
Prints JSON: seconds, latencies, statuses, wrong answers, and the processor time of this process.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

GIVE_UP = 120
"""Seconds after which an answer counts as lost."""


@dataclass
class Outcome:
    """What came back."""

    latencies: list[float] = field(default_factory=list)
    """Seconds of each request that was translated."""
    statuses: Counter[int] = field(default_factory=Counter)
    """How many requests got each status; 0: none at all."""
    wrong: int = 0
    """Translations that are not those of their line."""
    without_retry_after: int = 0
    """Refusals that do not say when to come again."""


class Connection:
    """One connection, kept alive."""

    def __init__(self, host: str, port: int, languages: tuple[str, str]) -> None:
        self._host, self._port, self._languages = host, port, languages
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def translate(self, line: str) -> tuple[int, dict[str, str], Any]:
        """The status, the headers and the body of the answer to a line."""
        if self._streams is not None and self._streams[0].at_eof():
            self.close()  # the server has closed it meanwhile, which any client looks at
        if self._streams is None:
            self._streams = await asyncio.open_connection(self._host, self._port)
        reader, writer = self._streams
        source, target = self._languages
        body = json.dumps({"q": line, "source": source, "target": target}).encode()
        writer.write(
            b"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Content-Length: %d\r\n\r\n" % len(body) + body
        )
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {
            name.lower(): value.strip()
            for name, _, value in (one.partition(":") for one in head[1:] if one)
        }
        answer = await reader.readexactly(int(headers["content-length"]))
        if headers.get("connection") == "close":
            self.close()
        status = int(head[0].split()[1])
        return status, headers, json.loads(answer) if status == 200 else None

    def close(self) -> None:
        """Hang up."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


class Load:
    """All requests of a measurement."""

    def __init__(self, address: str, given: dict[str, Any], requests: int) -> None:
        split = urlsplit(address)
        self._where = str(split.hostname), int(split.port or 80)
        self._lines, self._answers = given["lines"], given.get("answers")
        self._languages = (given["source"], given["target"])
        self._requests, self.outcome = requests, Outcome()

    def connection(self) -> Connection:
        """A new one."""
        return Connection(*self._where, self._languages)

    async def ask(self, number: int, connection: Connection) -> None:
        """Send one request and record what comes back."""
        place, outcome = number % len(self._lines), self.outcome
        began = time.perf_counter()
        try:
            asked = connection.translate(self._lines[place])
            status, headers, body = await asyncio.wait_for(asked, GIVE_UP)
        except (TimeoutError, OSError, EOFError):
            connection.close()
            outcome.statuses[0] += 1
            return
        outcome.statuses[status] += 1
        if status != 200:
            outcome.without_retry_after += "retry-after" not in headers
            return
        outcome.latencies.append(time.perf_counter() - began)
        if self._answers is not None:
            right = self._answers[place]
            found = body["translatedText"]
            outcome.wrong += found not in (right if isinstance(right, list) else [right])

    async def by_clients(self, clients: int) -> None:
        """Requests of clients that wait for their answers."""
        numbers = iter(range(self._requests))

        async def client() -> None:
            connection = self.connection()
            for number in numbers:
                await self.ask(number, connection)
            connection.close()

        await asyncio.gather(*(client() for _ in range(clients)))

    async def at_rate(self, rate: float) -> None:
        """Requests that come whether or not the earlier ones are answered."""
        idle: list[Connection] = []
        clock, began = asyncio.get_running_loop().time, asyncio.get_running_loop().time()

        async def one(number: int) -> None:
            connection = idle.pop() if idle else self.connection()
            await self.ask(number, connection)
            idle.append(connection)

        at_work: set[asyncio.Task[None]] = set()
        for number in count():
            if number == self._requests:
                break
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(max(0.0, began + number / rate - clock()))
            at_work.add(task := asyncio.create_task(one(number)))
            task.add_done_callback(at_work.discard)  # a million would hold up the collector
        await asyncio.gather(*at_work)
        for connection in idle:
            connection.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("address")
    parser.add_argument("lines", type=Path)
    parser.add_argument("--clients", type=int, default=1)
    parser.add_argument("--rate", type=float)
    parser.add_argument("--requests", type=int, default=1000)
    given = parser.parse_args()
    load = Load(given.address, json.loads(given.lines.read_text("utf-8")), given.requests)
    began = time.perf_counter()
    asyncio.run(load.at_rate(given.rate) if given.rate else load.by_clients(given.clients))
    outcome, used = load.outcome, resource.getrusage(resource.RUSAGE_SELF)
    print(
        json.dumps(
            {
                "seconds": time.perf_counter() - began,
                "latencies": sorted(outcome.latencies),
                "statuses": dict(outcome.statuses),
                "wrong": outcome.wrong,
                "without_retry_after": outcome.without_retry_after,
                "cpu_seconds": used.ru_utime + used.ru_stime,
            }
        )
    )


if __name__ == "__main__":
    main()
