"""Disks that are full, read-only, slow or gone, clocks that jump, and memory that is short.

Whatever refuses, a command ends with one line that names it and with an exit code, loses nothing
that it had finished, and goes on once it may; where nothing refuses, its result is the usual one.
"""

from __future__ import annotations

import dataclasses
import os
import random
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from soak.instrument import NoInstrumentError, build
from soak.part import Allowance, Tried
from soak.warm import Ended, Order, Warm
from soak.works import Made, Work, Workshop, difference, workshop

_STORAGE = 6  # exit code of a StorageError
_REFUSED = frozenset([1, 2, 3, 4, _STORAGE, 11])  # all that say in one line what is wrong
_HOUR = 3600


class Disks:
    """The part; see :class:`soak.part.Part`."""

    about = "disks that are full, read-only, slow or gone; clocks that jump; short memory"
    share = 1.5

    def run(self, allowance: Allowance) -> list[Tried]:
        """Try everything once on each command, and again until the time is over."""
        folder = allowance.folder
        try:
            library = build(folder)
        except NoInstrumentError as error:
            return [Tried("disks", 0, skipped=str(error))]
        chance = random.Random(allowance.seed)
        with Warm(library, folder) as warm:
            trouble = _Trouble(warm, workshop(folder / "given", warm), folder, chance)
            kinds: list[tuple[str, Callable[[Work], str], str]] = [
                ("a limit for the size of files", trouble.limited, ""),
                ("a full disk", trouble.full, _no_mounts()),
                ("a read-only disk", trouble.read_only, _no_mounts()),
                ("a folder that vanishes", trouble.vanished, ""),
                ("a slow disk", trouble.slow, ""),
                ("a clock that jumps by an hour", trouble.jumping, ""),
                ("short memory", trouble.short, ""),
            ]
            return [
                trouble.tried(*kind, seconds=allowance.left / (len(kinds) - number))
                for number, kind in enumerate(kinds)
            ]


class _Trouble:
    """Each method makes one kind of trouble for a work, and says what went wrong beyond it."""

    def __init__(self, warm: Warm, shop: Workshop, folder: Path, chance: random.Random) -> None:
        self._warm, self._shop, self._folder, self._chance = warm, shop, folder, chance
        self._place = folder / "place"
        self._made: dict[str, Made] = {}
        self._exits: dict[int, int] = {}
        for work in shop.works:
            place = shop.fresh(work, self._place)
            if wrong := work.finish(warm, place):
                raise RuntimeError(f"{work.name}: {wrong}")
            self._made[work.name] = work.result(place)

    def tried(
        self, what: str, trouble: Callable[[Work], str], skipped: str, seconds: float
    ) -> Tried:
        """One kind of trouble for all works, again and again."""
        if skipped:
            return Tried(what, 0, skipped=skipped)
        until, times, failures = time.monotonic() + seconds, 0, []
        self._exits = {}
        while times < len(self._shop.works) or time.monotonic() < until:
            work = self._shop.works[times % len(self._shop.works)]
            times += 1
            if wrong := trouble(work):
                failures.append(f"{work.name}: {wrong}")
        exits = " ".join(f"{code} ({n})" for code, n in sorted(self._exits.items()))
        return Tried(what, times, {"exit codes": exits}, tuple(failures))

    def limited(self, work: Work) -> str:
        """No file may be larger than some bytes (RLIMIT_FSIZE)."""
        place = self._shop.fresh(work, self._place)
        limit = self._chance.choice((5000, 20_000, 60_000))  # what is printed is a file too
        return self._refused_then_finished(work, place, self._run(work, place, file_bytes=limit))

    def full(self, work: Work) -> str:
        """A file system of its own with little space left."""
        with _mounted(self._place) as disk:
            place = self._shop.fill(work, disk)
            used = sum(path.stat().st_size for path in place.rglob("*") if path.is_file())
            spare = self._chance.choice((4, 16, 64, 256)) * 1024
            _remount(disk, f"size={used + spare + 200 * 1024}")
            ended = self._run(work, place)
            _remount(disk, "size=64m")
            return self._refused_then_finished(work, place, ended)

    def read_only(self, work: Work) -> str:
        """A file system that is read-only."""
        with _mounted(self._place) as disk:
            place = self._shop.fill(work, disk)
            _remount(disk, "ro")
            ended = self._run(work, place)
            _remount(disk, "rw")
            return self._refused_then_finished(work, place, ended)

    def vanished(self, work: Work) -> str:
        """All files are moved away while the command runs, as if a network disk went away."""
        place, gone = self._shop.fresh(work, self._place), self._folder / "gone"
        shutil.rmtree(gone, ignore_errors=True)
        gone.mkdir()

        def away() -> None:
            for name in os.listdir(place):
                with suppress(FileNotFoundError):  # a temporary file has just got its name
                    os.rename(place / name, gone / name)

        timer = threading.Timer(self._chance.uniform(0.05, 1.5), away)
        timer.start()
        ended = self._run(work, place)
        timer.join()
        shutil.rmtree(place)  # what was written meanwhile is on no network disk
        gone.rename(place)
        return self._refused_then_finished(work, place, ended)

    def slow(self, work: Work) -> str:
        """Each operation waits."""
        place = self._shop.fresh(work, self._place)
        return self._as_usual(work, place, self._run(work, place, delay=0.02))

    def jumping(self, work: Work) -> str:
        """The time of day jumps to and fro."""
        place = self._shop.fresh(work, self._place)
        return self._as_usual(work, place, self._run(work, place, clock_jumps=_HOUR))

    def short(self, work: Work) -> str:
        """Little more memory than the imported modules take (RLIMIT_AS)."""
        place = self._shop.fresh(work, self._place)
        spare = self._chance.choice((16, 48, 96)) * 2**20
        ended = self._run(work, place, memory_bytes=spare)
        if ended.code == -signal.SIGABRT:  # of SentencePiece, which says what it cannot do so
            return self._finished(work, place)
        return self._refused_then_finished(work, place, ended)

    def _run(self, work: Work, place: Path, **trouble: object) -> Ended:
        order: Order = dataclasses.replace(work.order(place), **trouble)  # type: ignore[arg-type]
        ended = self._warm.run(order)
        self._exits[ended.code] = self._exits.get(ended.code, 0) + 1
        return ended

    def _refused_then_finished(self, work: Work, place: Path, ended: Ended) -> str:
        if ended.hung:
            return f"hangs: {ended.out[-300:]}"
        if not ended.code:
            return difference(work.result(place), self._made[work.name])
        lines = [line for line in ended.out.splitlines() if "error:" in line]
        if ended.code not in _REFUSED or len(lines) != 1:
            return f"ended with {ended.code}: {ended.out[-300:]}"
        if "unexpected" in lines[0]:
            return lines[0]
        return self._finished(work, place)

    def _as_usual(self, work: Work, place: Path, ended: Ended) -> str:
        if ended.code:
            return f"ended with {ended.code}: {ended.out[-300:]}"
        return difference(work.result(place), self._made[work.name])

    def _finished(self, work: Work, place: Path) -> str:
        return work.finish(self._warm, place) or difference(
            work.result(place), self._made[work.name]
        )


def _no_mounts() -> str:
    """Why no file system can be mounted, or an empty string."""
    return "" if os.geteuid() == 0 and shutil.which("mount") else "needs root, to mount a disk"


@contextmanager
def _mounted(place: Path) -> Iterator[Path]:
    """A small file system in memory."""
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "dragoman", place], check=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", place], check=True)


def _remount(place: Path, options: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{options}", place], check=True)


PART = Disks()
