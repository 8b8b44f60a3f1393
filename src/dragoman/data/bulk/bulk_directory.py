"""A directory that is filled shard by shard, with a record of its origin and completion."""

from __future__ import annotations

import json
import shutil
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from dragoman.core.errors import ConfigError, SavedError
from dragoman.core.files import content_digest, read_json, storage_errors, write_json

ORIGIN = "origin.json"
SHARDS = "shards"


class BulkDirectory:
    """The directory of one corpus that many workers make.

    Args:
        results: names of the files that it finally holds.
    """

    def __init__(self, path: Path, results: Collection[str]) -> None:
        self.path = path
        self.shards = path / SHARDS
        self._results = tuple(results)

    def begin(self, origin: Mapping[str, Any]) -> dict[str, Any] | None:
        """Begin, or continue what an earlier call began.

        Returns:
            The argument of :meth:`finish` if the directory is finished; None if work is left.

        Raises:
            ConfigError: the directory has another origin, or holds other files.
            SavedError: one of its files is missing or altered.
        """
        self.check_usable()
        origin = json.loads(json.dumps(origin))
        if not self._file.exists():
            write_json(self._file, {"origin": origin})
            return None
        try:
            found = read_json(self._file)
            before, result = dict(found["origin"]), found.get("result")
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise SavedError(f"{self._file}: damaged; remove {self.path} to begin again") from error
        if before != origin:
            names = [name for name in {**origin, **before} if _differs(name, before, origin)]
            raise ConfigError(
                f"{self.path}: was begun with other text or settings ({', '.join(names)}); repeat "
                "the command as it was, choose another directory, or remove this one to begin again"
            )
        if result is not None:
            self._check_results(result["sha256"])
            self._remove_shards()
            return dict(result["of"])
        return None

    def finish(self, result: Mapping[str, Any]) -> None:
        """Record that all files are complete, and remove the shards."""
        found = read_json(self._file)
        digests = {name: content_digest(self.path / name) for name in self._results}
        write_json(self._file, {**found, "result": {"of": result, "sha256": digests}})
        self._remove_shards()

    def _remove_shards(self) -> None:
        shutil.rmtree(self.shards, ignore_errors=True)

    @property
    def _file(self) -> Path:
        return self.path / ORIGIN

    def check_usable(self) -> None:
        """Make the directory if necessary; refuse one that holds other files, except hidden ones.

        Raises:
            ConfigError: it holds other files.
        """
        with storage_errors(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
            names = {one.name for one in self.path.iterdir() if not one.name.startswith(".")}
        if strangers := names - {ORIGIN, SHARDS, *self._results}:
            raise ConfigError(
                f"{self.path}: holds {min(strangers)}, which this command did not make; choose a "
                "new or empty directory"
            )

    def _check_results(self, digests: Mapping[str, str]) -> None:
        for name, digest in digests.items():
            file = self.path / name
            if not file.is_file() or content_digest(file) != digest:
                raise SavedError(
                    f"{file}: missing or altered; restore it, or remove {self.path} to make it "
                    "again"
                )


def _differs(name: str, one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return bool(one.get(name) != other.get(name))
