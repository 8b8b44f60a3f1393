"""Transforms: small changes to the examples of one part of the corpus, in the order listed.

Those without random draws run once, when the corpus is prepared.  From the first random one on,
they run when batches are made, differently in each epoch, as a pure function of (seed, epoch,
line).

A new transform is a class in a file here and a line in :mod:`~dragoman.text.transforms.kinds`.
Other packages add transforms by entry points.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random

from dragoman.text.examples import Example
from dragoman.text.transforms.interface import SharedTransform, TransformConfig
from dragoman.text.transforms.kinds import Transform
from dragoman.text.transforms.sources import SourceByModelConfig

__all__ = [
    "SharedTransform",
    "SourceByModelConfig",
    "Transform",
    "TransformConfig",
    "split_at_first_draw",
    "transformed",
]


def split_at_first_draw(
    transforms: Sequence[Transform],
) -> tuple[list[Transform], list[Transform]]:
    """The transforms that run when the corpus is prepared, and those that run in each epoch."""
    first = next((i for i, one in enumerate(transforms) if one.is_random), len(transforms))
    return list(transforms[:first]), list(transforms[first:])


def transformed(
    example: Example, transforms: Iterable[TransformConfig], rng: Random
) -> Example | None:
    """The example after all ``transforms``; None if one dropped it."""
    made: Example | None = example
    for transform in transforms:
        if made is None:
            return None
        made = transform(made, rng)
    return made
