"""Guided alignment: a head of attention over the source learns given word alignments.

Chen et al. 2016, "Guided Alignment Training for Topic-Aware Neural Machine Translation"
(arXiv:1607.01628), section 3.2; one head of one layer as in Garg et al. 2019, "Jointly Learning to
Align and Translate with Transformer Models" (arXiv:1909.02074), section 4.2, without their second
pass over the whole target.  For a head that gives the source piece ``s`` the weight ``a(s | t)``
while the target piece ``t`` is predicted, and the links ``A(t)`` of ``t``,

    loss = cross-entropy  -  weight * sum over linked t of mean over s in A(t) of log a(s | t).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor
from typing_extensions import override

from dragoman.data.batches import Batch
from dragoman.models.interface import FamilyConfig, TranslationModel
from dragoman.text.vocabularies import PAD
from dragoman.training.objectives.chunks import chunked_backward
from dragoman.training.objectives.cross_entropy import (
    CrossEntropy,
    per_token,
    smoothed_cross_entropy,
)
from dragoman.training.objectives.interface import ObjectiveConfig


class GuidedAlignmentConfig(ObjectiveConfig):
    """Cross-entropy, while a head of attention learns given word alignments (Chen et al. 2016)."""

    kind: Literal["guided_alignment"] = "guided_alignment"
    """Selects this objective."""
    weight: float = Field(0.05, gt=0)
    """Weight of a target token's alignment loss, relative to its cross-entropy; 0.05 in Garg et al.
    2019."""
    layer: int | None = Field(None, ge=1)
    """Layer whose first head of attention over the source learns the alignments, counted from 1
    among layers with such attention. By default the last but one (Garg et al. 2019), or the only
    one."""

    reads_alignments: ClassVar[bool] = True

    def unfit(self, model: FamilyConfig) -> Iterator[str]:
        """Models without attention over the source, or without that layer."""
        if not model.attention_layers:
            yield "guided_alignment needs attention over the source, which this model lacks"
        elif model.components and set(model.components) == set(model.frozen_components):
            yield (
                "guided_alignment needs attention that learns, and here "
                f"{' and '.join(model.components)} do not; set model.train: translation"
            )
        elif self.layer is not None and self.layer > model.attention_layers:
            yield (
                f"layer {self.layer}: this model has {model.attention_layers} layers with "
                "attention over the source"
            )

    @override
    def build(self, smoothing: float, model: FamilyConfig) -> GuidedAlignment:
        layer = self.layer or max(1, model.attention_layers - 1)
        return GuidedAlignment(smoothing, self.weight, layer - 1)


@dataclass(frozen=True)
class GuidedAlignment:
    """Label-smoothed cross-entropy, and the deviation of an attention head from given alignments.

    For a batch without alignments it is cross-entropy alone.  Totals: ``loss``, the minimised
    sum; ``nll``, negative log-likelihood in nats; ``alignment``, the negative log-probability of
    linked source pieces in nats; ``linked``, target tokens with a link; ``tokens``.
    """

    smoothing: float
    """Label smoothing: probability mass spread evenly over all pieces."""
    weight: float
    """Weight of the alignment loss of a target token relative to its cross-entropy."""
    layer: int
    """The layer whose first head learns alignments, from 0."""
    totals = ("loss", "nll", "alignment", "linked", "tokens")

    def backward(
        self, model: TranslationModel, batch: Batch, scale: float = 1.0
    ) -> Mapping[str, Tensor]:
        """Gradients and totals of a batch; see :class:`~dragoman.training.tasks.Objective`."""
        if batch.alignments is None:
            plain = CrossEntropy(self.smoothing).backward(model, batch, scale)
            nothing = plain["nll"].new_zeros(())
            return {**plain, "alignment": nothing, "linked": nothing}
        memory = model.encode(batch.source, batch.source_mask)
        hidden, looks = model.decode_attending(batch.target_input, memory, self.layer)
        # (batch, layers, heads, target, source) -> (batch, target, source)
        alignment = alignment_loss(looks[:, 0, 0], batch.alignments)
        real = batch.target_output != PAD
        gold = batch.target_output[real]
        auxiliary = alignment * (self.weight / len(gold))
        if (others := model.auxiliary_loss(batch.source_mask, real)) is not None:
            auxiliary = auxiliary + others

        def loss(part: Tensor, rows: slice) -> tuple[Tensor, Tensor]:
            return smoothed_cross_entropy(model.logits(part), gold[rows], self.smoothing)

        smoothed, nll = chunked_backward(
            hidden[real], model, loss, scale=scale, auxiliary=auxiliary
        )
        return {
            "loss": smoothed,
            "nll": nll,
            "alignment": alignment.detach(),
            "linked": batch.alignments.any(-1).sum(),
            "tokens": nll.new_tensor(batch.target_tokens),
        }

    def figures(self, totals: Mapping[str, float]) -> dict[str, float]:
        """Loss and likelihood per token, perplexity, and ``alignment`` per token with a link."""
        others = {name: total for name, total in totals.items() if name != "linked"}
        alignment = totals["alignment"] / max(1.0, totals["linked"])
        return per_token(others) | {"alignment": alignment}


def alignment_loss(weights: Tensor, linked: Tensor) -> Tensor:
    """Negative log-probability of the linked source pieces, summed over linked target pieces.

    For a target piece linked to several source pieces, it is the mean over these.

    Args:
        weights: of attention, ``(batch, target, source)``, any float type; summed in float32 or
            better.
        linked: bool, of the same shape.
    """
    accurate = torch.promote_types(weights.dtype, torch.float32)
    # A softmax may underflow to 0, whose logarithm has no usable gradient.
    smallest = torch.finfo(accurate).tiny
    log_weights = weights.to(accurate).clamp_min(smallest).log()  # (batch, target, source)
    shares = linked / linked.sum(-1, keepdim=True).clamp_min(1)
    return -(shares.to(accurate) * log_weights).sum()
