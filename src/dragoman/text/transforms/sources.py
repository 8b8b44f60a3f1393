"""Sources for text without: a copy, a symbol without meaning, or the model's translation."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any, ClassVar, Literal

from pydantic import Field

from dragoman.text.examples import Direction, Example, Tag
from dragoman.text.transforms.interface import TransformConfig


class CopyConfig(TransformConfig):
    """For text in one language: copies the target to the source (Currey et al. 2017)."""

    kind: Literal["copy"] = "copy"
    """The target as its own source."""

    makes_source: ClassVar[bool] = True  # the words of the target

    def redirected(self, direction: Direction) -> Direction:
        """The direction from the target language into itself."""
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
    symbol: Tag = "<null>"
    """Tag that is the whole source."""
    cut_off: bool | Literal["zero"] = False
    """Whether only the target side learns from these sentences: no gradient reaches the encoder,
    the embedding lookups of source pieces or the attention over the source. With true, as in the
    paper, the decoder reads the encoding of the symbol; with zero, it reads zeros in its place."""

    uses_target: ClassVar[bool] = False
    makes_source: ClassVar[bool] = True  # a symbol

    @property
    def cuts_off_source(self) -> bool:
        """Whether :attr:`cut_off` is set."""
        return bool(self.cut_off)

    @property
    def zeroes_source(self) -> bool:
        """Whether :attr:`cut_off` is ``zero``."""
        return self.cut_off == "zero"

    def text_settings(self) -> dict[str, Any]:
        """All settings except :attr:`cut_off`, which changes learning but no text."""
        return self.model_dump(mode="json", exclude={"cut_off"})

    def symbols(self, direction: Direction) -> Iterator[str]:
        """The dummy symbol."""
        yield self.symbol

    def redirected(self, direction: Direction) -> Direction:
        """The direction with the symbol as a tag."""
        return direction.model_copy(update={"tags": (*direction.tags, self.symbol)})

    def __call__(self, example: Example, rng: Random) -> Example:
        """The example with the symbol for a source."""
        return example._replace(source="", tags=(*example.tags, self.symbol))


class SourceByModelConfig(TransformConfig):
    """Takes as the source a translation of the target by the model's current weights.

    On-line back-translation: Artetxe et al. 2018 (arXiv:1710.11041), section 3.2; Lample et al.
    2018 (arXiv:1711.00043), section 2.4. In a dev or test set, the model that is scored
    translates, and what it is scored on is a round trip.
    """

    kind: Literal["back_translation"] = "back_translation"
    """A translation of the target by the model itself, with its current weights at every step."""
    temperature: float = Field(0.0, ge=0, le=100)
    """Sampling temperature in training; 0 takes the likeliest piece at every position (greedy
    search)."""
    extra_length: int = Field(10, ge=0, le=10_000)
    """Maximum length in training: this many pieces more than the sentence that is translated."""
    own_pieces: float = Field(0.0, ge=0, le=1)
    """In training, a piece is generated only if it is frequent enough in training text of the
    translation's language: at least this share as frequent as in the other language. So words
    that only the other language has cannot be copied. 0 allows all pieces."""

    uses_target: ClassVar[bool] = False  # only the model reads the target, later
    makes_source: ClassVar[bool] = True  # the translation
    source_by_model: ClassVar[bool] = True

    def text_settings(self) -> dict[str, Any]:
        """No settings, since none changes the stored text, a source without words."""
        return {"kind": self.kind}

    def __call__(self, example: Example, rng: Random) -> Example:
        """The example itself, whose source has no words yet."""
        return example
