"""Writing a file that appears once it is complete, on Windows too.

:mod:`dragoman.core.files` does more for the files of a run, by locks that only POSIX has.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from dragoman.core.errors import StorageError


def write_whole(path: Path, content: bytes) -> None:
    """Write a file under a temporary name beside ``path``, and rename it.

    A device or a pipe is written to directly.

    Raises:
        StorageError: the file cannot be written.
    """
    try:
        if (path.exists() and not path.is_file()) or path.is_symlink():
            path.write_bytes(content)
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
        try:
            with temporary.open("xb") as stream:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror or error}") from error
