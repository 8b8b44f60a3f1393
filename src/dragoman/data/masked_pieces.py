"""Batches of one language with masked pieces, for a masked language model.

Devlin et al. 2019, "BERT: Pre-training of Deep Bidirectional Transformers for Language
Understanding" (arXiv:1810.04805), section 3.1; masks differ in each epoch, as in RoBERTa (Liu et
al. 2019, arXiv:1907.11692, section 4.1).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import torch

from dragoman.core.ranges import IntArray
from dragoman.data.batches import Batch
from dragoman.models.interface import TranslationModel
from dragoman.text.vocabularies.vocabulary import EOS, PAD, Vocabulary


@dataclass(frozen=True)
class Masking:
    """How pieces are masked; the defaults are BERT's."""

    mask: int
    """Id of the mask symbol."""
    ordinary: IntArray
    """Ids that may be masked and may replace others: no special pieces and no tags."""
    chosen: float = 0.15
    """Share of a sentence's pieces that are predicted: rounded, and at least one."""
    masked: float = 0.8
    """Probability that a chosen piece becomes the mask symbol."""
    replaced: float = 0.1
    """Probability that a chosen piece becomes a random piece instead; otherwise it is kept."""

    @classmethod
    def of(cls, vocabulary: Vocabulary, symbol: str, *shares: float) -> Masking:
        """Masking by the tag ``symbol`` of a vocabulary.

        Args:
            vocabulary: of the text.
            symbol: such as ``<mask>``.
            shares: :attr:`chosen`, :attr:`masked` and :attr:`replaced`.

        Raises:
            ConfigError: the vocabulary lacks this tag.
        """
        mask = vocabulary.tag(symbol)
        ordinary = np.setdiff1d(np.arange(EOS + 1, len(vocabulary)), vocabulary.tags)
        return cls(mask, ordinary, *shares)

    def __call__(self, batch: Batch, *key: int) -> Batch:
        """The batch with masked sources.

        The masks of a row are a pure function of its pieces, its number and ``key``.

        Args:
            batch: on the CPU; only its source is read.
            key: further numbers from 0 that the masks depend on.

        Returns:
            ``source`` with masks; ``target_output`` with the original piece at each position to
            predict and padding elsewhere, ``(batch, source)``; as ``target_tokens``, their number.
        """
        source = batch.source.numpy()
        masked, gold = source.copy(), np.full_like(source, PAD)
        maskable = np.isin(source, self.ordinary)
        for row, number in enumerate(batch.rows.tolist()):
            places = maskable[row].nonzero()[0]
            if not len(places):
                continue  # only tags
            rng = np.random.default_rng([*key, number])
            count = max(1, round(self.chosen * len(places)))
            places = rng.choice(places, count, replace=False)
            gold[row, places] = source[row, places]
            masked[row, places] = self._replaced(source[row, places], rng)
        output = torch.from_numpy(gold)
        return replace(
            batch,
            source=torch.from_numpy(masked),
            target_input=batch.source,
            target_output=output,
            target_tokens=int((output != PAD).sum()),
        )

    def _replaced(self, pieces: IntArray, rng: np.random.Generator) -> IntArray:
        """The model's input in place of the pieces to predict, ``(pieces,)``."""
        chance = rng.random(len(pieces))
        others = rng.choice(self.ordinary, len(pieces))
        kept = np.where(chance < self.masked + self.replaced, others, pieces)
        return np.where(chance < self.masked, self.mask, kept)


class _Stream(Protocol):
    """The same as :class:`dragoman.training.tasks.Stream`, which this room must not import."""

    def windows(self, epoch: int) -> int:
        pass

    def window(self, epoch: int, window: int, start: int = 0) -> Iterator[list[Batch]]:
        pass

    def completed(self, batch: Batch, model: TranslationModel) -> Batch:
        pass


class MaskedBatches:
    """Batches whose sources are masked, differently in each step.

    Args:
        batches: with unmasked sources.
        masking: symbol and probabilities.
        seed: of the masks.
    """

    def __init__(self, batches: _Stream, masking: Masking, seed: int) -> None:
        self._batches, self._masking, self._seed = batches, masking, seed

    def windows(self, epoch: int) -> int:
        """Number of windows in ``epoch``."""
        return self._batches.windows(epoch)

    def window(self, epoch: int, window: int, start: int = 0) -> Iterator[list[Batch]]:
        """The batches of each step of one window, from step ``start`` on."""
        steps = self._batches.window(epoch, window, start)
        for number, step in enumerate(steps, start):
            place = self._seed, epoch, window, number
            yield [self._masking(batch, *place) for batch in step]

    def completed(self, batch: Batch, model: TranslationModel) -> Batch:
        """The batch as the objective reads it."""
        return self._batches.completed(batch, model)
