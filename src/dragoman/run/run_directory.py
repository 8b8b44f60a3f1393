"""The directory of a run: recognised, and locked so that only one process uses it at a time.

A run contains ``.dragoman``, which identifies it and is locked while a process works in it.
Reading a run, for example to translate with its model, needs no lock.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dragoman.core.claims import claimed
from dragoman.core.config import read_yaml
from dragoman.core.errors import ConfigError
from dragoman.core.files import storage_errors, sweep
from dragoman.data.store import DATA_DIRECTORY, MANIFEST
from dragoman.data.vocabularies import ORIGIN_FILE
from dragoman.saved.model import CHECKPOINTS_DIRECTORY, CONFIG_FILE, MODEL_DIRECTORY
from dragoman.text.vocabularies.saved_vocabularies import FILE_NAMES
from dragoman.training.checkpoint import checkpoints

MARKER = ".dragoman"
_SHAREABLE = frozenset([*FILE_NAMES, ORIGIN_FILE])
_held: dict[Path, int] = {}
"""The thread that has claimed each run."""


def is_run(directory: Path) -> bool:
    """Whether Dragoman made this directory as a run, with or without a marker (older runs)."""
    return (directory / MARKER).is_file() or _is_unmarked_run(directory)


def _is_unmarked_run(directory: Path) -> bool:
    """Whether a configuration lies beside other files of a run; alone it proves nothing."""
    begun = (
        (directory / DATA_DIRECTORY / MANIFEST).is_file()
        or (directory / ORIGIN_FILE).is_file()
        or checkpoints(directory)
    )
    try:
        return bool(begun and {"data", "training"} <= read_yaml(directory / CONFIG_FILE).keys())
    except ConfigError:
        return False


def check_usable(directory: Path) -> None:
    """Refuse a directory with other files, which a run might overwrite.

    The directory may be absent, empty, a run, or hold vocabularies for the run.  Hidden files are
    ignored.

    Raises:
        ConfigError: it holds something else, or its name is not UTF-8.
        StorageError: it cannot be read, or is a file.
    """
    try:
        str(directory).encode()
    except UnicodeEncodeError:  # safetensors cannot open such a path
        raise ConfigError(
            f"{str(directory)!r}: the name is not UTF-8; choose another directory with --run"
        ) from None
    with storage_errors(directory):
        if not directory.exists() or is_run(directory):
            return
        strangers = {name for name in os.listdir(directory) if not name.startswith(".")}
        if strangers := strangers - _SHAREABLE:
            raise ConfigError(
                f"{directory}: holds {min(strangers)} and is not a run; choose a new or empty "
                "directory with --run"
            )


@contextmanager
def begin(directory: Path) -> Iterator[None]:
    """:func:`claim` a directory that need not be a run yet, but must be usable as one."""
    check_usable(directory)
    with claim(directory):
        yield


@contextmanager
def claim(run: Path) -> Iterator[None]:
    """Lock a run for this thread, and clean up leftovers of a killed process.

    A thread that has claimed a run may claim it again.  Of processes that train together, the
    first claims it for all; a claim by the others does nothing.
    """
    key, thread = run.absolute(), threading.get_ident()
    if _held.get(key) == thread or os.environ.get("RANK", "0") != "0":
        yield
        return
    use = "this run; wait until it ends, or choose another directory with --run"
    with claimed(run / MARKER, use):
        for folder in (run, run / CHECKPOINTS_DIRECTORY, run / MODEL_DIRECTORY):
            sweep(folder)
        _held[key] = thread
        try:
            yield
        finally:
            del _held[key]
