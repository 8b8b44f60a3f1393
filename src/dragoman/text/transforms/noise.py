"""Noise in the source, for denoising and for robustness."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Literal

from pydantic import Field, field_validator

from dragoman.text.examples import Direction, Example
from dragoman.text.tags import check_tags
from dragoman.text.transforms.interface import SharedTransform
from dragoman.text.transforms.masking import MASK


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
    """Probability that a word which is kept becomes `mask_symbol`."""
    mask_symbol: str = MASK
    """Tag that a masked word becomes."""
    window: int = Field(3, ge=0)
    """Maximum number of places by which a word moves; 0 keeps the order."""

    @field_validator("mask_symbol")
    @classmethod
    def _check_symbol(cls, symbol: str) -> str:
        return check_tags((symbol,))[0]

    def conflicts(self) -> Iterator[str]:
        """Noise that changes nothing."""
        if not (self.drop or self.mask or self.window):
            yield "noise with drop, mask and window 0 changes nothing; remove it or raise one"
        if not self.mask:
            yield from self.unread("with mask: 0", "mask_symbol")

    @property
    def is_random(self) -> bool:
        """Always."""
        return True

    @property
    def uses_target(self) -> bool:
        """Never."""
        return False

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
            kept = [word for _, word in sorted(zip(places, kept, strict=True), key=_place)]
        return example._replace(source=" ".join(kept))


def _place(item: tuple[float, str]) -> float:
    return item[0]
