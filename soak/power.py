"""Power losses, replayed: what each command has written is cut off at any operation.

A command is recorded once.  Then, operation by operation, the disk is put together as it would be
if the power had failed there (``soak.power_model``), and the command must finish on it as if
nothing had happened.  What a command has made by the time it ends must survive any later loss.
"""

from __future__ import annotations

import copy
import dataclasses
import random
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from soak.instrument import NoInstrumentError, Operation, build, read_log
from soak.part import Allowance, Tried
from soak.power_model import Disk
from soak.warm import Warm
from soak.works import Made, Work, Workshop, difference, workshop

_KEPT_FAILURES = 10  # of a work, in the report


@dataclass(frozen=True)
class Recorded:
    """A work that was done undisturbed."""

    work: Work
    made: Made
    before: Disk
    operations: Sequence[Operation]

    def disk(self, at: int) -> Disk:
        """The disk after ``at`` operations."""
        disk = copy.deepcopy(self.before)
        disk.apply(self.operations[:at])
        return disk


def recorded(warm: Warm, shop: Workshop, work: Work, folder: Path) -> Recorded:
    """Do a work once, and record what it did.

    Raises:
        RuntimeError: it fails, or the record does not explain what it has made.
    """
    place = shop.fresh(work, folder / "place")
    before = Disk(place)
    log = folder / "operations.log"
    log.unlink(missing_ok=True)
    ended = warm.run(dataclasses.replace(work.order(place), log=str(log)))
    if ended.code:
        raise RuntimeError(f"{work.name}: {ended.out}")
    found = Recorded(work, work.result(place), before, list(read_log(log)))
    shutil.rmtree(place)
    found.disk(len(found.operations)).everything(place)
    if unlike := difference(work.result(place), found.made):
        raise RuntimeError(f"{work.name}: the record misses something; replayed: {unlike}")
    return found


def lost_at(warm: Warm, found: Recorded, place: Path, at: int, seed: int | None) -> str:
    """Lose the power after ``at`` operations, and finish; what went wrong, or an empty string.

    Args:
        warm: runs the command.
        found: the work.
        place: where to put the disk together; what is there is removed.
        at: operations done before.
        seed: of what survives; None lets nothing survive that was not flushed.
    """
    shutil.rmtree(place, ignore_errors=True)
    chance = None if seed is None else random.Random(seed)
    found.disk(at).after_loss(place, chance)
    if at == len(found.operations):  # it has ended, and said so
        unlike = difference(found.work.result(place), found.made)
        return f"after its end: {unlike}" if unlike else ""
    return found.work.finish(warm, place) or difference(found.work.result(place), found.made)


def _points(operations: int, chance: random.Random) -> Iterator[tuple[int, int | None]]:
    """Where to lose the power: at the end, then everywhere once in random order, and again."""
    yield operations, None
    places = list(range(1, operations + 1))
    for turn in count():
        chance.shuffle(places)
        for number, place in enumerate(places):
            yield place, None if (number + turn) % 2 else chance.randrange(2**32)


class PowerLosses:
    """The part; see :class:`soak.part.Part`."""

    about = "power losses: what was not flushed is gone or torn, and every command goes on"
    share = 2.0

    def run(self, allowance: Allowance) -> list[Tried]:
        """Try until the time is over, and tell."""
        folder = allowance.folder
        try:
            library = build(folder)
        except NoInstrumentError as error:
            return [Tried("power losses", 0, skipped=str(error))]
        chance = random.Random(allowance.seed)
        with Warm(library, folder) as warm:
            shop = workshop(folder / "given", warm)
            left = len(shop.works)
            tried = []
            for work in shop.works:
                tried.append(_tried(warm, shop, work, folder, chance, allowance.left / left))
                left -= 1
        return tried


def _tried(
    warm: Warm, shop: Workshop, work: Work, folder: Path, chance: random.Random, seconds: float
) -> Tried:
    """Lose the power in one work, again and again."""
    until = time.monotonic() + seconds
    found = recorded(warm, shop, work, folder)
    failures, times = [], 0
    for at, seed in _points(len(found.operations), chance):
        if times and time.monotonic() > until:
            break
        times += 1
        wrong = lost_at(warm, found, folder / "place", at, seed)
        if wrong:
            before = found.operations[at - 1]
            failures.append(f"after operation {at} ({before}), seed {seed}: {wrong}")
    figures = {"operations": len(found.operations), "failed": len(failures)}
    return Tried(work.name, times, figures, tuple(failures[:_KEPT_FAILURES]))


PART = PowerLosses()
