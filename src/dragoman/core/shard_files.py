"""Files that many workers write, a shard each: either complete and recorded, or absent.

Shard n is the file ``n.SUFFIX``, and its record ``n.json``.  The record, with the size and digest
of the file, is written last and completes the shard.  Writing a shard twice must give the same
bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dragoman.core.errors import SavedError
from dragoman.core.files import atomic_write, read_json, sweep, write_json


@dataclass(frozen=True)
class ShardFiles:
    """The shards of one folder, which all workers see."""

    folder: Path
    suffix: str
    """File suffix, such as ``.json.zst``."""

    def path(self, number: int) -> Path:
        """The file of a shard."""
        return self.folder / f"{number:06}{self.suffix}"

    def record(self, number: int) -> dict[str, Any] | None:
        """The record of a finished shard, or None if the shard has to be made (again)."""
        try:
            record = read_json(self._record_path(number))
            whole = self.path(number).stat().st_size == record["size_bytes"]
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return dict(record) if whole else None

    def facts(self, number: int) -> dict[str, Any]:
        """The record of a shard that must be finished."""
        if (record := self.record(number)) is None:
            raise self.damage(number)
        return record

    def write(self, number: int, content: bytes, **facts: Any) -> None:
        """Finish a shard; ``facts`` are plain values for its record."""
        digest = hashlib.sha256(content).hexdigest()
        with atomic_write(self.path(number), "wb") as stream:
            stream.write(content)
        record = {"size_bytes": len(content), "sha256": digest, **facts}
        write_json(self._record_path(number), record)

    def read(self, number: int) -> bytes:
        """The content of a finished shard.

        Raises:
            SavedError: it is missing or altered; it will then be made again.
        """
        record = self.facts(number)
        try:
            content = self.path(number).read_bytes()
        except OSError:
            content = b""
        if hashlib.sha256(content).hexdigest() != record.get("sha256"):
            raise self.damage(number)
        return content

    def damage(self, number: int) -> SavedError:
        """Forget a damaged shard and return the error to raise."""
        self._record_path(number).unlink(missing_ok=True)
        return SavedError(
            f"{self.path(number)}: missing, truncated or altered since it was written; repeat the "
            "command to make it again"
        )

    def sweep(self) -> None:
        """Remove incomplete files of killed workers."""
        sweep(self.folder)

    def write_note(self, note: Mapping[str, Any]) -> None:
        """Write a note on all shards, once they are finished."""
        write_json(self._note_path, note)

    def note(self) -> dict[str, Any] | None:
        """The note, or None if it was not written."""
        try:
            return dict(read_json(self._note_path))
        except (OSError, ValueError, TypeError):
            return None

    @property
    def _note_path(self) -> Path:
        return self.folder / "all.json"

    def _record_path(self, number: int) -> Path:
        return self.folder / f"{number:06}.json"
