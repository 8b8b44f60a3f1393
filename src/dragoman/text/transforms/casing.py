"""Upper and lower case, for models that should not depend on it."""

from __future__ import annotations

import re
from random import Random
from typing import Literal

from dragoman.text.examples import Direction, Example
from dragoman.text.normalization import normalize
from dragoman.text.tags import TAG
from dragoman.text.transforms.interface import SharedTransform

_TAGS = re.compile(f"({TAG.pattern})")
_OTHER_SIDES = {"source": "target", "target": "source", "both": "both"}


class CaseConfig(SharedTransform):
    """Changes the case of words; tags such as `<t1>` and `<mask>` stay as they are."""

    kind: Literal["case"] = "case"
    """Upper or lower case."""
    to: Literal["lower", "upper", "title"]
    """All letters in lower or upper case, or the first letter of each word in upper case."""
    sides: Literal["source", "target", "both"] = "source"
    """Sides to change."""

    @property
    def uses_target(self) -> bool:
        """Unless only the source changes."""
        return self.sides != "source"

    def reversed(self, direction: Direction) -> CaseConfig:
        """The same change of case, for the text that it always changes."""
        if self.is_random:
            return self
        return self.model_copy(update={"sides": _OTHER_SIDES[self.sides]})

    def __call__(self, example: Example, rng: Random) -> Example:
        """The example with one or both sides in another case."""
        if not self.draws(rng):
            return example
        source, target = example.source, example.target
        if self.sides != "target":
            source = self._changed(source)
        if self.sides != "source":
            target = self._changed(target)
        return example._replace(source=source, target=target)

    def _changed(self, text: str) -> str:
        if self.to == "title":
            text = " ".join(word[:1].upper() + word[1:] for word in text.split())
        else:
            change = str.lower if self.to == "lower" else str.upper
            parts = _TAGS.split(text)
            text = "".join(part if at % 2 else change(part) for at, part in enumerate(parts))
        return normalize(text)  # some letters decompose: "\u0390".upper()
