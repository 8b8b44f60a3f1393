"""A masked language model: the encoder learns to predict hidden pieces.

Devlin et al. 2019, "BERT: Pre-training of Deep Bidirectional Transformers for Language
Understanding" (arXiv:1810.04805), section 3.1.  For the set M of chosen pieces of a sentence x,
which the encoder reads with masks as x',

    loss = - sum over i in M of log p(x_i | x'),    p = softmax(output layer of the encoder at i).

The output layer is the decoder's own; BERT has a further layer before it.  The decoder itself
is neither read nor changed.  Masks differ in each epoch, as in RoBERTa (Liu et al. 2019,
arXiv:1907.11692, section 4.1).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor
from typing_extensions import override

from dragoman.core.errors import ConfigError
from dragoman.core.ranges import IntArray
from dragoman.data.batches import Batch
from dragoman.models.interface import FamilyConfig, TranslationModel
from dragoman.text.examples import Tag
from dragoman.text.transforms.masking import MASK
from dragoman.text.vocabularies import EOS, PAD, Vocabularies, Vocabulary
from dragoman.training.objectives.chunks import chunked_backward
from dragoman.training.objectives.cross_entropy import per_token, smoothed_cross_entropy
from dragoman.training.objectives.interface import ObjectiveConfig
from dragoman.training.tasks import Stream


class MaskedLMConfig(ObjectiveConfig):
    """A masked language model of the source, to initialise translators (Devlin et al. 2019)."""

    kind: Literal["masked_lm"] = "masked_lm"
    """Selects this objective."""
    chosen: float = Field(0.15, gt=0, le=1)
    """Share of a sentence's pieces that the encoder learns to predict; at least one."""
    masked: float = Field(0.8, ge=0, le=1)
    """Probability that such a piece is read as `mask_symbol`."""
    replaced: float = Field(0.1, ge=0, le=1)
    """Probability that it is read as a random piece; otherwise it is read as it is."""
    mask_symbol: Tag = MASK
    """Tag that is read instead of a piece; the vocabulary gets it automatically."""

    translates: ClassVar[bool] = False

    def conflicts(self) -> Iterator[str]:
        """Probabilities above 1 in total, and settings that hide nothing."""
        if self.masked + self.replaced > 1:
            yield f"masked {self.masked} and replaced {self.replaced} are more than 1 together"
        if not self.masked + self.replaced:
            yield "with masked and replaced 0 nothing is hidden; raise one"

    def symbols(self) -> Iterator[str]:
        """The mask symbol."""
        yield self.mask_symbol

    def unfit(self, model: FamilyConfig) -> Iterator[str]:
        """Models without an encoder, or whose encoder does not fit the output layer."""
        width = model.encoder_width
        if width is None:
            yield (
                "masked_lm trains an encoder, and this model has none of its own; choose a family "
                "with encoder and decoder"
            )
        elif width != model.d_model:
            yield (
                f"masked_lm needs an encoder as wide as the output layer, and {width} is not "
                f"d_model {model.d_model}; set model.bidirectional to none or alternating"
            )

    def reading(self, stream: Stream, vocabularies: Vocabularies, seed: int) -> Stream:
        """The batches of ``stream`` with masked sources."""
        if not vocabularies.joint:
            raise ConfigError(
                "training.objective: masked_lm predicts pieces of the source by the output layer, "
                "which needs a joint vocabulary; set vocabulary.joint: true"
            )
        shares = self.chosen, self.masked, self.replaced
        masking = Masking.of(vocabularies.source, self.mask_symbol, *shares)
        return MaskedBatches(stream, masking, seed)

    @override
    def build(self, smoothing: float, model: FamilyConfig) -> MaskedLM:
        return MaskedLM(smoothing)


@dataclass(frozen=True)
class MaskedLM:
    """Label-smoothed cross-entropy of the pieces behind the masks, from the encoder alone.

    The ``target_output`` of a batch has the piece to predict at each source position, or padding.
    Totals: ``loss``, the minimised sum; ``nll``, negative log-likelihood in nats; ``tokens``,
    predicted pieces.
    """

    smoothing: float
    """Label smoothing: probability mass spread evenly over all pieces."""
    totals = ("loss", "nll", "tokens")

    def backward(
        self, model: TranslationModel, batch: Batch, scale: float = 1.0
    ) -> Mapping[str, Tensor]:
        """Gradients and totals of a batch; see :class:`~dragoman.training.tasks.Objective`."""
        chosen = batch.target_output != PAD  # (batch, source)
        states = model.encoder_states(batch.source, batch.source_mask)
        is_empty = not chosen.any()  # sentences of tags alone
        if is_empty:  # a pass with weight 0, as a pass may be a collective of all processes
            chosen[0, 0], scale = True, 0.0
        hidden = states[chosen]  # (positions, d_model)
        gold = batch.target_output[chosen]

        def loss(part: Tensor, rows: slice) -> tuple[Tensor, Tensor]:
            return smoothed_cross_entropy(model.logits(part), gold[rows], self.smoothing)

        smoothed, nll = chunked_backward(hidden, model, loss, scale=scale)
        if is_empty:
            return dict.fromkeys(self.totals, nll.new_zeros(()))
        return {"loss": smoothed, "nll": nll, "tokens": nll.new_tensor(batch.target_tokens)}

    def figures(self, totals: Mapping[str, float]) -> dict[str, float]:
        """Loss and negative log-likelihood per predicted piece, and perplexity."""
        return per_token(totals)


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


class MaskedBatches:
    """Batches whose sources are masked, differently in each step.

    Args:
        batches: with unmasked sources.
        masking: symbol and probabilities.
        seed: of the masks.
    """

    def __init__(self, batches: Stream, masking: Masking, seed: int) -> None:
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
