"""Rows of the embedded corpus, drawn and said in every language."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from random import Random

from dragoman.core.errors import ConfigError
from dragoman.text.synthetic import Saying, Splits, as_splits
from studies.synthetic.english import English
from studies.synthetic.french import French
from studies.synthetic.german import German
from studies.synthetic.korean import Korean
from studies.synthetic.meanings import KINDS, Meaning, draw
from studies.synthetic.spanish import Spanish

_VERBALISERS = (English(), German(), French(), Spanish(), Korean())

MOST_ROWS = 200_000
"""This many different rows can be drawn quickly; beyond that, most draws would be repetitions."""

_TRIES = 20  # draws of one kind before another has its turn


def sayings(seed: int) -> Iterator[Saying]:
    """Draw endlessly, kinds in equal shares.

    No meaning comes twice, and in no language does a text.  The same seed gives the same sayings
    (for the same releases of Babel and num2words).
    """
    random, new = Random(seed), _New()
    while True:
        kind = random.choice(KINDS)
        # A kind that runs out of new meanings gives way to the others.
        for _ in range(_TRIES):
            texts = new.texts(draw(kind, random))
            if texts is not None:
                yield Saying(kind, texts)
                break


def generate(rows: int, seed: int = 1, *, dev: int = 1000, test: int = 1000) -> Splits:
    """Draw a corpus: with seed 1 that of ``dragoman.text.synthetic``, of any size.

    Args:
        rows: training rows.
        seed: seed of the random draws.
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
    return as_splits(islice(sayings(seed), rows + dev + test), dev=dev, test=test)


class _New:
    """Says meanings in every language, and remembers what was said."""

    def __init__(self) -> None:
        self._meanings: set[Meaning] = set()
        self._texts: dict[str, set[str]] = {speaker.language: set() for speaker in _VERBALISERS}

    def texts(self, meaning: Meaning) -> dict[str, str] | None:
        """The meaning by language; None if it or any of its texts came before."""
        if meaning in self._meanings:
            return None
        texts = {speaker.language: speaker.say(meaning) for speaker in _VERBALISERS}
        if any(text in self._texts[language] for language, text in texts.items()):
            return None
        self._meanings.add(meaning)
        for language, text in texts.items():
            self._texts[language].add(text)
        return texts
