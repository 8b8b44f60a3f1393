"""Masked text, from which a model learns to restore the gaps: pre-training by span masking.

Lewis et al. 2020, "BART: Denoising Sequence-to-Sequence Pre-training for Natural Language
Generation, Translation, and Comprehension" (arXiv:1910.13461), section 2.2; Song et al. 2019,
"MASS: Masked Sequence to Sequence Pre-training for Language Generation" (arXiv:1905.02450), section
3.2.  Both papers mask pieces of a vocabulary. Here words or characters are masked.
"""

from __future__ import annotations

import math
import re
import unicodedata
from abc import ABC
from collections.abc import Iterator, Sequence
from random import Random
from typing import Literal

from pydantic import Field, field_validator

from dragoman.core.config import Config
from dragoman.text.examples import Direction, Example
from dragoman.text.tags import TAG, check_tags
from dragoman.text.transforms.interface import SharedTransform, TransformConfig

MASK = "<mask>"
"""The symbol for masked text, unless a configuration names another."""
_CHARACTER = re.compile(f"{TAG.pattern}|.", re.DOTALL)


class _MaskingConfig(Config, ABC):
    """What the masking of words and of characters has in common."""

    unit: Literal["words", "characters"] = "words"
    """What is masked and counted: words, which are separated by spaces, or characters, for
    languages that are written without spaces."""
    mask_symbol: str = MASK
    """Tag that takes the place of masked text."""

    @field_validator("mask_symbol")
    @classmethod
    def _check_symbol(cls, symbol: str) -> str:
        return check_tags((symbol,))[0]

    def symbols(self, direction: Direction) -> Iterator[str]:
        """The mask symbol."""
        yield self.mask_symbol

    @property
    def is_random(self) -> bool:
        """Always."""
        return True

    @property
    def is_for_sets(self) -> bool:
        """Always, since the restoration of masked text is measured on masked text."""
        return True

    def _split(self, text: str) -> list[str]:
        """The units of a text; a character keeps the space before it."""
        return text.split() if self.unit == "words" else _characters(text)

    def _joined(self, units: Sequence[str]) -> str:
        return (" " if self.unit == "words" else "").join(units).strip()

    def _mask_of(self, span: Sequence[str]) -> str:
        """The mask of a span, with the space before its first character."""
        begins_word = self.unit == "characters" and bool(span) and span[0][0].isspace()
        return f" {self.mask_symbol}" if begins_word else self.mask_symbol


class MaskSpansConfig(_MaskingConfig, SharedTransform):
    """Replaces spans of the source by one mask each, differently in each epoch.

    Text infilling of BART (Lewis et al. 2020, section 2.2): the target remains whole.
    """

    kind: Literal["mask_spans"] = "mask_spans"
    """Masks spans of the source."""
    masked: float = Field(0.3, gt=0, le=1)
    """Share of the words (or characters) that are masked."""
    mean_length: float = Field(3.0, ge=0.5, le=50)
    """Mean of the Poisson distribution of span lengths. A span of length 0 is a mask that is
    inserted between two words."""

    @property
    def uses_target(self) -> bool:
        """Never."""
        return False

    def __call__(self, example: Example, rng: Random) -> Example:
        """The example with masks in its source."""
        units = self._split(example.source)
        if not units or not self.draws(rng):
            return example
        count = _rounded(self.masked * len(units), rng)
        lengths = self._lengths(count, rng)
        kept = len(units) - count
        # All orders of spans and kept words are equally likely.
        spans = set(rng.sample(range(kept + len(lengths)), len(lengths)))
        found, place, remaining = [], 0, iter(lengths)
        for item in range(kept + len(lengths)):
            length = next(remaining) if item in spans else 1
            span = units[place : place + length]
            found.append(self._mask_of(span) if item in spans else span[0])
            place += length
        return example._replace(source=self._joined(found))

    def _lengths(self, count: int, rng: Random) -> list[int]:
        """Lengths of spans that mask ``count`` units in total; the last span is cut."""
        lengths: list[int] = []
        while count:
            lengths.append(min(count, _poisson(self.mean_length, rng)))
            count -= lengths[-1]
        rng.shuffle(lengths)
        return lengths


class MaskFragmentConfig(_MaskingConfig, TransformConfig):
    """Masks one fragment of a sentence, which becomes the target, differently in each epoch.

    MASS (Song et al. 2019, section 3.2): the source is the sentence with a mask for each word of
    the fragment.  Unlike there, the decoder counts positions from the beginning of the fragment,
    and no word of it is kept or replaced by another.
    """

    kind: Literal["mask_fragment"] = "mask_fragment"
    """Masks a fragment, which becomes the target."""
    masked: float = Field(0.5, gt=0, le=1)
    """Share of the words (or characters) that the fragment covers; it covers at least one."""

    @property
    def needs_copy(self) -> bool:
        """Always: the sentence is its own source."""
        return True

    def __call__(self, example: Example, rng: Random) -> Example:
        """The example with a fragment as its target, and the rest of the sentence as its source."""
        units = self._split(example.target)
        if not units:
            return example
        length = max(1, _rounded(self.masked * len(units), rng))
        start = rng.randrange(len(units) - length + 1)
        fragment = units[start : start + length]
        masks = [self._mask_of([unit]) for unit in fragment]
        source = self._joined([*units[:start], *masks, *units[start + length :]])
        return example._replace(source=source, target=self._joined(fragment))


def _rounded(wanted: float, rng: Random) -> int:
    """``wanted`` randomly rounded up or down, with ``wanted`` as the mean."""
    return int(wanted) + (rng.random() < wanted % 1)


def _characters(text: str) -> list[str]:
    """The characters of a text, each with the space before it and its combining marks.

    Separate marks could combine with the end of a mask symbol.  A symbol such as ``<mask>`` counts
    as one character, since its parts mean nothing.
    """
    found: list[str] = []
    space = ""
    for character in _CHARACTER.findall(text):
        if character.isspace():
            space = character
        elif found and not space and unicodedata.category(character[0]).startswith("M"):
            found[-1] += character
        else:
            found.append(space + character)
            space = ""
    return found


def _poisson(mean: float, rng: Random) -> int:
    """A number of the Poisson distribution (Knuth, The Art of Computer Programming 2, 3.4.1)."""
    limit, product, number = math.exp(-mean), rng.random(), 0
    while product > limit:
        product *= rng.random()
        number += 1
    return number
