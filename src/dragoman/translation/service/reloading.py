"""Models that change on disk while they are served."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

from dragoman.core.errors import SavedError
from dragoman.saved.model import CONVERTED_DIRECTORY, MODEL_FILES, home_of, model_directory
from dragoman.saved.system import TranslationSystem
from dragoman.translation.service.loaded_system import LoadedSystem
from dragoman.translation.service.offloading import in_own_thread

log = logging.getLogger(__name__)

FileIdentity = tuple[str, int, int, int]
"""Name, inode, time of the last change in nanoseconds, and bytes."""


def identity(system: TranslationSystem) -> tuple[FileIdentity, ...]:
    """Identity of a system's files, which changes if they are replaced; empty if one is missing."""
    found = []
    try:
        for path in _files(system):
            status = os.stat(path)
            found.append((str(path), status.st_ino, status.st_mtime_ns, status.st_size))
    except (OSError, SavedError):  # a copy in progress, or gone
        return ()
    return tuple(found)


class Reloader:
    """Watches one system's files, and loads it again when they change.

    A change counts if two checks in a row see the same files, so that no copy in progress is read.
    Files count as missing if both checks miss them.

    Args:
        system: the description.
        before: its files when it was loaded.
        exchange: called with the newly loaded system.
    """

    def __init__(
        self,
        system: TranslationSystem,
        before: tuple[FileIdentity, ...],
        exchange: Callable[[LoadedSystem], None],
    ) -> None:
        self._system, self._served, self._exchange = system, before, exchange
        self._seen = before
        self._failed: tuple[FileIdentity, ...] | None = None  # none at all, if they are missing
        self.reloads = 0
        """How often the system was loaded again."""
        self.problem: str | None = None
        """Why the current files are not served; None if they are."""

    async def look(self) -> None:
        """Check once, and load the system if its files have changed."""
        now = await asyncio.to_thread(identity, self._system)
        seen, self._seen = self._seen, now
        if now != seen or now == self._failed:
            return
        path = self._system.models[0]
        if now == self._served:  # perhaps again, after others that could not be loaded
            if self.problem is not None:
                log.info("%s is again what is served", path)
            self._failed, self.problem = None, None
            return
        if not now:
            self._failed = now
            self.problem = "files are missing; put the model back, or stop the server"
            log.error("%s: %s (the old one is kept meanwhile)", path, self.problem)
            return
        try:
            loaded = await in_own_thread(LoadedSystem.load, self._system)
        except Exception as error:  # the old system continues after any error
            self._failed, self.problem = now, str(error)
            log.error(
                "%s has changed and cannot be loaded, so the old one is kept: %s", path, error
            )
            return
        if await asyncio.to_thread(identity, self._system) != now:
            loaded.translator.close()  # changed again meanwhile: may mix old and new files
            return
        self._served, self._failed, self.problem = now, None, None
        self.reloads += 1
        log.info("%s has changed and was loaded again", path)
        self._exchange(loaded)


async def keep_looking(looks: Callable[[], Awaitable[None]], seconds: float) -> None:
    """Check for changes for ever, with this many seconds between two checks."""
    while True:
        await asyncio.sleep(seconds)
        try:
            await looks()
        except Exception:
            log.exception("looking for changed models failed; it is tried again")


def _files(system: TranslationSystem) -> Iterator[Path]:
    """The files of a system."""
    for path in system.directories():
        directory = model_directory(path)
        for folder in dict.fromkeys((directory, home_of(directory))):
            for name in sorted(os.listdir(folder)):
                if name in MODEL_FILES and name != CONVERTED_DIRECTORY:
                    yield folder / name
    terms = system.terms
    others = [system.adapter, *((*terms.glossary, *terms.keep) if terms else ())]
    others += [one for one in (system.confidence, system.shortlist) if isinstance(one, Path)]
    for one in others:
        if one is not None:
            yield from sorted(one.rglob("*.safetensors")) if one.is_dir() else [one]
