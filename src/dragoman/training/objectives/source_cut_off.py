"""Text with an uninformative source, from which the source side of the model does not learn.

Sennrich et al. 2016, "Improving Neural Machine Translation Models with Monolingual Data"
(arXiv:1511.06709), section 3.1, for monolingual text with a dummy source: "we freeze the network
parameters of the encoder and the attention model".

In a Transformer, a frozen attention still adds its output.  Other sublayers grow until they drown
it, and it grows with them on text from which it learns.  Reading zeros in place of the source
avoids that (docs/results/copied-and-dummy-sources.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from dragoman.data.batches import Batch
from dragoman.models.interface import TranslationModel, rebuilt
from dragoman.training.tasks import Objective


@dataclass(frozen=True)
class SourceCutOff:
    """Any objective, with some parts of the corpus as text whose source is cut off.

    A batch with pairs of both kinds takes two passes.  Totals are those of the wrapped objective,
    summed over both passes.
    """

    objective: Objective
    """The objective to minimise."""
    parts: frozenset[int]
    """The parts whose source is cut off, by their number in :attr:`Batch.parts`."""
    zero: bool = False
    """Whether the decoder reads zeros instead of the encoder's output for the dummy."""

    @property
    def totals(self) -> tuple[str, ...]:
        """The totals of the wrapped objective."""
        return self.objective.totals

    def backward(
        self, model: TranslationModel, batch: Batch, scale: float = 1.0
    ) -> Mapping[str, Tensor]:
        """Gradients and totals of a batch; see :class:`~dragoman.training.tasks.Objective`."""
        is_cut_off = self._cut_off(batch)
        if not is_cut_off.any():
            return self.objective.backward(model, batch, scale)
        if is_cut_off.all():
            with source_cut_off(model, zero=self.zero):
                return self.objective.backward(model, batch, scale)
        whole, without_source = (
            batch.select(chosen.nonzero().squeeze(1)) for chosen in (~is_cut_off, is_cut_off)
        )
        totals = self.objective.backward(model, whole, scale)
        with source_cut_off(model, zero=self.zero):
            others = self.objective.backward(model, without_source, scale)
        return {name: totals[name] + others[name] for name in self.totals}

    def figures(self, totals: Mapping[str, float]) -> dict[str, float]:
        """The figures of the wrapped objective."""
        return self.objective.figures(totals)

    def _cut_off(self, batch: Batch) -> Tensor:
        """Whether each pair belongs to :attr:`parts`, ``(batch,)``, on the CPU."""
        if batch.parts is None:
            return torch.zeros(batch.sentences, dtype=torch.bool)
        return torch.isin(batch.parts, torch.tensor(sorted(self.parts)))


def without_content(memory: Any) -> Any:
    """A memory, see :class:`TranslationModel`, with zeros for all numbers and unchanged masks.

    Attention to it gives zeros, or the bias of its last projection if it has one.
    """
    if isinstance(memory, Tensor) and memory.is_floating_point():
        return memory.masked_fill(memory.isfinite(), 0)  # minus infinity hides padding
    return rebuilt(memory, without_content)


@contextmanager
def source_cut_off(model: TranslationModel, *, zero: bool = False) -> Iterator[None]:
    """Within the block, passes through ``model`` give its source side no gradient.

    The source side is everything in :meth:`~TranslationModel.encode`, and the weights of
    :meth:`~TranslationModel.source_attention`.  A matrix that is shared with the target's pieces
    still learns from the target.  Gradients flow on through attention to the layers below it.

    Args:
        model: in training.
        zero: whether the decoder reads zeros in place of the source.
    """
    attention = [weight for weight in model.source_attention() if weight.requires_grad]
    # Set on the instance, so that it affects every caller of this model, and no other model.
    encode = torch.no_grad()(model.encode)
    vars(model)["encode"] = (lambda *source: without_content(encode(*source))) if zero else encode
    try:
        for weight in attention:
            weight.requires_grad_(False)
        yield
    finally:
        del vars(model)["encode"]
        for weight in attention:
            weight.requires_grad_(True)
