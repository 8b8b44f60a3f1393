"""Models that are published as archives, unpacked for the time of an import."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from dragoman.core.errors import DataError, StorageError
from dragoman.core.files import storage_errors
from dragoman.saved.archive_members import check_room, checked, contents_of, members_of, reading

_LARGEST_RATIO = 100  # of what is unpacked to the archive; weights hardly get smaller
_LARGEST_SURPLUS = 2**20  # bytes
_CHUNK_BYTES = 2**20


@dataclass(frozen=True)
class Package:
    """A kind of archive."""

    what: str
    """It and the file that it has once, for errors."""
    mark: str
    """The name of that file, which lies at the top of the archive or in its only folder."""
    wanted: Callable[[PurePosixPath], bool]
    """Whether a file with this path beside the mark is read."""

    @contextmanager
    def unpacked(self, path: Path) -> Iterator[tuple[Path, list[str]]]:
        """An archive as a directory, and the names of what was left; a directory as it is."""
        if not path.is_file():
            yield path, []
            return
        try:
            temporary = tempfile.TemporaryDirectory(prefix="dragoman-import-")
        except OSError as error:
            raise StorageError(
                f"{path}: no folder for temporary files can be written; set TMPDIR to one with "
                "free space"
            ) from error
        with temporary as folder:
            yield Path(folder), self._unpack(path, Path(folder))

    def _unpack(self, archive: Path, folder: Path) -> list[str]:
        with reading(archive):
            members = checked(members_of(archive), archive)
            tops = {member.path.parent for member in members if member.path.name == self.mark}
            tops = {top for top in tops if len(top.parts) <= 1}
            if len(tops) != 1:
                raise DataError(f"{archive}: no {self.what}")
            top = tops.pop()
            inner = {
                member.path: member.path.relative_to(top)
                for member in members
                if member.path.is_relative_to(top)
            }
            read = {path: place for path, place in inner.items() if self.wanted(place)}
            needed = sum(member.size for member in members if member.path in read)
            check_ratio(archive, needed)
            check_room(archive, folder, needed)
            for member, content in contents_of(archive):
                if member not in read:
                    continue
                target = folder / read[member]
                with storage_errors(target):
                    target.parent.mkdir(exist_ok=True)
                    with target.open("xb") as stream:
                        while chunk := content.read(_CHUNK_BYTES):
                            stream.write(chunk)
        return [str(place) for path, place in inner.items() if path not in read]


def check_ratio(archive: Path, needed: int) -> None:
    """Refuse an archive that unpacks to far more bytes than weights do."""
    if needed > _LARGEST_RATIO * archive.stat().st_size + _LARGEST_SURPLUS:
        raise DataError(
            f"{archive}: {needed / 1e6:,.0f} MB in an archive of "
            f"{archive.stat().st_size / 1e6:,.1f} MB, as no model is; nothing of it is read"
        )
