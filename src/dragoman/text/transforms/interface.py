"""The interface of all transforms."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any, ClassVar

from pydantic import Field
from typing_extensions import override

from dragoman.core.config import Config
from dragoman.text.examples import Direction, Example


class TransformConfig(Config):
    """A small change to the examples of one part of the corpus.

    What it does is a pure function of the example and of what it draws, so that a resumed run sees
    the same examples as an uninterrupted one.
    """

    kind: str
    """Name of its entry point in the group `dragoman.transforms`."""

    @property
    def is_random(self) -> bool:
        """Whether it draws random numbers, and so differs from epoch to epoch."""
        return False

    @property
    def can_drop(self) -> bool:
        """Whether it may drop an example."""
        return False

    @property
    def uses_target(self) -> bool:
        """Whether it reads or changes the target. If not, it may be given an empty target."""
        return True

    @property
    def makes_source(self) -> bool:
        """Whether it gives a source to examples that have none."""
        return False

    @property
    def is_for_sets(self) -> bool:
        """Whether a dev or test set may have it. If random, it then draws once for each line."""
        return not self.is_random

    def for_sets(self) -> TransformConfig | None:
        """The transform for a dev set of the same text, or None."""
        return self if self.is_for_sets else None

    @property
    def needs_copy(self) -> bool:
        """Whether it works on text that is its own source, made by ``copy`` before it."""
        return False

    @property
    def cuts_off_source(self) -> bool:
        """Whether nothing that reads the source learns from its examples."""
        return False

    @property
    def zeroes_source(self) -> bool:
        """Whether the decoder, as well as the encoder, reads zeros in place of the source."""
        return False

    @property
    def source_by_model(self) -> bool:
        """Whether the source of its examples is made later, by the model that learns from them."""
        return False

    @property
    def reads_languages(self) -> bool:
        """Whether its changes depend on the languages of its part, and not on text alone."""
        return False

    def files(self) -> Sequence[Path]:
        """Files that it reads besides the corpus. Changes to their content change the text."""
        return ()

    def text_settings(self) -> dict[str, Any]:
        """The settings that the changed text depends on, if it runs before training."""
        return self.model_dump(mode="json", exclude={"from_epoch"})

    def runs_in(self, epoch: int) -> bool:
        """Whether it may change examples in an epoch, counted from 0."""
        return True

    def symbols(self, direction: Direction) -> Iterator[str]:
        """Tags that it may write; the vocabulary needs them."""
        yield from ()

    def redirected(self, direction: Direction) -> Direction:
        """The direction that examples of ``direction`` always have afterwards."""
        return direction

    def reversed(self, direction: Direction) -> TransformConfig | None:
        """The corresponding transform for the same pairs with their sides exchanged, or None.

        A transform that always changes the text of one language moves with it to the other side.  A
        random transform is noise for the model and stays on its side.

        Args:
            direction: that of its part, before the exchange.
        """
        return self

    @abstractmethod
    def __call__(self, example: Example, rng: Random) -> Example | None:
        """The changed example, or None to drop it.

        Args:
            example: normalised, as the result must be.
            rng: seeded for this example and epoch; used only if :attr:`is_random`.
        """


class SharedTransform(TransformConfig):
    """A transform that may change only a share of the examples."""

    share: float = Field(1.0, gt=0, le=1)
    """Share of the examples that it changes; below 1, different ones in each epoch."""
    from_epoch: int = Field(0, ge=0)
    """The first epoch in which it changes examples, counted from 0."""

    @property
    def is_random(self) -> bool:
        """True if the share is below 1, or some epochs are without it."""
        return self.share < 1 or self.from_epoch > 0

    @override
    def runs_in(self, epoch: int) -> bool:
        return epoch >= self.from_epoch

    def draws(self, rng: Random) -> bool:
        """Whether this example is among the share."""
        return self.share == 1 or rng.random() < self.share


class FileTransform(TransformConfig):
    """A transform that reads a file whose entries are of one direction."""

    file_setting: ClassVar[str]
    """Name of the setting with the path of the file."""

    @override
    def files(self) -> list[Path]:
        return [Path(getattr(self, self.file_setting))]

    @override
    def text_settings(self) -> dict[str, Any]:  # the content of the file is compared, not its path
        return self.model_dump(mode="json", exclude={self.file_setting, "from_epoch"})

    @override
    def reversed(self, direction: Direction) -> TransformConfig | None:
        return None
