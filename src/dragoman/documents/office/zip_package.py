"""Zip files that hold the parts of a document, which nobody has to trust.

What they may hold is bounded before anything is unpacked, and nothing is ever written to a path
that they name.
"""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Mapping

from dragoman.core.errors import DataError

_MOST_PARTS = 10_000
_MOST_BYTES = 512 * 2**20
"""Of all parts, unpacked."""
_LARGE = 64 * 2**20
"""Bytes below which the ratio is nobody's concern."""
_MOST_RATIO = 100
"""Of unpacked to packed bytes.  XML is packed to a tenth, rarely to a fiftieth."""

_COMPOUND = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # of Word 97, and of encrypted files
_BAD_NAME = re.compile(r"(^|/)\.\.?(/|$)|^/|//|\\|^[A-Za-z]:|[\x00-\x1f]")
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED = 1  # bit of the flags (APPNOTE.TXT, section 4.4.4)


class ZipPackage:
    """The parts of a zip file.

    Raises:
        DataError: it is damaged, encrypted, or hostile: too large or too many parts, names that
            occur twice or lead elsewhere.
    """

    def __init__(self, content: bytes) -> None:
        self.content = content
        with _opened(content) as archive:
            self._infos = archive.infolist()
        _check(self._infos, len(content))
        self._by_name = {info.filename: info for info in self._infos}

    @property
    def names(self) -> list[str]:
        """Names of the parts, in the order of the file."""
        return list(self._by_name)

    def size(self, name: str) -> int:
        """Bytes of a part, unpacked, or 0 if there is none of that name."""
        info = self._by_name.get(name)
        return 0 if info is None else info.file_size

    def read(self, name: str) -> bytes:
        """The content of a part."""
        if name not in self._by_name:
            raise DataError(f"the file has no part {name!r}: it is damaged, or of another format")
        with _opened(self.content) as archive:
            return _read(archive, self._by_name[name])

    def written(self, replaced: Mapping[str, bytes]) -> bytes:
        """The file with some of its parts replaced, by their names.

        Order, names, dates and methods of compression stay.
        """
        buffer = io.BytesIO()
        with _opened(self.content) as archive, zipfile.ZipFile(buffer, "w") as target:
            target.comment = archive.comment
            for info in self._infos:
                new = zipfile.ZipInfo(info.filename, info.date_time)
                new.compress_type = info.compress_type
                new.external_attr, new.create_system = info.external_attr, info.create_system
                new.comment = info.comment
                content = replaced.get(info.filename)
                target.writestr(new, _read(archive, info) if content is None else content)
        return buffer.getvalue()


def _opened(content: bytes) -> zipfile.ZipFile:
    if content.startswith(_COMPOUND):
        raise DataError(
            "the file is encrypted, or of an old format such as .doc; open it in its program and "
            "save it again, without a password and in the format of its name"
        )
    if not content.startswith(b"PK\x03\x04"):
        raise DataError("the file is not a zip file, as documents of its name are; is it renamed?")
    try:
        return zipfile.ZipFile(io.BytesIO(content))
    except (zipfile.BadZipFile, ValueError, NotImplementedError, EOFError) as error:
        raise DataError(
            f"the file is damaged or cut off: {_lowered(error)}; send it again"
        ) from error


def _read(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    try:
        return archive.read(info)
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        ValueError,
        RuntimeError,
        NotImplementedError,
    ) as error:
        raise DataError(
            f"the part {info.filename!r} is damaged: {_lowered(error)}; send the file again"
        ) from error


def _lowered(error: Exception) -> str:
    text = str(error)
    return text[:1].lower() + text[1:]


def _check(infos: list[zipfile.ZipInfo], size: int) -> None:
    if not infos:
        raise DataError("the file has no parts: it is damaged; send it again")
    if len(infos) > _MOST_PARTS:
        raise DataError(f"the file has {len(infos):,} parts; at most {_MOST_PARTS:,} are read")
    for info in infos:
        name = info.orig_filename
        if not name or _BAD_NAME.search(name):
            raise DataError(f"the name of the part {name!r} leads out of the file")
        if info.flag_bits & _ENCRYPTED:
            raise DataError(f"the part {name!r} is encrypted; save the file without a password")
        if info.compress_type not in _METHODS:
            raise DataError(f"the part {name!r} is compressed in a way that documents are not")
    name, count = Counter(info.filename.lower() for info in infos).most_common(1)[0]
    if count > 1:
        raise DataError(f"the file has two parts of the name {name!r}")
    unpacked = sum(info.file_size for info in infos)
    if unpacked > _MOST_BYTES:
        raise DataError(
            f"the file holds {unpacked:,} bytes when it is unpacked; at most {_MOST_BYTES:,} are "
            "read"
        )
    packed = sum(info.compress_size for info in infos)
    if packed > size:
        raise DataError("parts of the file overlap: it is damaged or hostile")
    if unpacked > _LARGE and unpacked > _MOST_RATIO * packed:
        raise DataError(
            f"the file holds {unpacked // packed} times its size when it is unpacked; at most "
            f"{_MOST_RATIO} times are read"
        )
