"""The embedded corpus: numbers, ordinals, dates, times, durations and amounts, written out.

Each row has the same meaning in English, German, French, Spanish and Korean, in words only.  It
needs no download and is exact to score, so the demo, the tests and the documentation train on it.
``studies/synthetic`` in the repository generated it (``python -m studies.synthetic pack``).
"""

from __future__ import annotations

import bz2
from collections.abc import Iterable, Iterator
from importlib.resources import files
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from dragoman.core.errors import ConfigError, DataError
from dragoman.core.files import atomic_write

LANGUAGES = ("en", "de", "fr", "es", "ko")
"""The columns of the corpus."""

ROWS = 22_000
"""Number of rows, over all splits."""

PACKED = "corpus.tsv.bz2"
"""File in this folder with a header, then for each row its kind and a column for each language."""


class Saying(NamedTuple):
    """One meaning in every language."""

    kind: str
    texts: dict[str, str]


class Row(NamedTuple):
    """A saying at its place in a split."""

    id: str
    kind: str
    texts: dict[str, str]


class Splits(NamedTuple):
    """Rows for training, for choosing a model and for testing, without common texts."""

    train: list[Row]
    dev: list[Row]
    test: list[Row]


def read_splits(rows: int, *, dev: int = 1000, test: int = 1000) -> Splits:
    """A part of the corpus.

    All meanings differ, and so do all texts of a language: the texts of dev and test are unseen in
    training.  The same sizes of dev and test give the same dev and test rows for any number of
    training rows.

    Args:
        dev: rows for choosing a model.
        test: rows for measuring it.

    Raises:
        ConfigError: a size is negative, or there are fewer rows than requested.
        DataError: the installed corpus is missing or damaged.
    """
    wanted = rows + dev + test
    if min(rows, dev, test) < 0 or wanted > ROWS:
        raise ConfigError(
            f"embedded corpus of {rows} + {dev} + {test} rows: expected sizes from 0 up to "
            f"{ROWS:,} rows together; ask for fewer, or generate more with studies/synthetic of "
            "the repository"
        )
    return as_splits(islice(_sayings(), wanted), dev=dev, test=test)


def write(directory: Path | str, rows: int, *, dev: int = 1000, test: int = 1000) -> list[Path]:
    """Writes a part of the corpus as ``train.tsv``, ``dev.tsv`` and ``test.tsv``.

    The header names the columns: id, kind, and a column for each of :data:`LANGUAGES`.

    Returns:
        The three files, in that order.

    Raises:
        ConfigError: as :func:`read_splits`.
        DataError: as :func:`read_splits`.
        StorageError: the directory cannot be written.
    """
    return write_splits(directory, read_splits(rows, dev=dev, test=test))


def write_splits(directory: Path | str, splits: Splits) -> list[Path]:
    """Writes given rows as :func:`write` does."""
    paths = []
    for name, split in zip(Splits._fields, splits, strict=True):
        path = Path(directory) / f"{name}.tsv"
        with atomic_write(path) as stream:
            stream.write("\t".join(("id", "kind", *LANGUAGES)) + "\n")
            for row in split:
                texts = (row.texts[language] for language in LANGUAGES)
                stream.write("\t".join((row.id, row.kind, *texts)) + "\n")
        paths.append(path)
    return paths


def as_splits(sayings: Iterable[Saying], *, dev: int, test: int) -> Splits:
    """Sayings as rows: first those of test, then of dev and training."""
    source = iter(sayings)

    def take(split: str, count: int | None) -> list[Row]:
        return [Row(f"{split}-{n}", *one) for n, one in enumerate(islice(source, count), 1)]

    test_rows, dev_rows = take("test", test), take("dev", dev)
    return Splits(train=take("train", None), dev=dev_rows, test=test_rows)


def _sayings() -> Iterator[Saying]:
    path = files(__name__) / PACKED
    try:
        with path.open("rb") as packed, bz2.open(packed, "rt", encoding="utf-8") as lines:
            next(lines)
            for line in lines:
                kind, *texts = line.rstrip("\n").split("\t")
                yield Saying(kind, dict(zip(LANGUAGES, texts, strict=True)))
    except (OSError, EOFError, ValueError, StopIteration) as error:
        raise DataError(
            f"{path}: the embedded corpus is missing or damaged; install Dragoman again"
        ) from error
