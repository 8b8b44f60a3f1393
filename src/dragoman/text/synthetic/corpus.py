"""Rows of the embedded corpus: drawn, said in every language, split and written."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import NamedTuple

from dragoman.core.errors import ConfigError
from dragoman.core.files import atomic_write
from dragoman.text.synthetic.english import English
from dragoman.text.synthetic.french import French
from dragoman.text.synthetic.german import German
from dragoman.text.synthetic.korean import Korean
from dragoman.text.synthetic.meanings import KINDS, Meaning, draw
from dragoman.text.synthetic.spanish import Spanish

_VERBALISERS = (English(), German(), French(), Spanish(), Korean())

LANGUAGES = tuple(verbaliser.language for verbaliser in _VERBALISERS)
"""The columns of the corpus: en, de, fr, es, ko."""

MOST_ROWS = 200_000
"""So many different rows can be drawn quickly; beyond them most draws would be repetitions."""

_TRIES = 20  # draws of one kind before another has its turn


class Row(NamedTuple):
    """One meaning in every language."""

    id: str
    kind: str
    texts: dict[str, str]


class Splits(NamedTuple):
    """Rows to learn from, to choose by and to measure on; no text of one stands in another."""

    train: list[Row]
    dev: list[Row]
    test: list[Row]


def generate(rows: int, seed: int = 1, *, dev: int = 1000, test: int = 1000) -> Splits:
    """Draw a corpus.

    No meaning comes twice, and in no language does a text: whatever stands in dev and test is
    unseen in training.  Dev and test are drawn first, so that they stay the same whatever the
    amount of training rows.  The same arguments give the same corpus (for the same releases of
    Babel and num2words).

    Args:
        rows: training rows.
        seed: of the random draws.
        dev: rows for choosing a model.
        test: rows for measuring it.

    Raises:
        ConfigError: a size is negative, or more rows are asked for than there are to draw.
    """
    if min(rows, dev, test) < 0 or rows + dev + test > MOST_ROWS:
        raise ConfigError(
            f"embedded corpus of {rows} + {dev} + {test} rows: "
            f"expected sizes from 0 up to {MOST_ROWS} rows together; ask for fewer"
        )
    source = _Source(seed)
    test_rows, dev_rows = source.take("test", test), source.take("dev", dev)
    return Splits(train=source.take("train", rows), dev=dev_rows, test=test_rows)


def write(
    directory: Path | str, rows: int, seed: int = 1, *, dev: int = 1000, test: int = 1000
) -> list[Path]:
    """Generate a corpus and write ``train.tsv``, ``dev.tsv`` and ``test.tsv``.

    The header names the columns: id, kind, and a column for each of :data:`LANGUAGES`.

    Returns:
        The three files, in that order.

    Raises:
        ConfigError: as :func:`generate` does.
        StorageError: the directory cannot be written.
    """
    splits = generate(rows, seed, dev=dev, test=test)
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


class _Source:
    """Draws rows, kinds in equal shares, and remembers what it gave."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self._meanings: set[Meaning] = set()
        self._texts: dict[str, set[str]] = {language: set() for language in LANGUAGES}

    def take(self, split: str, count: int) -> list[Row]:
        rows: list[Row] = []
        while len(rows) < count:
            kind = self._random.choice(KINDS)
            # A kind that runs out of new meanings leaves its place to the others.
            for _ in range(_TRIES):
                texts = self._new(draw(kind, self._random))
                if texts is not None:
                    rows.append(Row(f"{split}-{len(rows) + 1}", kind, texts))
                    break
        return rows

    def _new(self, meaning: Meaning) -> dict[str, str] | None:
        """The meaning in every language; None if it or any of its texts came before."""
        if meaning in self._meanings:
            return None
        texts = {verbaliser.language: verbaliser.say(meaning) for verbaliser in _VERBALISERS}
        if any(text in self._texts[language] for language, text in texts.items()):
            return None
        self._meanings.add(meaning)
        for language, text in texts.items():
            self._texts[language].add(text)
        return texts
