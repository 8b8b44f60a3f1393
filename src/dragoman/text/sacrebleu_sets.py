"""Test sets that sacrebleu knows by name, such as ``wmt22/en-de`` (Post 2018, arXiv:1804.08771).

sacrebleu downloads them, verifies their MD5 digests and keeps them, in the folder that its variable
``SACREBLEU`` names, or else in ``~/.sacrebleu``.
"""

from __future__ import annotations

import errno
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from http.client import HTTPException
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.error import URLError

from dragoman.core.errors import ConfigError, DownloadError, DragomanError, StorageError
from dragoman.text.formats.interface import instead
from dragoman.text.language_codes import base_language

if TYPE_CHECKING:
    from sacrebleu.dataset.base import Dataset

log = logging.getLogger(__name__)


class SetFiles(NamedTuple):
    """The files of a test set, one sentence in each line."""

    source: Path
    references: tuple[Path, ...]
    """Those that sacrebleu scores against; usually one."""


def set_problems(name: str, beside: Sequence[str]) -> Iterator[str]:
    """Problems of a part that names a set, found without a connection.

    Args:
        name: of the set.
        beside: keys of the part that name other text.
    """
    if beside:
        yield f"sacrebleu names a test set in place of files; leave {beside[0]} out, or sacrebleu"
    try:
        _dataset(name)
    except ConfigError as error:
        yield f"sacrebleu: {error}"


def languages_of_set(name: str) -> tuple[str, str]:
    """The source and target language of a set, as its name has them."""
    source, _, target = name.rpartition("/")[2].partition("-")
    return source, target


def own_languages(name: str, run: tuple[str, str]) -> tuple[str, str]:
    """The languages of a set in a run of two languages, as the run calls them.

    ``zh`` may be the run's ``zh-Hans``, or a language to which the run gives no name.
    """
    source, target = languages_of_set(name)
    return (
        run[0] if run[0] == "source" or base_language(run[0]) == source else source,
        run[1] if run[1] == "target" or base_language(run[1]) == target else target,
    )


@cache
def set_files(name: str) -> SetFiles:
    """The files of a test set, which is downloaded if it is not in sacrebleu's folder yet.

    Args:
        name: the set and its language pair, such as ``wmt22/en-de``.

    Raises:
        ConfigError: there is no such set.
        DownloadError: it cannot be downloaded, or what comes is not what sacrebleu expects.
        StorageError: it cannot be written.
    """
    dataset, pair = _dataset(name)
    folder = _folder(dataset)
    if not folder.exists():
        log.info("downloading the test set %s to %s", dataset.name, folder)
    try:
        with _silent_log():
            source = Path(dataset.get_source_file(pair))  # type: ignore[no-untyped-call]
            references = dataset.get_reference_files(pair)  # type: ignore[no-untyped-call]
    except (Exception, SystemExit) as error:  # SystemExit: another digest
        raise _problem(name, dataset, error) from error
    found = SetFiles(source, tuple(sorted(map(Path, references))))
    if len({_count_lines(path) for path in (found.source, *found.references)}) != 1:
        raise DownloadError(f"{name}: {folder} is incomplete; remove it and repeat the command")
    return found


def _dataset(name: str) -> tuple[Dataset, str]:
    """A set of sacrebleu, and one of its language pairs."""
    from sacrebleu.dataset import DATASETS

    set_name, _, pair = name.rpartition("/")
    if not set_name:
        raise ConfigError(
            f"{name!r:.80} has no language pair; name set and pair, such as wmt22/en-de"
        )
    if set_name not in DATASETS:
        raise ConfigError(
            f"sacrebleu has no test set {set_name!r:.80}{instead(set_name, DATASETS, 'sets')}"
        )
    dataset: Dataset = DATASETS[set_name]
    if pair not in dataset.langpairs:
        known = instead(pair, dataset.langpairs, "pairs")
        raise ConfigError(f"the test set {set_name} has no language pair {pair!r:.80}{known}")
    return dataset, pair


def _folder(dataset: Dataset) -> Path:
    from sacrebleu.utils import SACREBLEU_DIR

    return Path(SACREBLEU_DIR, dataset.name)


def _problem(name: str, dataset: Dataset, error: BaseException) -> DragomanError:
    """The error for a failure of sacrebleu, after which nothing unverified is left."""
    folder, reason = _folder(dataset), getattr(error, "reason", error)
    if isinstance(error, (URLError, HTTPException, ConnectionError, TimeoutError)):
        return DownloadError(
            f"{name}: cannot be downloaded ({reason}); check the connection, or copy the folder "
            f"{folder} from a machine where sacrebleu has the set"
        )
    if isinstance(error, OSError) and error.errno not in {None, errno.ENOENT}:
        return StorageError(f"{error.filename or folder}: {error.strerror}; see to it, and repeat")
    _remove_archives(dataset)
    said = "has another MD5 digest" if isinstance(error, SystemExit) else f"is damaged ({error})"
    return DownloadError(
        f"{name}: what was downloaded {' '.join(said.split()):.120}, and was removed; repeat the "
        "command, or upgrade sacrebleu if the set has moved"
    )


def _remove_archives(dataset: Dataset) -> None:
    """Remove what a set is unpacked from, so that it is downloaded again."""
    for path in (_folder(dataset) / "raw").glob(f"{dataset.name.replace('/', '_')}.*"):
        if path.is_file():
            path.unlink()


@contextmanager
def _silent_log() -> Iterator[None]:
    """Keep sacrebleu from reporting by itself what our errors say in one line."""
    logger = logging.getLogger("sacrebleu")
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before


def _count_lines(path: Path) -> int:
    with path.open("rb") as stream:
        return sum(1 for _ in stream)
