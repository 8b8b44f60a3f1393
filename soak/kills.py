"""Kills: each command is killed again and again, and must end with what it makes undisturbed.

Aimed kills end the process before each of its writes, renames, removals and flushes, one after the
other, and in the middle of each write; random ones come by a timer, several in a row.
"""

from __future__ import annotations

import dataclasses
import random
import time
from collections.abc import Iterator
from pathlib import Path

from soak.instrument import NoInstrumentError, build
from soak.part import Allowance, Tried
from soak.power import recorded
from soak.served_kills import KilledServer
from soak.warm import Ended, Warm
from soak.works import Work, Workshop, difference, workshop

_KEPT_FAILURES = 10  # of a row, in the report
_IN_A_ROW = 3  # random kills before the command may end
_SERVER_PARTS = 3  # of the time, in as many as a work has two


class Kills:
    """The part; see :class:`soak.part.Part`."""

    about = "kills -9, aimed at each operation on a file and at random moments"
    share = 4.0

    def run(self, allowance: Allowance) -> list[Tried]:
        """Try until the time is over, and tell."""
        folder = allowance.folder
        try:
            library = build(folder)
        except NoInstrumentError as error:
            return [Tried("kills", 0, skipped=str(error))]
        chance = random.Random(allowance.seed)
        tried = []
        with Warm(library, folder) as warm:
            shop = workshop(folder / "given", warm)
            left = 2 * len(shop.works) + _SERVER_PARTS
            for work in shop.works:
                trial = _Trial(warm, shop, work, folder, chance)
                tried.append(trial.aimed(allowance.left / left))
                tried.append(trial.random(allowance.left / (left - 1)))
                left -= 2
            served = KilledServer(shop.base / "average" / "trained" / "model", folder, chance)
            tried.append(served.tried(allowance.left))
        return tried


class _Trial:
    """One work, undisturbed and killed."""

    def __init__(
        self, warm: Warm, shop: Workshop, work: Work, folder: Path, chance: random.Random
    ) -> None:
        self._warm, self._shop, self._work, self._chance = warm, shop, work, chance
        self._place = folder / "place"
        found = recorded(warm, shop, work, folder)
        self._operations, self._made = len(found.operations), found.made
        started = time.monotonic()
        self._work.finish(warm, shop.fresh(work, self._place))
        self._seconds = time.monotonic() - started

    def aimed(self, seconds: float) -> Tried:
        """A kill at each operation, in random order, until the time is over."""
        places = list(range(1, self._operations + 1))
        self._chance.shuffle(places)
        failures, times, until = [], 0, time.monotonic() + seconds
        for at in places:
            if times and time.monotonic() > until:
                break
            place = self._shop.fresh(self._work, self._place)
            order = dataclasses.replace(self._work.order(place), kill_at=at)
            ended = self._warm.run(order)
            times += 1
            wrong = "" if ended.killed else f"ended with {ended.code} instead of being killed"
            if wrong := wrong or self._finished(place):
                failures.append(f"killed at operation {at}: {wrong}")
        return self._tried("aimed", times, failures)

    def random(self, seconds: float) -> Tried:
        """Kills by a timer, several in a row, until the time is over."""
        failures, times, until = [], 0, time.monotonic() + seconds
        while not times or time.monotonic() < until:
            place = self._shop.fresh(self._work, self._place)
            ended: Ended | None = None
            moments = list(self._moments())
            for after in moments:
                order = self._work.order(place, ended)
                ended = self._warm.run(dataclasses.replace(order, kill_after=after))
                times += ended.killed
                if not ended.killed:
                    break
            if wrong := self._finished(place):
                failures.append(f"killed after {moments} seconds: {wrong}")
        return self._tried("random", times, failures)

    def _moments(self) -> Iterator[float]:
        for _ in range(_IN_A_ROW):
            yield round(self._chance.uniform(0.01, max(0.02, self._seconds)), 3)

    def _finished(self, place: Path) -> str:
        """What is wrong after repeating the command until it succeeds, or an empty string."""
        return self._work.finish(self._warm, place) or difference(
            self._work.result(place), self._made
        )

    def _tried(self, kind: str, times: int, failures: list[str]) -> Tried:
        figures = {"operations": self._operations, "failed": len(failures)}
        what = f"{self._work.name}, {kind}"
        return Tried(what, times, figures, tuple(failures[:_KEPT_FAILURES]))


PART = Kills()
