"""Attacks one target: bombs first, then damaged inputs until the time is over."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count, islice
from pathlib import Path
from random import Random

from soak.fuzzing.mutations import damaged
from soak.fuzzing.outcome import Outcome
from soak.fuzzing.target import MEBIBYTE, Hostile, Target
from soak.fuzzing.trying import try_each
from soak.part import Tried

_AT_ONCE = 300
"""Inputs of a child process."""
_REDUCING_SECONDS = 15.0
_PLACES = 20
"""Different defects after which a target is left alone."""


@dataclass
class Defect:
    """Failures that come from one place."""

    hostile: Hostile
    """The smallest input so far."""
    outcome: Outcome
    times: int = 1

    def include(self, hostile: Hostile, outcome: Outcome) -> None:
        """Count another failure from the same place."""
        self.times += 1
        if len(hostile.content) < len(self.hostile.content):
            self.hostile, self.outcome = hostile, outcome


@dataclass
class Attack:
    """What was tried on a target so far, and what was found."""

    target: Target
    seed: int
    folder: Path
    """For the inputs that fail, and for the log of the child."""
    kinds: Counter[str] = field(default_factory=Counter)
    defects: dict[str, Defect] = field(default_factory=dict)
    bombs: int = 0
    """Of the target, that there was time for."""
    slowest: float = 0.0
    """Seconds of processor time."""
    largest: int = 0
    """Bytes of memory."""

    def run(self, seconds: float, most: int | None = None) -> Tried:
        """Attack the target.

        Args:
            seconds: for all; half of them at most for bombs, in an order that the seed decides.
                Seeds are always tried.
            most: damaged inputs at most; None: as many as there is time for.

        Returns:
            The row of the report.
        """
        begun = time.monotonic()
        self._try_seeds()
        bombs = list(self.target.bombs)
        Random(f"{self.seed} {self.target.name}").shuffle(bombs)
        self.bombs = self._try(bombs, begun + seconds / 2)
        stream = islice(damaged_inputs(self.target, self.seed), most)
        while time.monotonic() < begun + seconds and len(self.defects) < _PLACES:
            batch = list(islice(stream, _AT_ONCE))
            if not batch:
                break
            self._try(batch, begun + seconds)
        for defect in self.defects.values():
            self._reduce(defect)
        return self._told()

    def _try_seeds(self) -> None:
        """Good inputs must be read, or else nothing behind the first check is tried."""
        for hostile, outcome in zip(
            self.target.seeds, try_each(self.target, self.target.seeds, self.folder), strict=True
        ):
            if outcome.kind == "refused" and not self.target.refused_seeds:
                refused = Outcome("error", f"the good input {hostile.name} is refused")
                self._count(hostile, refused)
            else:
                self._count(hostile, outcome)

    def _try(self, inputs: Sequence[Hostile], end: float) -> int:
        """Try inputs until a time, and tell how many there was time for."""
        tried = 0
        for outcome in try_each(self.target, inputs, self.folder):
            self._count(inputs[tried], outcome)
            tried += 1
            if time.monotonic() > end:
                break
        return tried

    def _count(self, hostile: Hostile, outcome: Outcome) -> None:
        self.kinds[outcome.kind] += 1
        self.slowest = max(self.slowest, outcome.seconds)
        self.largest = max(self.largest, outcome.grown)
        if outcome.is_good:
            return
        if (known := self.defects.get(outcome.place)) is not None:
            known.include(hostile, outcome)
        else:
            self.defects[outcome.place] = Defect(hostile, outcome)

    def _reduce(self, defect: Defect) -> None:
        """Leave out what the failure does not need (Zeller and Hildebrandt 2002, simplified)."""
        if defect.outcome.kind not in {"error", "died"}:
            return  # what is slow or large is so by its length
        end = time.monotonic() + _REDUCING_SECONDS
        size = max(1, len(defect.hostile.content) // 2)
        while size and time.monotonic() < end:
            whole = defect.hostile.content
            smaller = [
                defect.hostile._replace(content=whole[:start] + whole[start + size :])
                for start in range(0, len(whole), size)
            ][:_AT_ONCE]
            found = next(
                (
                    (hostile, outcome)
                    for hostile, outcome in zip(
                        smaller, try_each(self.target, smaller, self.folder), strict=False
                    )
                    if outcome.place == defect.outcome.place
                ),
                None,
            )
            if found is None:
                size //= 2
            else:
                defect.hostile, defect.outcome = found

    def _told(self) -> Tried:
        figures: dict[str, float | str] = {
            "refused": self.kinds["refused"],
            "read": self.kinds["accepted"],
            "bombs": f"{self.bombs:,} of {len(self.target.bombs):,}",
            "slowest ms": round(1000 * self.slowest),
            "most MiB": round(self.largest / MEBIBYTE),
        }
        failures = tuple(map(self._failure, self.defects.values()))
        return Tried(self.target.name, self.kinds.total(), figures, failures)

    def _failure(self, defect: Defect) -> str:
        """A failure in words, whose input is kept in a file."""
        outcome, hostile = defect.outcome, defect.hostile
        path = self.folder / re.sub(r"\W+", "-", outcome.place)[:80] / hostile.name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(hostile.content)
        return (
            f"{outcome.kind}: {outcome.place}, {defect.times} times; again with: python -m "
            f"soak.fuzzing {self.target.name} --input {path} --name {hostile.name}\n"
            f"{outcome.detail}"
        )


def damaged_inputs(target: Target, seed: int) -> Iterator[Hostile]:
    """Damaged inputs without end: each is a function of the seed, the target and its number."""
    for number in count():
        yield damaged(target, Random(f"{seed} {target.name} {number}"))
