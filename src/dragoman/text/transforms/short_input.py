"""Short examples in place of whole sentences: segments of them, or strings that are copied."""

from __future__ import annotations

import string
from random import Random
from typing import ClassVar, Literal

from pydantic import Field

from dragoman.core.relocation import TextPath
from dragoman.text.examples import Example
from dragoman.text.normalization import normalize
from dragoman.text.segments import segment_table
from dragoman.text.transforms.interface import FileTransform, SharedTransform


class SegmentConfig(FileTransform, SharedTransform):
    """Replaces an example by one of its segments: a word or phrase and its translation.

    Then a model learns to translate words and headings as such, instead of continuing them into
    sentences. An example without segments stays as it is.
    """

    kind: Literal["segment"] = "segment"
    """A word or phrase in place of its sentence."""
    file_setting: ClassVar[str] = "segments"
    segments: TextPath
    """File of `dragoman segments`."""
    share: float = Field(0.1, gt=0, le=1)
    """Share of the examples that it changes, different ones in each epoch."""

    is_random: ClassVar[bool] = True  # it draws one of the segments

    def __call__(self, example: Example, rng: Random) -> Example:
        """The example, or one of its segments."""
        if not self.draws(rng):
            return example
        found = segment_table(self.segments).within(example.source, example.target)
        if not found:
            return example
        source, target = rng.choice(found)
        return example._replace(source=normalize(source), target=normalize(target))


class PassThroughConfig(SharedTransform):
    """Replaces an example by a made-up number, time, date or code, the same on both sides.

    Only what is written alike in all languages is made: whole numbers, times such as 14:05, dates
    such as 2024-11-05, versions such as 2.14.1, and codes such as AX-201.
    """

    kind: Literal["pass_through"] = "pass_through"
    """A number or code that is copied."""
    share: float = Field(0.02, gt=0, le=1)
    """Share of the examples that it changes, different ones in each epoch."""

    is_random: ClassVar[bool] = True  # it draws the copied string
    is_for_sets: ClassVar[bool] = True  # each line has the same string in every run

    def __call__(self, example: Example, rng: Random) -> Example:
        """The example, or a string to copy."""
        if not self.draws(rng):
            return example
        made = rng.choice(_MAKERS)(rng)
        return example._replace(source=made, target=made)


def _number(rng: Random) -> str:
    return str(rng.randrange(10 ** rng.randint(1, 6)))


def _time(rng: Random) -> str:
    return f"{rng.randrange(24):02}:{rng.randrange(60):02}"


def _date(rng: Random) -> str:
    return f"{rng.randint(1900, 2099)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"


def _version(rng: Random) -> str:
    return ".".join(str(rng.randrange(30)) for _ in range(rng.randint(2, 4)))


def _code(rng: Random) -> str:
    letters = "".join(rng.choices(string.ascii_uppercase, k=rng.randint(1, 3)))
    return f"{letters}{rng.choice(['', '-'])}{rng.randrange(10 ** rng.randint(1, 4))}"


_MAKERS = (_number, _time, _date, _version, _code)
