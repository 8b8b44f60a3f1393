"""Filters for one part of the corpus, in addition to the cleaning that applies to all parts."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any, ClassVar, Literal

from pydantic import Field

from dragoman.text.examples import Example
from dragoman.text.transforms.interface import TransformConfig


class FilterConfig(TransformConfig):
    """Keeps some of the examples."""

    kind: Literal["filter"] = "filter"
    """Drops examples outside the bounds."""
    first_line: int = Field(1, ge=1)
    """First line of the file to keep."""
    last_line: int | None = Field(None, ge=1)
    """Last line of the file to keep; by default, the end of the file."""
    every: int = Field(1, ge=1)
    """Keep one line in this many, from `first_line` on, for a small corpus drawn from all of a
    large one."""
    min_words: int = Field(1, ge=1)
    """Minimum words per side; words are separated by spaces."""
    max_words: int | None = Field(None, ge=1)
    """Maximum words per side; by default, there is no limit."""

    can_drop: ClassVar[bool] = True  # examples out of bounds are dropped

    def conflicts(self) -> Iterator[str]:
        """Bounds that leave nothing, or everything."""
        if self.last_line is not None and self.last_line < self.first_line:
            yield f"last_line {self.last_line} is before first_line {self.first_line}"
        if self.max_words is not None and self.max_words < self.min_words:
            yield f"max_words {self.max_words} is less than min_words {self.min_words}"
        bounds = self.first_line, self.last_line, self.every, self.min_words, self.max_words
        if bounds == (1, None, 1, 1, None):
            yield "a filter without bounds keeps everything; set one of them or remove it"

    def text_settings(self) -> dict[str, Any]:
        """Its bounds, with ``every`` only if set, so that earlier prepared text stays valid."""
        return self.model_dump(mode="json", exclude={"every"} if self.every == 1 else None)

    def __call__(self, example: Example, rng: Random) -> Example | None:
        """The example, or None if it is out of bounds."""
        line = example.origin.line
        if line < self.first_line or (self.last_line is not None and line > self.last_line):
            return None
        if (line - self.first_line) % self.every:
            return None
        sides = [len(text.split()) for text in (example.source, example.target) if text]
        if not sides or min(sides) < self.min_words:
            return None
        return None if self.max_words is not None and max(sides) > self.max_words else example
