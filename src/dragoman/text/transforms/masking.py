"""Denoising: masked or noisy text, from which a model learns to restore the text.

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
from operator import itemgetter
from random import Random
from typing import ClassVar, Literal

from pydantic import Field

from dragoman.core.config import Config
from dragoman.text.examples import Direction, Example, Tag
from dragoman.text.tags import TAG
from dragoman.text.transforms.interface import SharedTransform, TransformConfig

MASK = "<mask>"
"""The symbol for masked text, unless a configuration names another."""
_CHARACTER = re.compile(f"{TAG.pattern}|.", re.DOTALL)


class _MaskingConfig(Config, ABC):
    """What the masking of words and of characters has in common."""

    unit: Literal["words", "characters"] = "words"
    """Unit to mask and count: words, separated by spaces, or characters, for languages written
    without spaces."""
    mask_symbol: Tag = MASK
    """Tag that takes the place of masked text."""

    is_random: ClassVar[bool] = True
    is_for_sets: ClassVar[bool] = True  # the restoration of masked text is measured on masked text

    def symbols(self, direction: Direction) -> Iterator[str]:
        """The mask symbol."""
        yield self.mask_symbol

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
    """Mean span length (Poisson distribution). A span of length 0 inserts a mask between two
    words."""

    uses_target: ClassVar[bool] = False

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
    """Masks a fragment of a sentence, which becomes the target; a different one in each epoch.

    MASS (Song et al. 2019, section 3.2): the source is the sentence with a mask for each word of
    the fragment.  Unlike there, the decoder counts positions from the beginning of the fragment,
    and no word of it is kept or replaced by another.
    """

    kind: Literal["mask_fragment"] = "mask_fragment"
    """Masks a fragment, which becomes the target."""
    masked: float = Field(0.5, gt=0, le=1)
    """Share of the words (or characters) that the fragment covers; it covers at least one."""

    needs_copy: ClassVar[bool] = True  # the sentence is its own source

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


class NoiseConfig(SharedTransform):
    """Drops, masks and shuffles words of the source, differently in each epoch.

    Lample et al. 2018 (arXiv:1711.00043), section 2.3. Words are separated by spaces; at least one
    of them is kept.
    """

    kind: Literal["noise"] = "noise"
    """Noise in the source."""
    drop: float = Field(0.1, ge=0, lt=1)
    """Probability that a word is dropped."""
    mask: float = Field(0.0, ge=0, le=1)
    """Probability that a remaining word becomes `mask_symbol`."""
    mask_symbol: Tag = MASK
    """Tag that a masked word becomes."""
    window: int = Field(3, ge=0)
    """Maximum distance that a word moves; 0 keeps the order."""

    is_random: ClassVar[bool] = True
    uses_target: ClassVar[bool] = False

    def conflicts(self) -> Iterator[str]:
        """Noise that changes nothing."""
        if not (self.drop or self.mask or self.window):
            yield "noise with drop, mask and window 0 changes nothing; remove it or raise one"
        if not self.mask:
            yield from self.unread("with mask: 0", "mask_symbol")

    def symbols(self, direction: Direction) -> Iterator[str]:
        """The mask symbol, if words are masked."""
        if self.mask:
            yield self.mask_symbol

    def __call__(self, example: Example, rng: Random) -> Example:
        """The example with a noisy source."""
        words = example.source.split()
        if not words or not self.draws(rng):
            return example
        kept = [word for word in words if rng.random() >= self.drop]
        kept = kept or [rng.choice(words)]
        kept = [self.mask_symbol if rng.random() < self.mask else word for word in kept]
        if self.window:
            # Lample's permutation: sorted by position plus uniform noise below window + 1.
            places = [place + rng.uniform(0, self.window + 1) for place in range(len(kept))]
            kept = [word for _, word in sorted(zip(places, kept, strict=True), key=itemgetter(0))]
        return example._replace(source=" ".join(kept))


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
