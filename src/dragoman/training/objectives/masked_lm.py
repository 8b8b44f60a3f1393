"""A masked language model: the encoder learns to predict hidden pieces.

Devlin et al. 2019, "BERT: Pre-training of Deep Bidirectional Transformers for Language
Understanding" (arXiv:1810.04805), section 3.1.  For the set M of chosen pieces of a sentence x,
which the encoder reads with masks as x',

    loss = - sum over i in M of log p(x_i | x'),    p = softmax(output layer of the encoder at i).

The output layer is the decoder's own; BERT has a further layer before it.  The decoder itself
is neither read nor changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from pydantic import Field, field_validator
from torch import Tensor
from typing_extensions import override

from dragoman.core.errors import ConfigError
from dragoman.data.batches import Batch
from dragoman.data.masked_pieces import MaskedBatches, Masking
from dragoman.models.interface import FamilyConfig, TranslationModel
from dragoman.text.tags import check_tags
from dragoman.text.transforms.masking import MASK
from dragoman.text.vocabularies.saved_vocabularies import Vocabularies
from dragoman.text.vocabularies.vocabulary import PAD
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
    mask_symbol: str = MASK
    """Tag that is read instead of a piece; it is added to the vocabulary automatically."""

    translates: ClassVar[bool] = False

    @field_validator("mask_symbol")
    @classmethod
    def _check_symbol(cls, symbol: str) -> str:
        return check_tags((symbol,))[0]

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
