"""Sources for text that has none: a copy of the target, or a symbol without meaning."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any, Literal

from pydantic import field_validator

from dragoman.text.examples import Direction, Example
from dragoman.text.tags import check_tags
from dragoman.text.transforms.interface import TransformConfig


class CopyConfig(TransformConfig):
    """Copies the target to the source of text in one language (Currey et al. 2017)."""

    kind: Literal["copy"] = "copy"
    """The target as its own source."""

    @property
    def makes_source(self) -> bool:
        """The target's words."""
        return True

    def redirected(self, direction: Direction) -> Direction:
        """From the target language into itself."""
        return direction.model_copy(update={"source_language": direction.target_language})

    def __call__(self, example: Example, rng: Random) -> Example:
        """The example with its target as the source."""
        return example._replace(source=example.target, source_language=example.target_language)


class DummySourceConfig(TransformConfig):
    """Gives text in one language a source without content.

    Sennrich et al. 2016 (arXiv:1511.06709), section 3.1.
    """

    kind: Literal["dummy_source"] = "dummy_source"
    """A symbol as the source."""
    symbol: str = "<null>"
    """Tag that is the whole source."""
    cut_off: bool = False
    """Whether only the target side learns from these sentences, as in the paper: no gradient
    reaches the encoder, the lookups of source pieces and the attention over the source."""

    @field_validator("symbol")
    @classmethod
    def _check_symbol(cls, symbol: str) -> str:
        return check_tags((symbol,))[0]

    @property
    def uses_target(self) -> bool:
        """Never."""
        return False

    @property
    def makes_source(self) -> bool:
        """A symbol."""
        return True

    @property
    def cuts_off_source(self) -> bool:
        """As :attr:`cut_off` says."""
        return self.cut_off

    def text_settings(self) -> dict[str, Any]:
        """All but :attr:`cut_off`, which changes what is learned and no text."""
        return self.model_dump(mode="json", exclude={"cut_off"})

    def symbols(self, direction: Direction) -> Iterator[str]:
        """The dummy."""
        yield self.symbol

    def redirected(self, direction: Direction) -> Direction:
        """The direction with the symbol as a tag."""
        return direction.model_copy(update={"tags": (*direction.tags, self.symbol)})

    def __call__(self, example: Example, rng: Random) -> Example:
        """The example with the symbol for a source."""
        return example._replace(source="", tags=(*example.tags, self.symbol))
