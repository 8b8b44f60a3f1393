"""One server that is asked for twice what it can do, while other clients misbehave."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import mean

from soak.nuisances import nuisances
from soak.part import Allowance, Tried
from soak.served import Load, Outcome, ServerProcess, Taught, serving, teach

_SECONDS = 20.0  # that a request may take
_SETTINGS = {
    "web": False,
    "reload_seconds": 0,
    "limits": {"seconds": _SECONDS, "connections": 300, "upload_seconds": 10},
}
_CLIENTS = 64  # whose throughput is the capacity
_NUISANCES = 40
_MOST_REQUESTS = 1_000_000
_LATE = 1.5  # times that, on a machine that has other work
_GROWTH = 1.1  # of the memory, from the first quarter to the last
_PERMITTED = {200, 429, 503}


class Overload:
    """The part; see :class:`soak.part.Part`."""

    about = "requests at twice the capacity, beside clients that stall, leave and send garbage"
    share = 1.5

    def run(self, allowance: Allowance) -> list[Tried]:
        """Try until the time is over, and tell."""
        taught = teach(allowance.folder / "models")
        database = f"sqlite:///{allowance.folder / 'server.sqlite'}"
        server = ServerProcess(allowance.folder / "server", taught.first, database, **_SETTINGS)
        with serving(server):
            calm = _closed(allowance, server, taught, 600)
            capacity = _closed(allowance, server, taught, round(20 * calm.rate)).rate
            wanted = min(_MOST_REQUESTS, round(2 * capacity * 0.9 * max(10.0, allowance.left)))
            load = Load(
                allowance.folder,
                server.address,
                taught.lines,
                taught.answers,
                wanted,
                rate=2 * capacity,
            )
            with load, nuisances(server.port, _NUISANCES, allowance.seed) as others:
                memory = _watched(load, server)
                outcome = load.outcome()
            after = _closed(allowance, server, taught, 200)
            code = server.end()
        figures = {
            "capacity per second": round(capacity, 1),
            "asked per second": round(2 * capacity, 1),
            **outcome.figures(),
            "MiB": " ".join(f"{one:.0f}" for one in _quarters(memory)),
        }
        failures = _failures(outcome, memory)
        if set(after.statuses) != {200} or after.wrong:
            failures.append(f"afterwards: {after.figures()['statuses']}, {after.wrong} wrong")
        if code:
            failures.append(f"the server ended with {code}: {server.log}")
        return [
            Tried("requests at twice the capacity", wanted, figures, tuple(failures)),
            *(Tried(f"beside it, clients that {name}", times) for name, times in others.items()),
        ]


def _closed(allowance: Allowance, server: ServerProcess, taught: Taught, requests: int) -> Outcome:
    """What clients get who wait for each answer."""
    with Load(
        allowance.folder, server.address, taught.lines, taught.answers, requests, clients=_CLIENTS
    ) as load:
        return load.outcome()


def _watched(load: Load, server: ServerProcess) -> list[float]:
    """The memory of a server in MiB, once a second while requests come."""
    memory = []
    while not load.is_over:
        memory.append(server.memory())
        time.sleep(1)
    return memory


def _quarters(memory: Sequence[float]) -> list[float]:
    """The mean of each quarter; together they have all there is."""
    bounds = [place * len(memory) // 4 for place in range(5)]
    return [mean(memory[begin:end]) for begin, end in pairwise(bounds) if begin < end]


def _failures(outcome: Outcome, memory: Sequence[float]) -> list[str]:
    failures = []
    figures: Mapping[str, object] = outcome.figures()
    if not set(outcome.statuses) <= _PERMITTED:
        failures.append(f"statuses {figures['statuses']}, of which {_PERMITTED} are permitted")
    if outcome.wrong:
        failures.append(f"{outcome.wrong} translations of other lines")
    if outcome.without_retry_after:
        failures.append(f"{outcome.without_retry_after} refusals without Retry-After")
    if not outcome.percentile(0.99) <= 1000 * _LATE * _SECONDS:
        failures.append(f"p99 {outcome.percentile(0.99):.0f} ms, of {_SECONDS:g} s per request")
    first, *_, last = _quarters(memory)
    if last > _GROWTH * first:
        failures.append(f"{last:.0f} MiB at the end, from {first:.0f}")
    return failures


PART = Overload()
