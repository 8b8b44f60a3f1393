"""When a translation counts as right; its confidence is the probability of this."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from pydantic import Field

from dragoman.core.config import Config
from dragoman.evaluation.metrics import check_parallel, sentence_chrf


class Criterion(Config):
    """The criterion by which each translation is right or wrong."""

    kind: Literal["chrf", "exact"] = "chrf"
    """`chrf`, that its chrF with the reference is above a bound; `exact`, that it equals the
    reference to the letter."""
    above: float = Field(60.0, ge=0, lt=100)
    """The bound on chrF, from 0 to 100."""

    def conflicts(self) -> Iterator[str]:
        """A bound of what has none."""
        if self.kind == "exact":
            yield from self.unread("with kind: exact", "above")

    def holds(self, translations: Sequence[str], references: Sequence[str]) -> list[bool]:
        """Whether each translation is right."""
        if self.kind == "exact":
            check_parallel(translations, [references])
            pairs = zip(translations, references, strict=True)
            return [translation == reference for translation, reference in pairs]
        return [chrf > self.above for chrf in sentence_chrf(translations, references)]

    def __str__(self) -> str:
        if self.kind == "exact":
            return "equal to the reference"
        return f"chrF above {self.above:g}"
